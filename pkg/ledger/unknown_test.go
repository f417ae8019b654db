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

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// rewritten are the types of internal values that a server reads and writes again.
var rewritten = []any{law.Holding{}, law.Owner{}, law.Holders{}, law.Count{}, law.Member{}, law.LastSerial{}, law.Work{}, law.Debt{}, law.CountedCut{}}

// Each of them keeps what it does not know, at every level but that of a Ref and of what is computed anew.
func TestUnknown_isInEveryStoredStruct(t *testing.T) {
	t.Parallel()
	var look func(at string, of reflect.Type)
	look = func(at string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(at, of.Elem())
		case reflect.Struct:
			if of == reflect.TypeFor[law.Ref]() || !strings.HasSuffix(of.PkgPath(), "pkg/law") {
				return
			}
			if f, ok := of.FieldByName("Unknown"); !ok || f.Tag.Get("json") != "-" {
				t.Errorf("%s has no Unknown", at)
			}
			for _, f := range reflect.VisibleFields(of) {
				if f.Name != "Unknown" {
					look(at+"."+f.Name, f.Type)
				}
			}
		}
	}
	for _, v := range rewritten {
		look(reflect.TypeOf(v).Name(), reflect.TypeOf(v))
	}
}

func TestUnknown_fieldsSurviveARewriteAtEveryLevel(t *testing.T) {
	t.Parallel()
	const work = `{"id":"w","later":[{"a":1}],"move":{"name":"r","later":"\u003c","namespace":"n","to":{"fqdn":"a.","later":{},"name":"z","uid":"u"},"uid":"x"},"reason":"{\"later\":1}",` +
		`"scans":[{"kind":"members","later":1},{"kind":"zones"}],"since":1,"view":"","zones":[{"fqdn":"a.","later":null,"name":"z","namespace":"p"}]}`
	next, err := ledger.Rewrite([]byte(" "+work), func(w *law.Work) { w.Since = 2 })
	if err != nil {
		t.Fatal(err)
	}
	var want, have any
	if err := json.Unmarshal([]byte(strings.Replace(work, `"since":1`, `"since":2`, 1)), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(next, &have); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s\nrewritten as\n%s", work, next)
	}
	next, err = ledger.Rewrite([]byte(`{"v":[{"t":"A","d":"`+strings.Repeat("A", 43)+`","c":1,"s":4},{"t":"TXT","later":1,"d":"`+strings.Repeat("A", 43)+`","c":1,"s":4}]}`), func(o *law.Owner) { o.Values = o.Values[1:] })
	if err != nil || strings.Count(string(next), "later") != 1 {
		t.Errorf("%s, %v", next, err)
	}
}

// Reading and writing values without unknown fields allocates what encoding/json does.
func BenchmarkUnknown(b *testing.B) {
	o := law.Owner{Values: []law.OwnerValue{{Type: 1, Digest: law.DigestOf("a"), Count: 1, Size: 4}}}
	data := ledger.Encode(&o)
	for name, f := range map[string]func(){
		"json/decode": func() { _ = json.Unmarshal(data, &law.Owner{}) }, "ours/decode": func() { _ = ledger.Decode(data, &law.Owner{}) },
		"json/encode": func() { _, _ = json.Marshal(&o) }, "ours/encode": func() { ledger.Encode(&o) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

// later puts a field that nobody knows into every object of a value but references.
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

	internal := ledger.Layout{Prefix: st.Prefix}.Internal()
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

// same: one element of a list at two moments.
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
