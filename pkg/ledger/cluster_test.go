// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

func TestNamespaces_areThoseWithObjects_S8_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	if got, err := s.Ledger.Namespaces(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("of an empty store: %q, %v", got, err)
	}
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*"))))
	// In etcd team-a-b stands before team-a: its keys go on with a dash, which is smaller than the slash.
	for _, namespace := range []string{"team-a", "team-a-b", "team-a1", "team-b", "platform"} {
		for _, name := range []string{"one", "two"} {
			store.Must(s.CreateRecord(s.Ctx, store.Record(namespace, name, name+"."+namespace+".example.org.", "A", "192.0.2.1")))
		}
	}
	// S11.1: what runs servers is an object of its namespace too.
	store.Must(st.Client.Client.Put(s.Ctx, s.Ledger.Layout().Objects("bind9clusters.bind9.kubi.zone")+"fleet/edge", "k8s"))
	got, err := s.Ledger.Namespaces(t.Context())
	if want := []string{"fleet", "platform", "team-a", "team-a-b", "team-a1", "team-b"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestRememberCluster_firstOneStays_S8_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	a, b := st.Server(), st.Server()
	var group sync.WaitGroup
	var got [8]string
	for i := range got {
		group.Go(func() {
			server, uid := a, "one"
			if i%2 == 1 {
				server, uid = b, "two"
			}
			got[i] = store.Must(server.Ledger.RememberCluster(t.Context(), uid))
		})
	}
	group.Wait()
	first := got[0]
	for _, g := range got {
		if g != first || g == "" {
			t.Fatalf("remembered %q: all must agree", got)
		}
	}
	if before, err := ledger.AdoptCluster(t.Context(), st.Client.Client, st.Prefix, "three"); before != first || err != nil {
		t.Errorf("adopting another says it was %q, %v; want %q", before, err, first)
	}
	if now := store.Must(a.Ledger.RememberCluster(t.Context(), first)); now != "three" {
		t.Errorf("after the adoption %q", now)
	}
	// The format beside it is as it was: the store opens.
	if _, err := ledger.OpenStore(t.Context(), st.Client.Client, st.Prefix, nil); err != nil {
		t.Error(err)
	}
	if _, err := ledger.AdoptCluster(t.Context(), st.Client.Client, st.Prefix+"-nowhere", "three"); err == nil {
		t.Error("an empty store belongs to a cluster")
	}
}

func TestTakeReapingTurn_isOneForAllReplicas_S8_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var clock atomic.Int64
	clock.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix())
	now := func(c *ledger.Config) { c.Now = func() time.Time { return time.Unix(clock.Load(), 0) } }
	replicas := []*store.Server{st.Server(now), st.Server(now), st.Server(now)}
	pace := 30 * time.Minute
	reapings := func() (n int) {
		var group sync.WaitGroup
		var taken atomic.Int64
		for _, r := range replicas {
			group.Go(func() {
				wait := store.Must(r.Ledger.TakeReapingTurn(t.Context(), pace))
				if wait == 0 {
					taken.Add(1)
				} else if wait > pace {
					t.Errorf("the next turn is in %v, more than the pace", wait)
				}
			})
		}
		group.Wait()
		return int(taken.Load())
	}
	if n := reapings(); n != 1 {
		t.Fatalf("%d reapings at first", n)
	}
	taken := 0
	for range 2 * 60 { // two hours, asked every minute
		clock.Add(60)
		taken += reapings()
	}
	if taken != 4 {
		t.Errorf("%d reapings in two hours at one each 30 minutes", taken)
	}
	// A replica whose clock was a year ahead took a turn, then its clock is right again.
	clock.Add(365 * 24 * 3600)
	reapings()
	clock.Add(-365 * 24 * 3600)
	if n := reapings(); n != 0 {
		t.Errorf("%d reapings right after one", n)
	}
	clock.Add(int64(pace / time.Second))
	if n := reapings(); n != 1 {
		t.Errorf("%d reapings one pace later", n)
	}
}
