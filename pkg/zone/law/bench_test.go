// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

func BenchmarkDecide(b *testing.B) {
	for _, delegations := range []int{1, 10000} {
		w := newWorld()
		w.quick = true
		own := rules.Rule{Namespaces: []string{"owner"}, Records: []rules.RecordRule{makeRecordRule("*", nil, false)}}
		challenges := rules.Rule{Namespaces: []string{"a"},
			Records: []rules.RecordRule{makeRecordRule("_acme-challenge.*.apps", nil, false)}}
		if _, refusal := w.putZone(zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "top"}, DomainName: "example.org.",
			Header:       someHeader,
			ZoneSettings: makeSettings([]rules.Rule{own, challenges}, 0, 100)}, true); refusal != nil {
			b.Fatal(refusal)
		}
		for i := range delegations {
			rule := rules.Rule{Namespaces: []string{"a"}, Records: []rules.RecordRule{makeRecordRule("*.apps", nil, false)}}
			if i > 0 {
				rule.Namespaces[0] = fmt.Sprint("other", i)
			}
			if _, refusal := w.putDelegation(object{"owner", fmt.Sprint("d", i)}, zones.DelegationSpec{Zone: "top",
				Rule: rule}); refusal != nil {
				b.Fatal(refusal)
			}
			w.outbox = nil // no Records yet
		}
		put := func(n, kind, value string) law.Record {
			t, _ := rdata.ParseType(kind)
			v, err := rdata.Parse(t, value)
			if err != nil {
				b.Fatal(err)
			}
			return law.Record{Namespace: "a", Name: n, DomainName: n + ".apps.example.org.", Type: t, Values: []rdata.Value{v}}
		}
		if _, refusal := w.putRecord(put("www", "A", "192.0.2.1")); refusal != nil {
			b.Fatal(refusal)
		}
		for _, x := range []struct {
			name   string
			record law.Record
		}{
			{"create", put("new", "A", "192.0.2.1")},
			{"create beside its own", put("www", "AAAA", "2001:db8::1")},
			{"create a CAA", put("new", "CAA", `0 issue ";"`)},
			{"create deep", put("a.b.c.d.e.new", "A", "192.0.2.1")},
			{"create a challenge below a host", put("_acme-challenge.www", "TXT", "token")},
			{"create a challenge below no host", put("_acme-challenge.new", "TXT", "token")},
		} {
			r := x.record
			r.UID, r.Name = "r", "bench"
			ask := records.RecordInput{Namespace: "a", Name: r.Name, UID: "r", After: &r, Now: time.Unix(1, 0), WorkID: "w"}
			seen := law.NewFacts()
			for {
				out := records.DecideRecord(seen, ask)
				if out.Refusal != nil {
					b.Fatal(out.Refusal)
				}
				if len(out.Need) == 0 {
					break
				}
				for _, k := range out.Need {
					seen.Put(k, w.answerKey(k))
				}
			}
			b.Run(fmt.Sprintf("%s/delegations=%d", x.name, delegations), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					records.DecideRecord(seen, ask)
				}
			})
		}
	}
}
