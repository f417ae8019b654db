// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// Migration 8: hosts that HTTPS and SVCB records of the apex name are the zone's, beside those of MX, wherever the first server
// ends; a namespace that held one before keeps it (S6.2).
func TestMigration8_notesTheHostsOfTheApex_S6_2(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		st := store.New(t)
		s := st.Server()
		ctx := t.Context()
		store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("platform", "@", "*"), store.Allow("team", "*"))))
		store.Must(s.CreateZone(store.Zone("platform", "other", "example.net.", store.Allow("platform", "@"))))
		store.Must(s.CreateRecord(ctx, store.Record("team", "svc", "svc.example.org.", "A", "192.0.2.66")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "mx", "example.org.", "MX", "10 mail", "20 mx2")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "https", "example.org.", "HTTPS", "1 mail", "2 svc alpn=h2", "3 pool.example.org.")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "svcb", "example.org.", "SVCB", "1 mail")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "srv", "example.net.", "SRV", "1 1 1 host")))
		want := internal(t, st)
		before := s.Zone("platform", "top").Status
		noted := `,"apexHosts":["mail","mail","mail","mx2","pool.example.org.","svc"]`
		if got := fmt.Sprint(want); strings.Count(got, noted) != 1 || strings.Count(got, "apexHosts") != 1 {
			t.Fatalf("the apex names other hosts: %s", got)
		}
		for key, value := range want { // what formats 4 to 7 had there
			if old := bytes.ReplaceAll([]byte(value), []byte(noted), []byte(`,"apexMX":["10 mail","20 mx2"]`)); string(old) != value {
				store.Must(st.Client.Client.Put(ctx, key, string(old)))
			}
		}
		st.Old(7)
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
				t.Errorf("where the first server ended at its transaction %d (%t): %s is %s, not %s", n, *ended, key, value, want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("there is no %v", want)
		}
		s.Run()
		st.Settle()
		if now := s.Zone("platform", "top").Status; now.Serial != before.Serial || now.Hash != before.Hash {
			t.Errorf("the zone has changed: serial %d after %d", now.Serial, before.Serial)
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
