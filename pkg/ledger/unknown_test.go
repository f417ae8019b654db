// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// later puts an unknown field into every object of a value but references.
func later(v any, at string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = later(x, k)
		}
		if !slices.Contains([]string{"parent", "child", "target", "sets"}, at) {
			v["later"] = "kept"
		}
	case []any:
		for i := range v {
			v[i] = later(v[i], at)
		}
	}
	return v
}

// An older server that writes beside a newer one keeps what that one has stored (ledger A20).
func TestUnknown_fieldsSurviveAnOlderWriter(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	shared := store.Allow("", "www", "sub", "ns.sub", "*.sub")
	shared.Records[0].Shared = true
	shared.Zones = []string{"sub", "other"}
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", shared)))
	sub := store.Zone("team", "sub", "sub.example.org.", store.Allow("", "*"))
	sub.Spec.NameServers[0].Name = "ns1"
	store.Must(s.CreateZone(sub))
	for _, r := range []string{"a", "b", "c"} {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", r, "www.example.org.", "A", "192.0.2.1", "192.0.2.9")))
		store.Must(s.CreateRecord(t.Context(), store.Record("team", "in-"+r, r+".sub.example.org.", "A", "192.0.2.1")))
	}
	s.Run()
	st.Settle()

	internal := layout.Keys{Prefix: st.Prefix}.Internal()
	values := func() map[string]string {
		out := map[string]string{}
		for _, kv := range store.Must(st.Client.Client.Get(t.Context(), internal, clientv3.WithPrefix())).Kvs {
			room, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), internal), "/")
			if slices.Contains([]string{"names", "owners", "holders", "counts", "members", "cuts"}, room) {
				out[string(kv.Key)] = string(kv.Value)
			}
		}
		return out
	}
	for key, value := range values() {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatal(err)
		}
		text := store.Must(json.Marshal(later(v, "")))
		store.Must(st.Client.Client.Put(t.Context(), key, string(text)))
	}
	st.MustBeClean()
	before := values()

	older := st.Server()
	older.Run()
	store.Must(older.UpdateRecord(t.Context(), "team", "a", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.1", "192.0.2.77"} }))
	store.Must(older.CreateRecord(t.Context(), store.Record("team", "d", "www.example.org.", "AAAA", "2001:db8::1")))
	if err := older.DeleteRecord(t.Context(), "team", "b"); err != nil {
		t.Fatal(err)
	}
	store.Must(older.CreateRecord(t.Context(), store.Record("team", "in-d", "a.sub.example.org.", "A", "192.0.2.9")))
	store.Must(older.UpdateZone("team", "sub", func(z *v1alpha1.Zone) { z.Spec.NameServers[0].Addresses = []string{"192.0.2.99"} }))
	store.Must(older.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team", "more")) }))
	st.Settle()
	changed := 0
	for key, now := range values() {
		was, ok := before[key]
		if !ok || now == was {
			continue
		}
		changed++
		var old, is any
		_, _ = json.Unmarshal([]byte(was), &old), json.Unmarshal([]byte(now), &is)
		lost(t, strings.TrimPrefix(key, internal), old, is)
	}
	if changed < 6 {
		t.Errorf("%d values were rewritten: too few to show anything", changed)
	}
}

// lost fails the test where an object that is still there lacks its later field.
func lost(t *testing.T, at string, old, is any) {
	t.Helper()
	switch old := old.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return
		}
		if old["later"] != is["later"] {
			t.Errorf("%s lost what an older program does not know: %v, then %v", at, old, is)
		}
		for k, v := range old {
			lost(t, at+" "+k, v, is[k])
		}
	case []any:
		is, _ := is.([]any)
		for _, x := range old {
			for _, y := range is {
				if same(x, y) {
					lost(t, at, x, y)
				}
			}
		}
	}
}

// same reports whether one element of a list at two moments.
func same(x, y any) bool {
	a, ok := x.(map[string]any)
	b, ok2 := y.(map[string]any)
	if !ok || !ok2 {
		return false
	}
	for _, k := range []string{"id", "n", "t", "d", "l"} {
		if !reflect.DeepEqual(a[k], b[k]) {
			return false
		}
	}
	return true
}
