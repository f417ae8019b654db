// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
)

// A single client gets its share and all spare slots, and another client still gets its share. A freed slot returns to
// a share or to the spare slots, depending on the number of slots that its client still has (L1, L3).
func TestTake_givesWhatIsSpareBeyondShares(t *testing.T) {
	s := New(4, 2).WithSpare(3)
	takeAll := func(tenant string) (taken []*Slot) {
		for {
			slot, _ := s.Take(Client{Tenant: tenant}, nil)
			if slot == nil {
				return taken
			}
			taken = append(taken, slot)
		}
	}
	a, b, c := takeAll("a"), takeAll("b"), takeAll("c")
	if len(a) != 5 || len(b) != 2 || len(c) != 0 {
		t.Errorf("%d, %d, %d slots, want 5, 2, 0", len(a), len(b), len(c))
	}
	a[0].Release() // beyond a's share, in any order
	if b := takeAll("b"); len(b) != 1 {
		t.Errorf("%d slots where one is spare, want 1", len(b))
	}
	a[1].Release()
	a[2].Release()
	a[3].Release() // within a's share
	if c := takeAll("c"); len(c) != 1 {
		t.Errorf("%d slots of what a had of its share, want 1", len(c))
	}
}

// Slots are taken and released at random. A slot is given exactly within the limits: at most total slots within the
// clients' shares, and at most spare slots beyond the shares (L1).
func TestTake_boundsSharesAndSpare(t *testing.T) {
	const total, share, spare = 6, 2, 3
	random := rand.New(rand.NewPCG(1, 2))
	s, held := New(total, share).WithSpare(spare), map[string][]*Slot{}
	for range 20000 {
		tenant := fmt.Sprint(random.IntN(5))
		if random.IntN(2) == 0 && len(held[tenant]) > 0 {
			held[tenant][0].Release()
			held[tenant] = held[tenant][1:]
			continue
		}
		within, beyond := 0, 0
		for _, slots := range held {
			within += min(len(slots), share)
			beyond += max(0, len(slots)-share)
		}
		free := within < total
		if len(held[tenant]) >= share {
			free = beyond < spare
		}
		slot, _ := s.Take(Client{Tenant: tenant}, nil)
		if (slot != nil) != free {
			t.Fatalf("%d within shares, %d beyond, the client has %d: taken %t", within, beyond, len(held[tenant]), slot != nil)
		}
		if slot != nil {
			held[tenant] = append(held[tenant], slot)
		}
	}
}

// Work in a slot with a function endWork can be ended to make room. However, a slot within a share never exceeds the
// limit, because cutting work beyond the shares makes no room within them (L1, L2).
func TestTake_cutsWithinShares(t *testing.T) {
	s := New(2, 1).WithSpare(2)
	held := map[string]int{}
	for _, tenant := range []string{"a", "a", "b", "c", "c", "d", "e"} {
		if slot, _ := s.Take(Client{Tenant: tenant}, func() { held[tenant]-- }); slot != nil {
			held[tenant]++
		}
		within, beyond := 0, 0
		for _, n := range held {
			within, beyond = within+min(n, 1), beyond+max(0, n-1)
		}
		if within > 2 || beyond > 2 || held[tenant] == 0 {
			t.Fatalf("after %s: %v", tenant, held)
		}
	}
}

// The callers of a client wait for a slot in order of arrival. A caller that gives up is skipped, other clients do not
// wait, and an empty queue is removed (L4).
func TestTakeInOrder_servesWhoCameFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := New(4, 2), Client{Tenant: "a"}
		first, second := s.TakeInOrder(t.Context(), a), s.TakeInOrder(t.Context(), a)
		var served []int
		leaving, leave := context.WithCancel(t.Context())
		for i := range 20 {
			ctx := t.Context()
			if i == 0 || i == 7 {
				ctx = leaving
			}
			go func() {
				if slot := s.TakeInOrder(ctx, a); slot != nil {
					served = append(served, i)
					slot.Release()
				}
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if other := s.TakeInOrder(t.Context(), Client{Tenant: "b"}); other == nil || len(served) > 0 {
			t.Errorf("another client has %v, and %v are served where none is free", other, served)
		}
		first.Release()
		synctest.Wait()
		if len(served) != 18 || !slices.IsSorted(served) || len(s.queues) != 0 {
			t.Errorf("served %v; %d queues are left", served, len(s.queues))
		}
		second.Release()
	})
}
