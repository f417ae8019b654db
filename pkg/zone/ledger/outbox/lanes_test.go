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

func TestLanes_oneOfANamespace(t *testing.T) {
	p := newLanes(1, laneSlice)
	if !p.takeLane("team-0") || p.takeLane("team-0") {
		t.Error("two cascades of one namespace run at once, or none")
	}
	at := &place{}
	if err := p.takePlace(t.Context(), at); err != nil || len(p.places) != 1 {
		t.Error("the first cascade has no place")
	}
	if !p.leaveLane("team-0") {
		t.Error("a work that came to a busy lane is not told")
	}
	if p.givePlaceUp(at); len(p.places) != 0 {
		t.Error("the place of a cascade that ended is still taken")
	}
}

// Eight namespaces have endless cascades, and each gets a slice of time.
func TestLanes_haveSlicesOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLanes(maxLanes, laneSlice)
		var mu sync.Mutex
		var order []string
		begins := func(name string) { mu.Lock(); order = append(order, name); mu.Unlock() }
		begun := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
		stop := make(chan struct{})
		for i := range maxLanes + 2 {
			name := fmt.Sprintf("team-%d", i)
			time.Sleep(time.Millisecond) // fixes the order of arrival
			go func() {
				at := &place{}
				_ = p.takePlace(t.Context(), at)
				begins(name)
				for {
					select {
					case <-stop:
						p.givePlaceUp(at)
						return
					case <-time.After(10 * time.Millisecond):
					}
					if p.isOverdue(at) {
						p.givePlaceUp(at)
						_ = p.takePlace(t.Context(), at)
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
		if len(p.places) != maxLanes {
			t.Errorf("%d places are taken", len(p.places))
		}
		close(stop)
	})
}
