// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/law"
)

// rewritten are the types of internal values that a server reads and writes again.
var rewritten = []any{law.Holding{}, law.Owner{}, law.Holders{}, law.Count{}, law.Member{}, law.LastSerial{}, law.Work{}, law.PendingCut{}, law.CountedCut{}, law.NamespaceRules{}, law.Listed{}, law.Deletions{}, law.Deleted{}}

// Each of them keeps what it does not know, at every level but that of a Ref, of what is computed anew, and of a
// Rule: a field more of that is one of Delegations too, which are protobuf and keep none (ledger/migrate.go).
func TestUnknown_isInEveryStoredStruct(t *testing.T) {
	t.Parallel()
	var look func(at string, of reflect.Type)
	look = func(at string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(at, of.Elem())
		case reflect.Struct:
			if of == reflect.TypeFor[law.Ref]() || of == reflect.TypeFor[law.Rule]() || !strings.HasSuffix(of.PkgPath(), "pkg/law") {
				return
			}
			if f, ok := of.FieldByName("Unknown"); !ok || f.Tag.Get("json") != "-" {
				t.Errorf("%s has no Unknown", at)
			}
			for _, f := range reflect.VisibleFields(of) {
				if f.Name != "Unknown" && !f.Anonymous { // the fields of an embedded struct are of this level
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
	next, err := Rewrite([]byte(" "+work), func(w *law.Work) { w.Since = 2 })
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
	next, err = Rewrite([]byte(`{"v":[{"t":"A","d":"`+strings.Repeat("A", 43)+`","c":1,"s":4},{"t":"TXT","later":1,"d":"`+strings.Repeat("A", 43)+`","c":1,"s":4}]}`), func(o *law.Owner) { o.Values = o.Values[1:] })
	if err != nil || strings.Count(string(next), "later") != 1 {
		t.Errorf("%s, %v", next, err)
	}
}

// Reading and writing values without unknown fields allocates what encoding/json does.
func BenchmarkUnknown(b *testing.B) {
	o := law.Owner{Values: []law.OwnerValue{{Type: 1, Digest: law.DigestOf("a"), Count: 1, Size: 4}}}
	data := Encode(&o)
	for name, f := range map[string]func(){
		"json/decode": func() { _ = json.Unmarshal(data, &law.Owner{}) }, "ours/decode": func() { _ = Decode(data, &law.Owner{}) },
		"json/encode": func() { _, _ = json.Marshal(&o) }, "ours/encode": func() { Encode(&o) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
