// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func fillRooms(t *testing.T, st *store.Store, uid string, n int) {
	t.Helper()
	keys := layout.Keys{Prefix: st.Prefix}
	client := must.Get(ledger.ReadStore(t.Context(), st.Client.Client, st.Prefix, st.Encryption))(t)
	var ops []clientv3.Op
	for i := range n {
		room := []string{"owners", "counts"}[i%2]
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("%s%s/r%07d.", keys.Room(room), uid, i/2), `{}`))
		if len(ops) == 500 || i == n-1 {
			must.Get(client.Txn(t.Context()).Then(ops...).Commit())(t)
			ops = ops[:0]
		}
	}
}

// countDeletions counts the deleted keys of a zone, in total and in the largest transaction.
func countDeletions(ctx context.Context, st *store.Store, uid string, all int, done chan<- [2]int) {
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

// A deleted zone may have thousands of internal keys. They are deleted in pages of some hundreds, so that no single
// transaction blocks etcd for other writers.
func TestPurge_ofManyKeysStopsNoWriter(t *testing.T) {
	t.Parallel()
	n := scaleTo(9000, 3000)
	st := store.New(t)
	s := st.Server()
	big := store.Must(s.CreateZone(store.Zone("infra", "big", "big.example.", store.Allow("", "*"))))
	s.Run()
	st.Settle()
	fillRooms(t, st, string(big.UID), n)
	done := make(chan [2]int, 1)
	go countDeletions(t.Context(), st, string(big.UID), n, done)
	time.Sleep(50 * time.Millisecond) // until the watch began
	must.Succeed(t, s.DeleteZone("infra", "big"))
	counted := <-done
	if counted[0] < n {
		t.Errorf("%d of %d keys deleted in two minutes", counted[0], n)
	}
	if counted[1] > 600 { // a page, and the keys of the removal itself
		t.Errorf("one transaction deletes %d keys", counted[1])
	}
	st.Settle()
}

func TestPurge_interruptedAnywhereItGoesOn_I4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	zone := store.Must(s.CreateZone(store.Zone("infra", "big", "big.example.", store.Allow("", "*"))))
	stop := s.Run()
	st.Settle()
	stop()
	fillZone(t, s, 10, func(i int) *v1alpha1.Record {
		return store.Record("team-a", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.big.example.", i), "A", "192.0.2.1")
	})
	fillRooms(t, st, string(zone.UID), 7000)
	must.Succeed(t, s.DeleteZone("infra", "big"))
	times := runInterrupted(t, st, nil)
	for _, room := range []string{"owners", "members", "counts", "journal"} {
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
