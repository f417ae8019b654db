// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

func makeChildren(t *testing.T, s *store.Server, n int) *v1alpha1.Zone {
	t.Helper()
	allowed := store.Allow("", "*")
	allowed.Zones = []string{"*"}
	parent := store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", allowed)))
	for i := range n {
		store.Must(s.CreateZone(store.Zone("team-a", fmt.Sprintf("c%d", i), fmt.Sprintf("c%d.example.org.", i))))
	}
	return parent
}

// While sixteen removals of a namespace's child zones are pending at the parent, the next removal gets 429 with
// Retry-After. Cascades of new zones do not count, and other namespaces are unaffected. The removal succeeds once the
// earlier cascades have run.
func TestRemovals_areBoundedAtTheirParent_S2_11(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server() // no server runs cascades
	makeChildren(t, s, 18)
	store.Must(s.CreateZone(store.Zone("team-b", "other", "other.example.org.")))
	for i := range 16 {
		if err := s.DeleteZone("team-a", fmt.Sprintf("c%d", i)); err != nil {
			t.Fatalf("removal %d: %v", i, err)
		}
	}
	err := s.DeleteZone("team-a", "c16")
	if after, retry := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !retry || after < 1 {
		t.Errorf("the 17th removal: %v, want 429 with Retry-After", err)
	}
	if err := s.DeleteZone("team-b", "other"); err != nil {
		t.Errorf("a removal of another namespace: %v", err)
	}
	s.Run()
	store.Eventually(t, "the removal passes when those before it are through", func() bool { return s.DeleteZone("team-a", "c16") == nil })
	if err := s.DeleteZone("team-a", "c17"); err != nil {
		t.Error(err)
	}
	st.Settle()
}

// Removals wait in the queue of the parent's writers, so they cause no lost races and no growing marks.
func TestRemovals_queueAtTheirParent(t *testing.T) {
	t.Parallel()
	n := scaleTo(60, 30)
	st := store.New(t)
	s := st.Server()
	s.Run()
	makeChildren(t, s, n)
	st.Settle()
	watching, cancel := context.WithCancel(t.Context())
	longest := 0
	watched := make(chan struct{})
	key := layout.Keys{Prefix: st.Prefix}.Room("names") + "@/org.example."
	changes := st.Client.Watch(watching, key, clientv3.WithCreatedNotify())
	<-changes
	go func() {
		defer close(watched)
		for r := range changes {
			for _, e := range r.Events {
				longest = max(longest, len(e.Kv.Value))
			}
		}
	}()
	txns, conflicts := s.Ledger.Stats().Transactions.Load(), s.Ledger.Stats().Conflicts.Load()
	runParallel(16, func(w int) {
		for i := w; i < n; i += 16 {
			err := s.DeleteZone("team-a", fmt.Sprintf("c%d", i))
			for apierrors.IsTooManyRequests(err) {
				err = s.DeleteZone("team-a", fmt.Sprintf("c%d", i))
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	st.Settle()
	txns, conflicts = s.Ledger.Stats().Transactions.Load()-txns, s.Ledger.Stats().Conflicts.Load()-conflicts
	cancel()
	<-watched
	if longest > 16*300 {
		t.Errorf("the parent's holding has %d octets: it grows with what is removed", longest)
	}
	if conflicts > txns/10 {
		t.Errorf("%d of %d transactions were in vain: removals race at the parent", conflicts, txns)
	}
}
