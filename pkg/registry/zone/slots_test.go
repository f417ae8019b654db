// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A user takes at most a part of the free slots, so slots remain for later users, and servers that read all zones have
// further slots. When all readers have ended, all slots are free again.
func TestSlots_nobodyTakesThemAll(t *testing.T) {
	s := newSlots(32, 32)
	var leave []func()
	fill := func(user string, readsAll bool) (got int) {
		for {
			l, refusal := s.acquire(user, readsAll)
			if refusal != nil {
				if refusal.ErrStatus.Code != 429 || refusal.ErrStatus.Details.RetryAfterSeconds == 0 {
					t.Errorf("%s: %v", user, refusal)
				}
				return got
			}
			leave = append(leave, l)
			got++
		}
	}
	for i, want := range []int{12, 6, 3, 2, 1, 0, 0} {
		if got := fill(string(rune('a'+i)), false); got != want {
			t.Errorf("user %d took %d slots, want %d", i, got, want)
		}
	}
	if got := fill("a", false); got != 0 {
		t.Errorf("the first took %d more", got)
	}
	// Readers of all zones have slots beside any number of tenants.
	for i, want := range []int{4, 2, 1} {
		if got := fill(fmt.Sprint("server ", i), true); got != want {
			t.Errorf("server %d took %d slots, want %d", i, got, want)
		}
	}
	for _, l := range leave {
		l()
	}
	if s.inUse() != 0 || len(s.byUser) != 0 {
		t.Errorf("%d in use after all have left, %v", s.inUse(), s.byUser)
	}
	if got := fill("b", false); got != 12 {
		t.Errorf("afterwards one took %d slots, want 12", got)
	}
}

// All accounts of a namespace share one reader's slots.
func TestSlots_accountsOfANamespaceAreOneReader(t *testing.T) {
	reader := func(name string) string {
		return readerOf(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: name}))
	}
	s := newSlots(8, 8)
	taken := 0
	for i := range 20 {
		if _, refusal := s.acquire(reader(fmt.Sprintf("system:serviceaccount:team-a:robot-%d", i)), false); refusal == nil {
			taken++
		}
	}
	if taken != 3 {
		t.Errorf("twenty accounts of a namespace have %d of 8 slots, want what one user has", taken)
	}
	for _, other := range []string{"system:serviceaccount:team-b:robot-1", "alice"} {
		if _, refusal := s.acquire(reader(other), false); refusal != nil {
			t.Errorf("%s: %v", other, refusal)
		}
	}
}

// Reads of histories have slots of their own, two for each user, so they take none from readers of zones/entries.
func TestSlots_ofHistories(t *testing.T) {
	s := newStreams(Config{}, nil)
	changes := newChanges(s)
	if changes.slotsOf(&v1alpha1.ZoneChangesOptions{Form: v1alpha1.FormHistory}) != s.historySlots ||
		newRecordChanges(s).slotsOf(&v1alpha1.RecordChangesOptions{}) != s.historySlots {
		t.Error("a history is read in another slot")
	}
	if changes.slotsOf(&v1alpha1.ZoneChangesOptions{}) != s.readSlots || s.readSlots == s.historySlots {
		t.Error("changes of a view are read in another slot")
	}
	for _, user := range []string{"alice", "bob"} {
		for want := range 3 {
			if _, refusal := s.historySlots.acquire(user, false); (refusal == nil) != (want < 2) {
				t.Errorf("slot %d of %s: %v", want+1, user, refusal)
			}
		}
	}
}

func (s *slots) inUse() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.acquired
}
