// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// Migration 9: zones of stores of before learn by which delegations they came to their names (S3.4), also where the
// rule for one went, or the one above is gone and no cascade has said so; wherever the first server ends. So what is
// prepared after it ends with the rule, and the zones are older than what the names above have (S4.7).
func TestMigration9_fillsLineageAndWhatEncloses_S3_4_S4_7(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for n := range 3 {
		st := store.New(t)
		s := st.Server()
		stop := s.Run()
		_, none := kids(t, s, time.Hour)
		all := v1alpha1.DelegationRule{Zones: []string{"*"}}
		store.Must(s.UpdateZone("team-a", "low", func(z *v1alpha1.Zone) {
			z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"mid"}})
		}))
		store.Must(s.CreateZone(store.Zone("team-a", "mid", "mid.low.kids.shared.example.", v1alpha1.DelegationRule{Zones: []string{"lower"}})))
		store.Must(s.CreateZone(store.Zone("team-a", "lower", "lower.mid.low.kids.shared.example.", all)))
		store.Must(s.CreateZone(store.Zone("team-a", "lowest", "lowest.lower.mid.low.kids.shared.example.")))
		store.Must(s.CreateZone(store.Zone("infra", "alone", "alone.")))
		rules(s, none)
		st.Settle()
		stop()
		// It went, and no cascade has come by.
		mid := string(s.Zone("team-a", "mid").UID)
		remove(s, "mid")
		want := names(t, st)
		since := regexp.MustCompile(`("enclosed":\{"by":"[^"]*"),"n":\d+`)
		for key, value := range want { // what stands is older than everything, and below what stands
			value = strings.ReplaceAll(value, `"enclosed":{"by":"`+mid, `"enclosed":{"by":"`+string(s.Zone("team-a", "low").UID))
			want[key] = since.ReplaceAllString(value, "$1")
		}
		withoutLineage(t, st)
		st.Old(8)

		ends, _ := endsThere(n)
		func() {
			defer func() {
				if r := recover(); r != nil && r != errEnds {
					panic(r)
				}
			}()
			_ = opening(t, st, ends, ledger.Migrations())
		}()
		next := st.Server(ledger.Migrations())
		says(t, st, ledger.Format, ledger.LeastReader())
		for key, value := range names(t, st) {
			if value != want[key] {
				t.Errorf("where the first server ended at its transaction %d: %s is %s, not %s", n, key, value, want[key])
			}
		}
		st.MustBeClean()
		next.Run()
		remove(next, "lower")
		st.Settle()
		store.Must(next.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { grace(z, 0) }))
		store.Eventually(t, "what is below ended", func() bool { return !standing(next, "kids") && !standing(next, "low") && !standing(next, "lowest") })
		st.Settle()
		st.MustBeClean()
	}
}

// names are the holdings.
func names(t *testing.T, st *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	room := layout.Keys{Prefix: st.Prefix}.Room("names")
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), room, clientv3.WithPrefix())).Kvs {
		out[string(kv.Key)] = string(kv.Value)
	}
	return out
}

// withoutLineage gives the store the form of before format 9.
func withoutLineage(t *testing.T, st *store.Store) {
	t.Helper()
	had := map[string]string{} // the zone above, by uid
	put := func(key string, value map[string]json.RawMessage) {
		store.Must(st.Client.Client.Put(t.Context(), key, string(store.Must(json.Marshal(value)))))
	}
	taken := 0
	for key, value := range names(t, st) {
		var h struct {
			UID     string
			Lineage []struct{ U string }
		}
		all := map[string]json.RawMessage{}
		if err := errors.Join(json.Unmarshal([]byte(value), &h), json.Unmarshal([]byte(value), &all)); err != nil {
			t.Fatal(err)
		}
		for i, l := range h.Lineage[:max(0, len(h.Lineage)-1)] {
			had[h.Lineage[i+1].U] = l.U
		}
		if len(h.Lineage) > 0 || all["enclosed"] != nil {
			delete(all, "lineage")
			delete(all, "enclosed")
			put(key, all)
			taken++
		}
	}
	if taken < 4 {
		t.Fatalf("only %d zones noted how they came", taken)
	}
	room := layout.Keys{Prefix: st.Prefix}.Room("serials")
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), room, clientv3.WithPrefix())).Kvs {
		var last struct{ Zone string }
		all := map[string]json.RawMessage{}
		if err := errors.Join(json.Unmarshal(kv.Value, &last), json.Unmarshal(kv.Value, &all)); err != nil {
			t.Fatal(err)
		}
		if had[last.Zone] != "" {
			all["delegated"] = store.Must(json.Marshal(had[last.Zone]))
			put(string(kv.Key), all)
		}
	}
}

// remove removes a zone of team-a.
func remove(s *store.Server, name string) {
	if err := s.DeleteZone("team-a", name); err != nil {
		s.T.Fatal(err)
	}
}
