// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// Migrations 11 and 15: stores of before learn whose wildcards and underscore names hold names (S4.6) and which hosts
// the apex names (S6.2), wherever the first server ends; records that the rules would refuse now keep their place.
func TestMigration15_rebuildsHolders_S4_6(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for n := range 5 {
		st := store.New(t)
		s := st.Server()
		ctx := t.Context()
		all := []string{"@", "*"}
		store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("platform", all...), store.Allow("victim", "*", "a.b"), store.Allow("attacker", "*", "login.apps"))))
		store.Must(s.CreateZone(store.Zone("platform", "other", "example.net.", store.Allow("platform", all...), store.Allow("victim", "*"))))
		// A record that the law would refuse now came before its cause.
		store.Must(s.CreateRecord(ctx, store.Record("attacker", "mail", "mail.example.org.", "A", "192.0.2.66")))
		store.Must(s.CreateRecord(ctx, store.Record("attacker", "policy", "_dmarc.b.example.org.", "TXT", "v=DMARC1")))
		for _, r := range []string{"*.apps.example.org.", "*.more.example.org.", "a.b.example.org.", "apps.example.org.", "*.x.example.net."} {
			store.Must(s.CreateRecord(ctx, store.Record("victim", "r"+string(rune('a'+len(s.ListRecords("victim")))), r, "A", "192.0.2.1")))
		}
		store.Must(s.CreateRecord(ctx, store.Record("attacker", "login", "login.apps.example.org.", "A", "192.0.2.66")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "wild", "*.ours.example.org.", "A", "192.0.2.1")))
		store.Must(s.CreateRecord(ctx, store.Record("platform", "mx", "example.org.", "MX", "10 mail", "20 mx2", "30 mx3.example.org.")))
		want := internal(t, st)
		before := s.Zone("platform", "top").Status
		// The form of before: neither is noted.
		for key, value := range want {
			old := regexp.MustCompile(`,"h":\[\{"n":"[a-z]+","c":1\}\]`).ReplaceAll([]byte(value), nil)
			old = bytes.ReplaceAll(old, []byte(`,"ownHosts":{"mail":1,"mx2":1,"mx3.example.org.":1}`), nil)
			switch {
			case regexp.MustCompile(`^\{"h":\[\{"n":"[a-z]+","c":1\}\]\}$`).Match(old):
				store.Must(st.Client.Client.Delete(ctx, key))
			case string(old) != value:
				store.Must(st.Client.Client.Put(ctx, key, string(old)))
			}
		}
		if now := internal(t, st); len(now) != len(want)-4 || strings.Contains(fmt.Sprint(now), "ownHosts") {
			t.Fatalf("the store is not in the form of before: %d keys of %d: %s", len(now), len(want), fmt.Sprint(now))
		}
		st.Old(3)
		ends, _ := endsThere(n)
		func() {
			defer func() {
				if r := recover(); r != nil && r != errEnds {
					panic(r)
				}
			}()
			_ = opening(t, st, ends, ledger.Migrations())
		}()
		s = st.Server(ledger.Migrations())
		for key, value := range internal(t, st) {
			if want[key] != value {
				t.Errorf("%s is %s, not %s", key, value, want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("there is no %v", want)
		}
		s.Run()
		st.Settle()
		for _, r := range []string{"login", "mail", "policy"} {
			if s.Record("attacker", r).Status.ZoneRef == nil {
				t.Errorf("%s has lost its place", r)
			}
		}
		if now := s.Zone("platform", "top").Status; now.Serial != before.Serial || now.Hash != before.Hash {
			t.Errorf("the zone has changed: serial %d after %d", now.Serial, before.Serial)
		}
		for name, at := range map[string]string{"a": "pay.apps.example.org.", "b": "mx2.example.org.", "c": "_acme-challenge.more.example.org."} {
			if _, err := s.CreateRecord(ctx, store.Record("attacker", name, at, "TXT", "x")); !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", at, err)
			}
		}
		st.MustBeClean()
	}
}

// internal are the keys of zones whose form migrations 11 and 15 change.
func internal(t *testing.T, st *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, room := range []string{"owners", "holders", "names", "members", "counts", "journal"} {
		for _, kv := range store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Room(room), clientv3.WithPrefix())).Kvs {
			out[string(kv.Key)] = string(kv.Value)
		}
	}
	return out
}
