// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newLanes(most int) *lanes {
	return &lanes{busy: map[string]bool{}, most: most, slice: laneSlice}
}

// Works of one namespace follow each other.
func TestLanes_oneOfANamespace(t *testing.T) {
	p := newLanes(1)
	if !p.takeLane("team-0") || p.takeLane("team-0") {
		t.Error("two cascades of one namespace run at once, or none")
	}
	at, ok := p.awaitPlace(t.Context())
	if !ok || p.len() != 1 {
		t.Error("the first cascade has no place")
	}
	if !p.leaveLane("team-0") {
		t.Error("a work that came to a busy lane is not told")
	}
	if p.givePlaceUp(at); p.len() != 0 {
		t.Error("the place of a cascade that ended is still taken")
	}
}

// Eight namespaces with cascades without an end do not keep a ninth's from its own: each
// has a slice of time, in turn.
func TestLanes_haveSlicesOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLanes(maxLanes)
		var mu sync.Mutex
		var order []string
		begins := func(name string) { mu.Lock(); order = append(order, name); mu.Unlock() }
		begun := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
		stop := make(chan struct{})
		for i := range maxLanes + 2 {
			name := fmt.Sprintf("team-%d", i)
			time.Sleep(time.Millisecond) // they come in this order
			go func() {
				at, _ := p.awaitPlace(t.Context())
				begins(name)
				for {
					select {
					case <-stop:
						p.givePlaceUp(at)
						return
					case <-time.After(10 * time.Millisecond):
					}
					if p.isOverdue(at) {
						turn := p.joinQueue()
						p.givePlaceUp(at)
						<-turn
						at.since = time.Now()
						begins(name)
					}
				}
			}()
		}
		time.Sleep(laneSlice / 2)
		synctest.Wait()
		if n := len(begun()); n != maxLanes {
			t.Errorf("%d cascades run, want %d", n, maxLanes)
		}
		time.Sleep(laneSlice)
		synctest.Wait()
		if want, order := []string{"team-8", "team-9"}, begun(); len(order) < maxLanes+2 || !slices.Equal(order[maxLanes:maxLanes+2], want) {
			t.Errorf("after a slice %v have a place, want %v first", order[maxLanes:], want)
		}
		time.Sleep(laneSlice)
		synctest.Wait()
		if p.len() != maxLanes {
			t.Errorf("%d places are taken", p.len())
		}
		close(stop)
	})
}
