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

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

var purged = flag.Int("purge", 0, "keys of the removed zone of TestPurge_ofManyKeysStopsNoWriter; 0: some, and no figures")

// stuff puts keys into the rooms of a zone, as its records would have them.
func stuff(t *testing.T, st *store.Store, uid string, n int) {
	t.Helper()
	keys := layout.Keys{Prefix: st.Prefix}
	client, err := ledger.ReadStore(t.Context(), st.Client.Client, st.Prefix, st.Encryption)
	if err != nil {
		t.Fatal(err)
	}
	var ops []clientv3.Op
	for i := range n {
		room := []string{"owners", "holders"}[i%2]
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("%s%s/r%07d.", keys.Room(room), uid, i/2), `{}`))
		if len(ops) == 500 || i == n-1 {
			if _, err := client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
}

// deletions counts what is deleted of a zone, and how much of it in one transaction at most.
func deletions(ctx context.Context, st *store.Store, uid string, all int, done chan<- [2]int) {
	keys := layout.Keys{Prefix: st.Prefix}
	at := map[int64]int{}
	most, seen := 0, 0
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for r := range st.Client.Watch(ctx, keys.Internal(), clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithFragment()) {
		for _, e := range r.Events {
			if room := string(e.Kv.Key)[len(keys.Internal()):]; len(room) > len(uid) && strings.Contains(room, uid) {
				seen++
				at[e.Kv.ModRevision]++
				most = max(most, at[e.Kv.ModRevision])
			}
		}
		if seen >= all {
			break
		}
	}
	done <- [2]int{seen, most}
}

// The keys of a removed zone are deleted in pages: no write waits for all of them.
// With -purge it says what a neighbour's creates take meanwhile.
func TestPurge_ofManyKeysStopsNoWriter(t *testing.T) {
	t.Parallel()
	n, quiet := *purged, time.Second
	if n == 0 {
		n, quiet = scale(9000, 3000), 100*time.Millisecond
	}
	st := store.New(t)
	s := st.Server()
	big := store.Must(s.CreateZone(store.Zone("infra", "big", "big.example.", store.Allow("", "*"))))
	store.Must(s.CreateZone(store.Zone("infra", "other", "other.example.", store.Allow("", "*"))))
	s.Run()
	st.Settle()
	stuff(t, st, string(big.UID), n)
	creates := func(label string, until <-chan [2]int) (counted [2]int, took []float64) {
		for i := 0; ; i++ {
			select {
			case counted = <-until:
				slices.Sort(took)
				return counted, took
			default:
			}
			began := time.Now()
			if _, err := s.CreateRecord(t.Context(), store.Record("team-b", fmt.Sprintf("%s-%d", label, i), fmt.Sprintf("%s-%d.other.example.", label, i), "A", "192.0.2.1")); err != nil {
				t.Error(err)
			}
			took = append(took, time.Since(began).Seconds()*1e3)
			time.Sleep(time.Millisecond)
		}
	}
	calm := make(chan [2]int, 1)
	time.AfterFunc(quiet, func() { calm <- [2]int{} })
	_, before := creates("before", calm)
	done := make(chan [2]int, 1)
	go deletions(t.Context(), st, string(big.UID), n, done)
	time.Sleep(50 * time.Millisecond) // the watch stands
	began := time.Now()
	if err := s.DeleteZone("infra", "big"); err != nil {
		t.Fatal(err)
	}
	counted, during := creates("during", done)
	took := time.Since(began)
	if counted[0] < n {
		t.Errorf("%d of %d keys deleted in two minutes", counted[0], n)
	}
	if counted[1] > 600 { // a page, and what the removal itself deletes
		t.Errorf("one transaction deletes %d keys", counted[1])
	}
	st.Settle()
	t.Logf("%d keys purged in %v, %d at most in one transaction; a neighbour's creates: p50 %.1f ms after %.1f, p99 %.1f after %.1f, at most %.1f after %.1f", n, took.Round(time.Millisecond), counted[1],
		during[len(during)/2], before[len(before)/2], during[len(during)*99/100], before[len(before)*99/100], during[len(during)-1], before[len(before)-1])
}

// A purge goes on where it was interrupted, and leaves nothing.
func TestPurge_interruptedAnywhereItGoesOn_I4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	zone := store.Must(s.CreateZone(store.Zone("infra", "big", "big.example.", store.Allow("", "*"))))
	stop := s.Run()
	st.Settle()
	stop()
	fill(t, s, 10, func(i int) *v1alpha1.Record {
		return store.Record("team-a", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.big.example.", i), "A", "192.0.2.1")
	})
	stuff(t, st, string(zone.UID), 7000)
	if err := s.DeleteZone("infra", "big"); err != nil {
		t.Fatal(err)
	}
	times := interrupted(t, st, nil)
	for _, room := range []string{"owners", "holders", "members", "counts", "journal"} {
		keys := layout.Keys{Prefix: st.Prefix}
		r, err := st.Client.Client.Get(t.Context(), keys.Room(room)+string(zone.UID)+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || r.Count > 0 {
			t.Errorf("%s: %d keys are left, %v", room, r.Count, err)
		}
	}
	for _, r := range s.ListRecords("team-a") {
		if r.Status.ZoneRef != nil {
			t.Errorf("record %s is in a zone that was removed", r.Name)
		}
	}
	t.Logf("%d interruptions", times)
}
