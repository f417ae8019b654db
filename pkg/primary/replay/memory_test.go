// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const valid = 300 * time.Second

type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.seconds.Store(1e9)
	return c
}

func (c *clock) readTime() time.Time { return time.Unix(c.seconds.Load(), 0) }

// beginMessage begins a message signed now, and ends it if it is the first.
func beginMessage(t *testing.T, m *Memory, tenant, id string, signed int64) (first bool) {
	t.Helper()
	a, first := m.Begin(tenant, id, signed)
	if a == nil {
		t.Fatalf("%s %s, signed at %d: refused", tenant, id, signed)
	}
	if first {
		a.End(7, true)
	}
	if rcode, ok := a.Wait(t.Context()); !ok || rcode != 7 {
		t.Errorf("%s %s: %d, %v", tenant, id, rcode, ok)
	}
	return first
}

func TestMemory_equalMessagesHaveOneAnswer(t *testing.T) {
	c := newClock()
	m := New(c.readTime, valid)
	signed := c.seconds.Add(1)
	a, first := m.Begin("team", "x", signed)
	again, second := m.Begin("team", "x", signed)
	if !first || second || a != again {
		t.Fatalf("first %v, second %v", first, second)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := again.Wait(ended); ok {
		t.Error("an answer before it is known")
	}
	a.End(7, true)
	if beginMessage(t, m, "team", "x", signed) {
		t.Error("carried out twice")
	}
	for what, first := range map[string]bool{"another tenant": beginMessage(t, m, "other", "x", signed),
		"another id": beginMessage(t, m, "team", "y", signed), "another second": beginMessage(t, m, "team", "x", signed+1)} {
		if !first {
			t.Errorf("%s: taken for the same message", what)
		}
	}
}

// Tenants share the memory for answers. A tenant that fills more than its share evicts only its own oldest answers.
// Messages as old as the evicted are then refused, because they may be repetitions (attack 111).
func TestMemory_tenantsEvictTheirOwnAnswers(t *testing.T) {
	c := newClock()
	m := New(c.readTime, valid)
	victim := c.seconds.Add(1)
	beginMessage(t, m, "victim", "x", victim)
	for i := range 3 * maxAnswers {
		if i%1000 == 0 {
			c.seconds.Add(1)
		}
		beginMessage(t, m, "noisy", fmt.Sprint(i), c.seconds.Load())
	}
	if size := m.tenants["noisy"].size; size > maxAnswers/2 {
		t.Errorf("%d answers of one tenant of two", size)
	}
	if beginMessage(t, m, "victim", "x", victim) {
		t.Error("the victim's message is carried out twice")
	}
	if a, _ := m.Begin("noisy", "0", victim+1); a != nil {
		t.Error("a message that was forgotten is accepted")
	}
	// If a tenant floods the Memory within a second, it is refused until the next second.
	c.seconds.Add(1)
	refused := false
	for i := range maxAnswers {
		a, _ := m.Begin("noisy", fmt.Sprint("late-", i), c.seconds.Load())
		refused = refused || a == nil
	}
	if !refused {
		t.Error("a tenant remembers more than its share")
	}
	beginMessage(t, m, "noisy", "next", c.seconds.Add(1))
	beginMessage(t, m, "victim", "next", c.seconds.Load())
}

// Answers are forgotten when their signatures expire, and tenants after a long time without messages.
func TestMemory_forgetsInTime(t *testing.T) {
	c := newClock()
	m := New(c.readTime, valid)
	for i := range 100 {
		beginMessage(t, m, fmt.Sprint("tenant-", i%10), fmt.Sprint(i), c.seconds.Add(1))
	}
	c.seconds.Add(int64(valid.Seconds()) + 1)
	beginMessage(t, m, "tenant-0", "late", c.seconds.Load())
	if one := m.tenants["tenant-0"]; one.size != 1 || len(one.bySecond) != 1 {
		t.Errorf("%d answers, of %d seconds", one.size, len(one.bySecond))
	}
	c.seconds.Add(int64(idle.Seconds()) + 1)
	beginMessage(t, m, "late", "x", c.seconds.Load())
	if len(m.tenants) > 2 {
		t.Errorf("%d tenants", len(m.tenants))
	}
}

// No message with a valid time is applied twice after a known outcome, for random messages, repetitions and jumps of
// the clock.
func TestMemory_carriesNothingOutTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		m := New(c.readTime, valid)
		type message struct {
			tenant, id string
			signed     int64
		}
		var sent []message
		elapsed := int64(0)
		done := map[message]int{}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			elapsed += int64(rapid.SampledFrom([]int{0, 1, 2, 60, 200}).Draw(t, "seconds"))
			ahead := int64(rapid.SampledFrom([]int{0, 0, 0, 100, 3000}).Draw(t, "ahead")) // the clock jumps ahead for a while
			c.seconds.Store(1e9 + elapsed + ahead)
			fresh := len(sent) == 0 || rapid.Bool().Draw(t, "fresh")
			x := message{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"), fmt.Sprint(i),
				c.seconds.Load() + int64(rapid.IntRange(-300, 300).Draw(t, "skew"))}
			if !fresh {
				x = rapid.SampledFrom(sent).Draw(t, "replayed")
			}
			sent = append(sent, x)
			if apart := x.signed - c.seconds.Load(); max(apart, -apart) > int64(valid.Seconds()) {
				continue // BADTIME by the caller
			}
			if a, first := m.Begin(x.tenant, x.id, x.signed); a != nil && first {
				known := rapid.Bool().Draw(t, "known")
				if a.End(0, known); known {
					done[x]++
				}
			}
			if done[x] > 1 {
				t.Fatalf("%v is carried out twice", x)
			}
		}
	})
}

func TestMemory_isSafeForConcurrentUse(t *testing.T) {
	c := newClock()
	m := New(c.readTime, valid)
	signed := c.seconds.Add(1)
	var all sync.WaitGroup
	var carried atomic.Int64
	for range 8 {
		all.Go(func() {
			for i := range 200 {
				a, first := m.Begin("team", fmt.Sprint(i), signed)
				if first {
					carried.Add(1)
					a.End(7, true)
				}
				a.Wait(t.Context())
			}
		})
	}
	all.Wait()
	if carried.Load() != 200 {
		t.Errorf("%d of 200 messages carried out", carried.Load())
	}
}
