// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// The refusal to delete a zone gives the number and names of the objects of other namespaces, and the next step. If not
// all facts were read, the number is a lower bound.
func TestDecideZone_saysWhatOthersHave_S8_1(t *testing.T) {
	has := func(count int64, namespaces int, names ...string) *law.Foreign {
		f := &law.Foreign{Count: count}
		for i := range namespaces {
			f.Namespaces = append(f.Namespaces, fmt.Sprint("tenant", i))
		}
		for _, text := range names {
			f.Names = append(f.Names, name.MustParse(text))
		}
		return f
	}
	more := func(f *law.Foreign) *law.Foreign {
		f.More = true
		return f
	}
	for _, c := range []struct {
		what                  string
		records, first, zones *law.Foreign
		want                  string // "": allowed
	}{
		{"nothing", has(0, 0), nil, has(0, 0), ""},
		{"one record", has(1, 1), has(0, 0, "w.example."), has(0, 0), "1 record of 1 other namespace (w.example.)"},
		{"records at one name", has(3, 2), has(0, 0, "w.example."), has(0, 0), "3 records of 2 other namespaces (w.example., ...)"},
		{"records behind many own ones", has(2, 1), more(has(0, 0)), has(0, 0), "2 records of 1 other namespace"},
		{"a zone", has(0, 0), nil, has(1, 1, "c.example."), "1 child zone of 1 other namespace (c.example.)"},
		{"both, and more", has(1, 1), has(0, 0, "w.example."), more(has(2, 1, "c.example.", "d.example.")),
			"1 record of 1 other namespace (w.example.), and at least 2 child zones of 1 other namespace (c.example., d.example.)"},
		{"a forest that begins with own zones", has(0, 0), nil, more(has(0, 0)),
			"more than 1000 zones below it, not all of them checked"},
	} {
		z := &law.Zone{Ref: law.Ref{Namespace: "owner", Name: "example", UID: "4711"}}
		z.Header.FQDN = name.MustParse("example.")
		look := func(seen *law.Facts, k law.Key) {
			switch {
			case k == law.ForeignRecordsKey(z):
				seen.Put(k, c.records)
			case k == law.ForeignNamesKey(z):
				seen.Put(k, c.first)
			case k == law.ForeignZonesKey(z):
				seen.Put(k, c.zones)
			case k.Kind == law.KindHolding:
				seen.Put(k, map[bool]any{true: &law.Holding{Ref: z.Ref}}[k.Name == z.FQDN()])
			default:
				seen.Put(k, nil)
			}
		}
		decide := func(annotated bool) law.Outcome {
			seen := law.NewFacts()
			seen.LoadCached = func(k law.Key) bool { look(seen, k); return true }
			return zones.DecideZone(seen, zones.ZoneInput{Before: z, Annotated: annotated})
		}
		if out := decide(true); out.Refusal != nil {
			t.Errorf("%s, annotated: %v", c.what, out.Refusal)
		}
		out := decide(false)
		if out.Refusal == nil {
			if c.want != "" {
				t.Errorf("%s: passes", c.what)
			}
			continue
		}
		if c.want == "" || !strings.Contains(out.Refusal.Message, "example. has "+c.want+" (S8.1;") ||
			!strings.Contains(out.Refusal.Message, "kubectl annotate zone example -n owner kubi.zone/delete=4711") {
			t.Errorf("%s: %s", c.what, out.Refusal.Message)
		}
	}
}
