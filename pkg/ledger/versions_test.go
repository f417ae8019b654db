// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
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

// Migration 13: what format 12 has written reads as it did, with versions that are above all of before, redo logs are
// carried out, and it is written on. A program that knows no more than format 12 refuses the store before it reads
// anything else, and one that runs ends.
func TestMigration13_versionsOfObjects(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprint("sealed: ", sealed), func(t *testing.T) {
			t.Parallel()
			st := store.On(t, store.Fresh(t), store.Prefix12)
			if sealed {
				st.Encryption = provided("one")
			}
			st.LoadFormat12(sealed)
			keys := layout.Keys{Prefix: st.Prefix}
			before := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision
			if _, err := st.Check(); err == nil || !strings.Contains(err.Error(), "redo log") {
				t.Fatalf("of format 12: %v", err)
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
			rev := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision
			if err := opening(t, st, ledger.Known(12)); !errors.Is(err, ledger.ErrFormat) {
				t.Errorf("an older program opens the store: %v", err)
			}
			if now := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision; now != rev {
				t.Errorf("and writes %d revisions", now-rev)
			}
			if z := next.Zone("platform", "org"); z.ResourceVersion != atLast(t, st, keys.Zone("platform", "org")) {
				t.Errorf("the zone is at %s", z.ResourceVersion)
			}
			all := next.ListRecords("")
			for _, r := range all {
				if at, _ := strconv.ParseInt(r.ResourceVersion, 10, 64); r.ResourceVersion != atLast(t, st, keys.Record(r.Namespace, r.Name)) || at <= before {
					t.Errorf("%s is at %s, after %d", r.Name, r.ResourceVersion, before)
				}
			}
			if len(all) != 19 { // 9 that stood, and the batch
				t.Errorf("%d records", len(all))
			}
			next.Run()
			st.Settle()
			if r := next.Record("tenant", "net-0"); r.Status.ZoneRef != nil {
				t.Errorf("what was owed is not done: %+v", r.Status)
			}
			changed := store.Must(next.UpdateRecord(t.Context(), "team", "org-0", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
			if changed.ResourceVersion != atLast(t, st, keys.Record("team", "org-0")) {
				t.Errorf("the answer says %s", changed.ResourceVersion)
			}
		})
	}
}
