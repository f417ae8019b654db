// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// Migration 7: a zone whose rule went in a version that did not count has the period of the zone above it from the
// upgrade on, and ends then; one that was never delegated does not (S3.4). So wherever the first server ends.
func TestMigration7_countsWhatWasWithdrawnBefore_S3_4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for n := range 3 {
		st := store.New(t)
		s := st.Server()
		stop := s.Run()
		_, none := kids(t, s, time.Hour)
		store.Must(s.CreateZone(store.Zone("infra", "ours", "ours.shared.example.")))
		store.Must(s.CreateZone(store.Zone("infra", "under", "under.above.")))
		store.Must(s.CreateZone(store.Zone("infra", "above", "above.")))
		rules(s, none[:1])
		st.Settle()
		stop()
		withoutEnd(t, st, s.Zone("team-a", "kids"))
		withoutEnd(t, st, s.Zone("infra", "ours"))
		st.Old(6)

		ends, ended := endsThere(n)
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
		for _, z := range []*v1alpha1.Zone{next.Zone("team-a", "kids"), next.Zone("infra", "ours")} {
			if at := z.Status.EndsAt; at == nil || time.Until(at.Time) < 50*time.Minute || time.Until(at.Time) > time.Hour {
				t.Errorf("where the first server ended at its transaction %d (%t): %s ends at %v", n, *ended, z.Name, at)
			}
		}
		for _, name := range []string{"under", "above", "shared"} {
			if z := next.Zone("infra", name); z.Status.EndsAt != nil {
				t.Errorf("%s, of which no rule went, ends at %v", name, z.Status.EndsAt)
			}
		}
		st.MustBeClean()
		next.Run()
		store.Must(next.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { grace(z, 0) }))
		store.Eventually(t, "they ended", func() bool { return !standing(next, "kids") && next.Zone("infra", "ours").Status.FQDN == "" })
		st.Settle()
		st.MustBeClean()
	}
}

// withoutEnd gives a zone whose rule went the form of before format 5.
func withoutEnd(t *testing.T, st *store.Store, z *v1alpha1.Zone) {
	t.Helper()
	keys, client := layout.Keys{Prefix: st.Prefix}, st.Client.Client
	if z.Status.EndsAt == nil {
		t.Fatalf("not withdrawn: %+v", z.Status)
	}
	z.Status.EndsAt, z.ResourceVersion = nil, ""
	store.Must(client.Put(t.Context(), keys.Zone(z.Namespace, z.Name), string(store.Must(runtime.Encode(store.Codec().Codec, z)))))
	for _, kv := range store.Must(client.Get(t.Context(), keys.Room("names"), clientv3.WithPrefix())).Kvs {
		if !bytes.Contains(kv.Value, []byte(z.UID)) || !bytes.Contains(kv.Value, []byte(`"withdrawn"`)) {
			continue
		}
		holding := map[string]json.RawMessage{}
		if err := json.Unmarshal(kv.Value, &holding); err != nil {
			t.Fatal(err)
		}
		delete(holding, "withdrawn")
		store.Must(client.Put(t.Context(), string(kv.Key), string(store.Must(json.Marshal(holding)))))
	}
}
