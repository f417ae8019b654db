// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// Migration 11: hosts that MX, HTTPS and SVCB records of the zone's own namespace at the apex name are the zone's,
// and those of other namespaces are not any more, from whichever format and wherever the first server ends. A
// namespace that held one before keeps it, and what waited for one that no namespace holds comes (S2.7, S6.2).
func TestMigration11_countsTheHostsOfTheApex_S6_2(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const counted = `,"ownHosts":{"mail":3,"mx2":1,"pool.example.org.":1,"svc":1}`
	forms := map[int]string{
		7:  `,"apexMX":["10 free","10 mail","20 mx2"]`,
		10: `,"apexHosts":["free","mail","mail","mail","mx2","pool.example.org.","svc"]`,
	}
	for i, format := range []int{7, 7, 10, 10, 10, 10} {
		st := store.New(t)
		s := st.Server()
		stop := s.Run()
		ctx := t.Context()
		shared := store.Allow("guest", "@")
		shared.Records[0].Shared = true
		rules := []v1alpha1.DelegationRule{store.Allow("platform", "@", "*"), store.Allow("team", "*"), shared}
		store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", rules...)))
		store.Must(s.CreateZone(store.Zone("platform", "other", "example.net.", store.Allow("platform", "@"))))
		store.Must(s.CreateRecord(ctx, store.Record("team", "free", "free.example.org.", "A", "192.0.2.66")))
		store.Must(s.CreateRecord(ctx, store.Record("guest", "mx", "example.org.", "MX", "10 free", "10 mail")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "mx", "example.org.", "MX", "10 mail", "20 mx2")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "svcb", "example.org.", "SVCB", "1 mail")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "srv", "example.net.", "SRV", "1 1 1 host")))
		// free.example.org. loses its place while the platform names it, and then the guest alone does.
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{rules[0], shared} }))
		st.Settle()
		store.Must(s.CreateRecord(ctx, store.Record("platform", "for-a-while", "example.org.", "MX", "30 free")))
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = rules }))
		st.Settle()
		store.Must(s.CreateRecord(ctx, store.Record("team", "svc", "svc.example.org.", "A", "192.0.2.66")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "https", "example.org.", "HTTPS", "1 mail", "2 svc alpn=h2", "3 pool.example.org.")))
		stop()
		if err := s.DeleteRecord(ctx, "platform", "for-a-while"); err != nil {
			t.Fatal(err)
		}
		store.Must(st.Client.Client.Delete(ctx, layout.Keys{Prefix: st.Prefix}.Room("outbox"), clientv3.WithPrefix()))
		if s.Record("team", "svc").Status.ZoneRef == nil || s.Record("team", "free").Status.ZoneRef != nil {
			t.Fatal("free.example.org. has its place, or svc.example.org. has lost it")
		}
		want := internal(t, st)
		before := s.Zone("platform", "top").Status
		if got := fmt.Sprint(want); strings.Count(got, counted) != 1 || strings.Count(got, "ownHosts") != 1 {
			t.Fatalf("the apex names other hosts: %s", got)
		}
		for key, value := range want {
			if old := bytes.ReplaceAll([]byte(value), []byte(counted), []byte(forms[format])); string(old) != value {
				store.Must(st.Client.Client.Put(ctx, key, string(old)))
			}
		}
		st.Old(format)
		n := i % 4
		ends, ended := endsThere(n)
		func() {
			defer func() {
				if r := recover(); r != nil && r != errEnds {
					panic(r)
				}
			}()
			_ = opening(t, st, ends, ledger.Migrations())
		}()
		s = st.Server(ledger.Migrations())
		says(t, st, ledger.Format, ledger.LeastReader())
		for key, value := range internal(t, st) {
			if want[key] != value {
				t.Errorf("from format %d, where the first server ended at its transaction %d (%t): %s is %s, not %s", format, n, *ended, key, value, want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("there is no %v", want)
		}
		if r := st.Fsck(); !r.Clean() {
			t.Errorf("before the work is done: %s", store.Text(r))
		}
		s.Run()
		st.Settle()
		if s.Record("team", "free").Status.ZoneRef == nil {
			t.Errorf("free.example.org. waits: %+v", s.Record("team", "free").Status.Conditions)
		}
		if now := s.Zone("platform", "top").Status; now.Serial != before.Serial+1 {
			t.Errorf("serial %d after %d", now.Serial, before.Serial)
		}
		if _, err := s.CreateRecord(ctx, store.Record("team", "pool", "pool.example.org.", "A", "192.0.2.66")); !apierrors.IsForbidden(err) {
			t.Errorf("pool: %v", err)
		}
		if _, err := s.CreateRecord(ctx, store.Record("team", "svc6", "svc.example.org.", "AAAA", "2001:db8::66")); err != nil {
			t.Errorf("svc: %v", err)
		}
		st.MustBeClean()
	}
}
