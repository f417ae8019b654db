// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
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
