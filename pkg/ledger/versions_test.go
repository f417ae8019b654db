// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/subrev"
	"kubi.zone/kubizone/test/store"
)

// atLast is the resourceVersion of what was written alone, by etcd's own word.
func atLast(t *testing.T, st *store.Store, key string) string {
	t.Helper()
	kv := store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0]
	return fmt.Sprint(subrev.Version(kv.ModRevision, subrev.Last))
}

// Migration 13: what was written before reads as it did, with resourceVersions that are above all of before, and is written on. A
// program that knows no more than format 12 refuses the store before it reads anything else, and one that runs ends.
func TestMigration13_versionsOfObjects(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*store.Store){"plain": func(*store.Store) {}, "encrypted": store.Encrypted(provided("one"))} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			st := store.New(t, change)
			s, keys := st.Server(), layout.Keys{Prefix: st.Prefix}
			store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("", "*"))))
			store.Must(s.CreateRecord(t.Context(), store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))
			st.Old(12)
			if err := opening(t, st, ledger.Known(12)); err != nil {
				t.Fatalf("format 12 is not known by its own program: %v", err)
			}
			older := st.Server(ledger.Known(12))
			ended := make(chan error, 1)
			go func() { ended <- older.Ledger.FollowFormat(t.Context()) }()
			next := st.Server(ledger.Migrations())
			says(t, st, ledger.Format, ledger.LeastReader())
			if err := <-ended; !errors.Is(err, ledger.ErrFormat) {
				t.Errorf("the older server ends with %v", err)
			}
			if _, err := older.CreateZone(store.Zone("platform", "late", "late.test.")); !errors.Is(err, ledger.ErrFormat) {
				t.Errorf("the older server writes: %v", err)
			}
			if err := opening(t, st, ledger.Known(12)); !errors.Is(err, ledger.ErrFormat) {
				t.Errorf("an older program opens the store: %v", err)
			}
			if z := next.Zone("platform", "top"); z.ResourceVersion != atLast(t, st, keys.Zone("platform", "top")) {
				t.Errorf("the zone is at %s", z.ResourceVersion)
			}
			if r := next.Record("team", "www"); r.ResourceVersion != atLast(t, st, keys.Record("team", "www")) || r.Spec.Values[0] != "192.0.2.1" {
				t.Errorf("the record is %v at %s", r.Spec.Values, r.ResourceVersion)
			}
			changed := store.Must(next.UpdateRecord(t.Context(), "team", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
			if changed.ResourceVersion != atLast(t, st, keys.Record("team", "www")) {
				t.Errorf("the answer says %s", changed.ResourceVersion)
			}
		})
	}
}
