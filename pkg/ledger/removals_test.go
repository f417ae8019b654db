// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

var removals = flag.Int("removals", 0, "children that TestRemovals_leaveTheirParentToOthers removes; 0: some, and no figures")

// children makes n delegated zones of one namespace below example.org., and returns their parent.
func children(t *testing.T, s *store.Server, n int) *v1alpha1.Zone {
	t.Helper()
	allowed := store.Allow("", "*")
	allowed.Zones = []string{"*"}
	parent := store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", allowed)))
	for i := range n {
		store.Must(s.CreateZone(store.Zone("team-a", fmt.Sprintf("c%d", i), fmt.Sprintf("c%d.example.org.", i))))
	}
	return parent
}

// S8.1: removals of one namespace's zones wait for those before them, and are told to come
// again: what their parent notes of them has a bound.
func TestRemovals_areBoundedAtTheirParent_S8_1(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	stop := s.Run()
	children(t, s, 18)
	store.Must(s.CreateZone(store.Zone("team-b", "other", "other.example.org.")))
	st.Settle()
	stop() // no server carries cascades out
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

// Zones that go queue at their parent like its other writers, so they do not race there.
// With -removals it says what a neighbour's creates in the parent take meanwhile.
func TestRemovals_leaveTheirParentToOthers(t *testing.T) {
	t.Parallel()
	n, quiet := *removals, time.Second
	if n == 0 {
		n, quiet = scale(60, 30), 100*time.Millisecond
	}
	st := store.New(t)
	s := st.Server()
	s.Run()
	children(t, s, n)
	st.Settle()
	key := layout.Keys{Prefix: st.Prefix}.Room("names") + "@/org.example."
	watching, cancel := context.WithCancel(t.Context())
	octets, longest, writes := 0, 0, 0
	watched := make(chan struct{})
	changes := st.Client.Watch(watching, key, clientv3.WithCreatedNotify())
	<-changes
	go func() {
		defer close(watched)
		for r := range changes {
			for _, e := range r.Events {
				octets += len(e.Kv.Value)
				longest = max(longest, len(e.Kv.Value))
				writes++
			}
		}
	}()
	creates := func(label string, done <-chan struct{}) (took []float64) {
		for i := 0; ; i++ {
			select {
			case <-done:
				slices.Sort(took)
				return took
			default:
			}
			began := time.Now()
			if _, err := s.CreateRecord(t.Context(), store.Record("team-b", fmt.Sprintf("%s-%d", label, i), fmt.Sprintf("%s-%d.example.org.", label, i), "A", "192.0.2.1")); err != nil {
				t.Error(err)
			}
			took = append(took, time.Since(began).Seconds()*1e3)
			time.Sleep(time.Millisecond)
		}
	}
	calm := make(chan struct{})
	time.AfterFunc(quiet, func() { close(calm) })
	before := creates("before", calm)
	txns, conflicts, began := s.Ledger.Stats().Transactions.Load(), s.Ledger.Stats().Conflicts.Load(), time.Now()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		parallel(16, func(w int) {
			for i := w; i < n; i += 16 {
				for {
					err := s.DeleteZone("team-a", fmt.Sprintf("c%d", i))
					if err == nil {
						break
					}
					if !apierrors.IsTooManyRequests(err) {
						t.Error(err)
						return
					}
				}
			}
		})
		st.Settle()
	}()
	during := creates("during", gone)
	took := time.Since(began)
	txns, conflicts = s.Ledger.Stats().Transactions.Load()-txns, s.Ledger.Stats().Conflicts.Load()-conflicts
	cancel()
	<-watched
	if longest > 16*300 {
		t.Errorf("the parent's holding has %d octets: it grows with what is removed", longest)
	}
	if conflicts > txns/10 {
		t.Errorf("%d of %d transactions were in vain: removals race at the parent", conflicts, txns)
	}
	t.Log(strings.Join([]string{
		fmt.Sprintf("%d children removed by 16 callers in %v: %d conflicts in %d transactions", n, took.Round(time.Millisecond), conflicts, txns),
		fmt.Sprintf("the parent's holding was written %d times, %d octets in all, %d at most", writes, octets, longest),
		fmt.Sprintf("a neighbour's creates there: p50 %.1f ms after %.1f, p99 %.1f after %.1f", during[len(during)/2], before[len(before)/2], during[len(during)*99/100], before[len(before)*99/100]),
	}, "; "))
}

// S8.1: zones that were made, and whose records are still on their way, are no removals before.
func TestRemovals_doNotCountZonesThatCome_S8_1(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server() // which carries no cascades out
	children(t, s, 20)
	for i := range 16 {
		if err := s.DeleteZone("team-a", fmt.Sprintf("c%d", i)); err != nil {
			t.Fatalf("removal %d: %v", i, err)
		}
	}
	if err := s.DeleteZone("team-a", "c16"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the 17th removal: %v, want 429", err)
	}
	s.Run()
	store.Eventually(t, "the removal passes when those before it are through", func() bool { return s.DeleteZone("team-a", "c16") == nil })
	st.Settle()
}
