// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// The cascade skips an unreadable record, which is decided once readable again (S2.5).
func TestCascade_leavesOutWhatCannotBeRead_S7_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	stop()
	n := 40
	fillZone(t, s, n, func(i int) *v1alpha1.Record {
		return store.Record("team-a", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	})
	keys := layout.Keys{Prefix: st.Prefix}
	key := keys.Record("team-a", "r20")
	intact := store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].Value
	store.Must(st.Client.Client.Put(t.Context(), key, "damaged"))
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
	s.Run()
	settled := func() bool {
		return meta.IsStatusConditionTrue(s.Zone("infra", "example").Status.Conditions, v1alpha1.ConditionSettled)
	}
	for end := time.Now().Add(time.Minute); !settled(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the zone is not settled after a minute; %d steps were carried out for %d records", s.Ledger.Stats().CascadeSteps.Load(), n)
		}
	}
	if steps := s.Ledger.Stats().CascadeSteps.Load(); steps > int64(2*n) {
		t.Errorf("%d steps for %d records", steps, n)
	}
	r := store.Must(st.Client.Client.Get(t.Context(), keys.Room("outbox"), clientv3.WithPrefix()))
	var item law.Work
	if len(r.Kvs) != 1 || json.Unmarshal(r.Kvs[0].Value, &item) != nil || len(item.Damaged) != 1 || item.Damaged[0].Name != "r20" || len(item.Zones) > 0 || len(item.Scans) > 0 {
		t.Errorf("the outbox has %d items, %+v: want one that names the record and nothing else", len(r.Kvs), item)
	}
	store.Must(st.Client.Client.Put(t.Context(), key, string(intact)))
	st.Settle()
	if got := s.Record("team-a", "r20"); got.Status.ZoneRef != nil {
		t.Error("the record that can be read again is in the zone still")
	}
}

// A long cascade gives way to the cascade of another namespace.
func TestCascade_givesItsPlaceUp(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Ledger.SetLanes(1, time.Millisecond)
	stop := s.Run()
	for _, ns := range []string{"team-a", "team-b"} {
		store.Must(s.CreateZone(store.Zone(ns, "zone", ns+".example.", store.Allow("", "*"))))
	}
	st.Settle()
	stop()
	n := scaleTo(400, 200)
	fillZone(t, s, n, func(i int) *v1alpha1.Record {
		ns := "team-a"
		if i%10 == 0 {
			ns = "team-b"
		}
		return store.Record("tenant", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.%s.example.", i, ns), "A", "192.0.2.1")
	})
	keys := layout.Keys{Prefix: st.Prefix}
	ends := st.Client.Watch(t.Context(), keys.Room("outbox"), clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	<-ends
	for _, ns := range []string{"team-a", "team-b"} {
		store.Must(s.UpdateZone(ns, "zone", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
	}
	s.Run()
	var order []string
	for len(order) < 2 {
		for _, e := range (<-ends).Events {
			var w law.Work
			must.Succeed(t, json.Unmarshal(e.PrevKv.Value, &w))
			order = append(order, w.By)
		}
	}
	if order[0] != "team-b" {
		t.Errorf("the cascades ended in the order %v: the short one has waited for the long one", order)
	}
	st.Settle()
	for _, r := range s.ListRecords("tenant") {
		if r.Status.ZoneRef != nil {
			t.Fatalf("record %s is in its zone still", r.Name)
		}
	}
}
