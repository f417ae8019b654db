// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// BenchmarkDecideRecord decides the creation of an address by a tenant with all facts at hand, the last round of a
// decision, at names of one and of three labels. It prints how many facts were asked for, and in how many rounds.
func BenchmarkDecideRecord(b *testing.B) {
	w := newWorld()
	w.quick = true
	every, err := pattern.Parse("*")
	if err != nil {
		b.Fatal(err)
	}
	spec := law.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "example"}, DomainName: "example.org.",
		Header: content.Header{TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}}
	for _, ns := range []string{"a", "b", "c"} {
		spec.Rules = append(spec.Rules, law.Rule{Namespaces: []string{ns}, Records: []law.RecordRule{{Pattern: every, Text: "*"}}})
	}
	if _, refusal := w.putZone(spec, true); refusal != nil {
		b.Fatal(refusal)
	}
	w.settle()
	value, err := rdata.Parse(rdata.A, "192.0.2.1")
	if err != nil {
		b.Fatal(err)
	}
	record := func(ns, object, domain string) law.Record {
		return law.Record{Namespace: ns, Name: object, DomainName: domain, Type: rdata.A, Values: []rdata.Value{value}}
	}
	for i := range 100 {
		if _, refusal := w.putRecord(record([]string{"a", "b"}[i%2], fmt.Sprint("r", i), fmt.Sprintf("h%d.example.org.", i))); refusal != nil {
			b.Fatal(refusal)
		}
	}
	for _, at := range []string{"www", "www.team.apps"} {
		b.Run(at, func(b *testing.B) {
			r := record("c", "new", at+".example.org.")
			r.UID, r.Created = "new", w.now.Unix()
			ask := law.RecordAsk{Namespace: r.Namespace, Name: r.Name, UID: r.UID, After: &r, Now: w.now, By: r.Namespace, WorkID: "work"}
			seen, rounds := law.NewSeen(), 1
			for out := law.DecideRecord(seen, ask); len(out.Need) > 0; out = law.DecideRecord(seen, ask) {
				rounds++
				for _, k := range out.Need {
					seen.Put(k, w.answer(k))
				}
			}
			facts := 0
			for range seen.All() {
				facts++
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if out := law.DecideRecord(seen, ask); out.Plan == nil {
					b.Fatal(out.Refusal)
				}
			}
			b.ReportMetric(float64(facts), "facts/op")
			b.ReportMetric(float64(rounds), "rounds/op")
		})
	}
}
