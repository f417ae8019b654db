// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// A write puts only the keys whose values change. The same transaction compares the other facts.
func TestUpdate_writesOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	s := store.New(t)
	server := s.Server()
	server.Run()
	store.Must(server.CreateZone(store.Zone("platform", "z", "example.org.", store.Allow("tenant", "*"))))
	store.Must(server.CreateRecord(t.Context(), store.Record("tenant", "www", "www.example.org.", "A", "192.0.2.1")))
	s.Settle()
	written := func() map[string]int64 {
		out := map[string]int64{}
		for _, room := range []string{"owners", "counts", "members", "names"} {
			r, err := s.Client.Client.Get(context.Background(), layout.Keys{Prefix: s.Prefix}.Room(room), clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Kvs) == 0 {
				t.Fatalf("%s/ is empty: this test looks at nothing", room)
			}
			for _, kv := range r.Kvs {
				out[room] += kv.ModRevision
			}
		}
		return out
	}
	changed := func(before, after map[string]int64) []string {
		var out []string
		for _, room := range slices.Sorted(maps.Keys(after)) {
			if before[room] != after[room] {
				out = append(out, room)
			}
		}
		return out
	}
	before := written()
	store.Must(server.UpdateRecord(t.Context(), "tenant", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	after := written()
	if got := changed(before, after); !slices.Equal(got, []string{"owners"}) {
		t.Errorf("another address: written in %v, want owners alone", got)
	}
	store.Must(server.CreateRecord(t.Context(), store.Record("tenant", "www-6", "www.example.org.", "AAAA", "2001:db8::1")))
	if got := changed(after, written()); !slices.Equal(got, []string{"counts", "members", "owners"}) {
		t.Errorf("a second record: written in %v", got)
	}
}
