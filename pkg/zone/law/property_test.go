// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// The forest is small, so that names, namespaces and zones collide.
var (
	someNamespaces = []string{"owner", "a", "b"}
	someZones      = []object{{"owner", "org"}, {"owner", "example"}, {"owner", "sub"}, {"a", "zone"}, {"b", "zone"}}
	someFQDNs      = []string{"org.", "example.org.", "b.example.org.", "x.b.example.org.", "www.example.org.", "net."}
	someRelatives  = []string{"example", "b", "x.b", "www"}
	someOwners     = []string{"org.", "example.org.", "www.example.org.", "b.example.org.", "x.b.example.org.",
		"y.x.b.example.org.", "*.b.example.org.",
		"_acme-challenge.www.example.org.", "_acme-challenge.b.example.org.", "*.example.org.", "_dmarc.example.org.",
		"ns1.example.org.", "net.", "www.net.",
		"_dmarc.b.example.org.", "*._dmarc.b.example.org.", "*.x.b.example.org.", "z.y.x.b.example.org."}
	someOwnersRelative = []string{"@", "www", "b", "x.b", "*", "*.b", "_acme-challenge.www", "ns1", "_dmarc.b"}
	somePatterns       = []string{"*", "@", "www", "b", "*.b", "x.b", "_acme-challenge.*", "_dmarc", "example", "*.example", "ns1",
		"*.example.org.", "*.x.b"}
	someValues = []string{"A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "TXT t", "CNAME www", "CNAME x.b", "NS ns1",
		"NS ns.example.net.", "NS ns1.b.example.org.", "DNAME example.net.",
		"MX 10 www", "MX 10 www.example.org.", "MX 10 x.b", "HTTPS 1 x.b", "HTTPS 0 www", "SVCB 2 ns1.example.org. port=53",
		`CAA 0 issue ";"`, "DS 1 8 2 0000000000000000000000000000000000000000000000000000000000000000"}
	// The second is also the value of a Record.
	someDS = [][]string{nil, {"1 8 2 " + strings.Repeat("0", 64)}, {"1 8 2 " + strings.Repeat("0", 64),
		"2 13 2 " + strings.Repeat("A", 64)}, {"2 13 2 " + strings.Repeat("A", 64)}}
	someTypes = [][]rdata.Type{nil, nil, {rdata.A}, {rdata.A, rdata.AAAA, rdata.TXT, rdata.CNAME, rdata.MX}, {rdata.NS,
		rdata.DNAME, rdata.DS, rdata.A}}
)

// allowEverything keeps S4.1 from refusing.
func allowEverything() []rules.Rule {
	every, apex := pattern.Pattern{}, pattern.Pattern{}
	_, _ = every.UnmarshalText([]byte("*")), apex.UnmarshalText([]byte("@"))
	all := []rdata.Type{rdata.A, rdata.AAAA, rdata.TXT, rdata.CNAME, rdata.CAA, rdata.MX, rdata.HTTPS, rdata.SVCB, rdata.NS,
		rdata.DNAME, rdata.DS}
	var given []rules.Rule
	for _, ns := range someNamespaces {
		given = append(given, rules.Rule{Namespaces: []string{ns}, Zones: []pattern.Pattern{every},
			Records: []rules.RecordRule{{Pattern: every, Text: "*", Types: all}, {Pattern: apex, Text: "@", Types: all}}})
	}
	return given
}

func drawRules(t *rapid.T) []rules.Rule {
	var given []rules.Rule
	if rapid.Bool().Draw(t, "generous") {
		given = allowEverything()
	}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		var r rules.Rule
		r.Namespaces = slices.Clone(rapid.SampledFrom([][]string{nil, {"owner"}, {"a"}, {"b"}, {"a", "b"}}).Draw(t, "to"))
		text := rapid.SampledFrom(somePatterns).Draw(t, "pattern")
		p := mustParse(pattern.Parse(text))
		if rapid.IntRange(0, 2).Draw(t, "for zones") == 0 {
			r.Zones, r.DS = append(r.Zones, p), rapid.Bool().Draw(t, "ds")
		} else {
			r.Records = append(r.Records, rules.RecordRule{Pattern: p, Text: text, Types: rapid.SampledFrom(someTypes).Draw(t,
				"types"), Shared: rapid.IntRange(0, 3).Draw(t, "shared") == 0})
		}
		given = append(given, r)
	}
	return given
}

func drawRef(t *rapid.T) *law.Ref {
	o := rapid.SampledFrom(someZones).Draw(t, "ref")
	return &law.Ref{Namespace: o.Namespace, Name: o.Name}
}

func drawZone(t *rapid.T) zones.ZoneSpec {
	o := rapid.SampledFrom(someZones).Draw(t, "zone")
	s := zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, ZoneSettings: makeSettings(drawRules(t), 0, 0)}
	switch rapid.IntRange(0, 3).Draw(t, "named") {
	case 0:
		s.ZoneRef, s.DomainName = drawRef(t), rapid.SampledFrom(someRelatives).Draw(t, "relative")
	case 1:
		s.ZoneRef, s.DomainName = drawRef(t), rapid.SampledFrom(someFQDNs).Draw(t, "fqdn")
	default:
		s.DomainName = rapid.SampledFrom(someFQDNs).Draw(t, "fqdn")
	}
	if s.ZoneRef == nil && rapid.IntRange(0, 9).Draw(t, "in a view") == 0 {
		s.View = "inside"
	}
	s.Grace = rapid.SampledFrom([]int64{0, 3600, 86400}).Draw(t, "grace")
	s.ReleaseNow = drawReleaseNow(t)
	s.Header = content.Header{TTL: rapid.SampledFrom([]uint32{60, 360}).Draw(t, "ttl"), Refresh: 86400, Retry: 7200,
		Expire: 3600000, NegativeResponseCache: 360}
	for _, host := range []string{"ns1", "ns.example.net.", "ns1.b.example.org.", "@"} {
		if rapid.IntRange(0, 5).Draw(t, host) == 0 {
			s.Header.NameServers = append(s.Header.NameServers, content.NameServer{Name: host,
				Addresses: []string{"192.0.2.53"}[:rapid.IntRange(0, 1).Draw(t, "addresses")]})
		}
	}
	s.MaxDeletePercent = rapid.SampledFrom([]int64{0, 30, 100}).Draw(t, "percent")
	if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
		s.RecordsPerNamespace = 2
	}
	if rapid.IntRange(0, 6).Draw(t, "minimum") == 0 {
		m := rapid.SampledFrom([]uint32{1, 2026010150, 2030000000, 4000000000}).Draw(t, "minimumSerial")
		s.MinimumSerial = &m
	}
	return s
}

// drawReleaseNow draws the annotation kubi.zone/release-now (S3.6).
func drawReleaseNow(t *rapid.T) []string {
	return slices.Clone(rapid.SampledFrom([][]string{nil, nil, {"a"}, {"b"}, {"a", "b"}}).Draw(t, "release now"))
}

func drawRecord(t *rapid.T) law.Record {
	r := law.Record{Namespace: rapid.SampledFrom(someNamespaces).Draw(t, "namespace"), Name: fmt.Sprintf("r%d", rapid.IntRange(1,
		5).Draw(t, "record"))}
	switch rapid.IntRange(0, 3).Draw(t, "named") {
	case 0:
		r.ZoneRef, r.DomainName = drawRef(t), rapid.SampledFrom(someOwnersRelative).Draw(t, "relative")
	case 1:
		r.ZoneRef, r.DomainName = drawRef(t), rapid.SampledFrom(someOwners).Draw(t, "owner")
	default:
		r.DomainName = rapid.SampledFrom(someOwners).Draw(t, "owner")
	}
	if r.ZoneRef == nil && rapid.IntRange(0, 9).Draw(t, "in a view") == 0 {
		r.View = "inside"
	}
	r.WaitsOnConflict = rapid.IntRange(0, 2).Draw(t, "waits") == 0
	if rapid.IntRange(0, 3).Draw(t, "ttl") == 0 {
		ttl := rapid.SampledFrom([]uint32{0, 60, 300}).Draw(t, "seconds")
		r.TTL = &ttl
	}
	value := func() rdata.Value {
		mnemonic, text, _ := strings.Cut(rapid.SampledFrom(someValues).Draw(t, "value"), " ")
		return mustParse(rdata.Parse(mustParse(rdata.ParseType(mnemonic)), text))
	}
	first := value()
	r.Type, r.Values = first.Type, []rdata.Value{first}
	if second := value(); second.Type == r.Type && second != first {
		r.Values = append(r.Values, second)
	}
	return r
}

// describeState returns all state that a refusal must not change.
func (w *world) describeState() string {
	var lines []string
	for k, v := range w.facts {
		lines = append(lines, fmt.Sprintf("%v=%s", k, writeFingerprint(v)))
	}
	for o, r := range w.records {
		lines = append(lines, fmt.Sprintf("record %s %s %s", o, writeFingerprint(r.record), writeFingerprint(r.placed)))
	}
	for o, z := range w.zones {
		lines = append(lines, fmt.Sprintf("zone %s %s %s", o, writeFingerprint(z.spec.Header), writeFingerprint(z.zone.Serial)))
	}
	lines = append(lines, writeFingerprint(w.outbox), writeFingerprint(w.derivations), fmt.Sprint(len(w.waiting)))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The test does random acts on a small forest of zones. After each act a checker compares all state (I1–I5, S4.8, S5.6,
// S6.1, S6.7, S6.8, S7.1). In a quiet world, a twin also checks the holders of names (S4.9–S4.8, S6.2) and deletions
// (S7.5). Once all works are done, no decision may be outstanding (S2.3–S2.7).
func TestForest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		act := func(what string, do func()) {
			defer func() {
				if r := recover(); r != nil {
					if text, ok := r.(string); ok && strings.HasPrefix(text, "invariant: ") {
						t.Fatalf("%s: %s", what, text)
					}
					panic(r)
				}
			}()
			do()
			for _, line := range w.checkAll() {
				t.Errorf("%s: %s", what, line)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		refused := func(before string, refusal *law.Refusal) {
			if refusal == nil {
				return
			}
			t.Logf("  refused: %s", refusal.Message)
			if after := w.describeState(); after != before {
				t.Fatalf("S7.1: a refused write changes something:\n%s\n%s", before, after)
			}
			for _, o := range sortedObjects(w.records) {
				if strings.Contains(refusal.Message, o.String()) {
					t.Fatalf("S1.8: %s", refusal.Message)
				}
			}
		}
		settled := func() {
			act("settle", func() {
				w.settleAll()
				for _, line := range w.checkSettled() {
					t.Errorf("%s", line)
				}
			})
		}
		record := func(t *rapid.T) {
			r := drawRecord(t)
			if hours := rapid.IntRange(-10, 100).Draw(t, "expires"); hours > 50 {
				r.ExpiresAt = w.now.Add(time.Duration(hours) * time.Hour).Unix()
				r.DeletedAtExpiry = hours%2 == 0
			}
			before := w.describeState()
			act("record", func() {
				in, fqdn := w.findLongest(&r)
				refuses, judged := false, false
				if in != nil && w.isQuiet() {
					refuses, judged = w.claimTwin(w.uniteRules(in), &r, fqdn)
				}
				plan, refusal := w.putRecord(r)
				refused(before, refusal)
				if refusal != nil && strings.Contains(refusal.Message, "stays there") { // S1.7: the user recreates the Record
					w.deleteRecord(object{r.Namespace, r.Name})
					judged = false // without the record
					plan, refusal = w.putRecord(r)
				}
				switch {
				case !judged:
				case refusal != nil && refusal.Reason == law.ReasonNameHeld && !refuses:
					t.Errorf("S4.7 to S4.14: %s %s of %s is refused in zone %s, and nothing there is another namespace's", fqdn,
						r.Type, r.Namespace, in.FQDN())
				case refuses && plan != nil && plan.Record.Zone != nil && plan.Record.Zone.UID == in.UID:
					t.Errorf("S4.7 to S4.14: %s %s of %s is taken in by zone %s, where the name is another namespace's", fqdn,
						r.Type, r.Namespace, in.FQDN())
				}
				if plan != nil {
					t.Logf("  %s/%s %s", r.Namespace, r.Name, describePlacement(plan.Record))
				}
			})
		}
		if rapid.IntRange(0, 3).Draw(t, "planted") > 0 {
			for i, fqdn := range []string{"org.", "example.org."} {
				o := someZones[i]
				act("plant", func() {
					given := allowEverything()
					for i := range given {
						given[i].DS = rapid.Bool().Draw(t, "ds")
					}
					if rapid.Bool().Draw(t, "lists what is shared") { // S4.8
						www, _ := pattern.Parse("www")
						given = append(given, rules.Rule{Records: []rules.RecordRule{{Pattern: www, Text: "www", Shared: true}}})
					}
					if rapid.Bool().Draw(t, "shares the apex") { // S6.2
						apex, _ := pattern.Parse("@")
						given = append(given, rules.Rule{Records: []rules.RecordRule{{Pattern: apex, Text: "@", Shared: true}}})
					}
					mustAccept(w.putZone(zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: fqdn,
						Header: someHeader, ZoneSettings: makeSettings(given, 0, 30)}, true))(t)
				})
			}
			if rapid.Bool().Draw(t, "names a host") { // S6.2
				act("plant", func() {
					host := mustParse(rdata.Parse(rdata.MX, "10 ns1"))
					mustAccept(w.putRecord(law.Record{Namespace: "owner", Name: "planted", DomainName: "example.org.",
						Type: rdata.MX, Values: []rdata.Value{host}}))(t)
				})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"zone": func(t *rapid.T) {
				spec, establish, again := drawZone(t), rapid.IntRange(0, 3).Draw(t, "establish") > 0, rapid.IntRange(0, 2).Draw(t,
					"anew") == 0
				before := w.describeState()
				act("zone", func() {
					_, refusal := w.putZone(spec, establish)
					refused(before, refusal)
					if refusal != nil && strings.Contains(refusal.Message, "keeps its name") && again { // S1.6
						w.deleteZone(object{spec.Namespace, spec.Name})
						_, _ = w.putZone(spec, establish)
					}
				})
			},
			"record": record, "record too": record, "another record": record, // weighted: worlds have more records than other objects
			"many": func(t *rapid.T) { // enough for a mass deletion (S7.5), or all
				by := object{rapid.SampledFrom([]string{"owner", "owner", "a"}).Draw(t, "namespace"), "many"}
				for i := range 12 {
					o := object{by.Namespace, fmt.Sprint(by.Name, i)}
					w.quick = i > 0
					act("many", func() {
						if w.records[o] != nil {
							w.deleteRecord(o)
							return
						}
						v, _ := rdata.Parse(rdata.A, "192.0.2.7")
						_, _ = w.putRecord(law.Record{Namespace: o.Namespace, Name: o.Name,
							DomainName: fmt.Sprintf("m%d.example.org.", i), Type: rdata.A, Values: []rdata.Value{v}})
					})
				}
				w.quick = false
			},
			"publish": func(t *rapid.T) {
				z := w.zones[pickObject(t, w.zones)]
				spec, at := z.spec, uint32(z.zone.SettledSerial)
				spec.Publish = &at
				act("publish", func() { _, _ = w.putZone(spec, true) })
			},
			"sign": func(t *rapid.T) {
				var existing []object
				for _, o := range sortedObjects(w.zones) {
					if !w.zones[o].zone.Pending {
						existing = append(existing, o)
					}
				}
				if len(existing) == 0 {
					t.Skip("no zones")
				}
				o := rapid.SampledFrom(existing).Draw(t, "object")
				act("sign", func() { w.signZone(o, slices.Clone(rapid.SampledFrom(someDS).Draw(t, "DS"))) })
			},
			"delete record": func(t *rapid.T) {
				o := pickObject(t, w.records)
				act("delete record", func() { w.deleteRecord(o) })
			},
			"deleting record": func(t *rapid.T) { // with a finalizer
				w.records[pickObject(t, w.records)].record.Terminating = true
			},
			"delete zone": func(t *rapid.T) {
				o := pickObject(t, w.zones)
				act("delete zone", func() { w.deleteZone(o) })
			},
			"delegation": func(t *rapid.T) {
				o, spec := drawDelegation(t)
				if was := w.delegations[o]; was != nil {
					spec.Zone = was.spec.Zone
				}
				act("delegation", func() {
					if _, refusal := w.putDelegation(o, spec); refusal != nil && refusal.Kind != law.Later {
						t.Fatalf("S4.3: a Delegation is refused: %v", refusal)
					}
				})
			},
			"release now": func(t *rapid.T) { // of present objects, with no other change
				var all []object
				for _, o := range sortedObjects(w.delegations) {
					all = append(all, object{Namespace: o.Namespace, Name: "delegation " + o.Name})
				}
				if all = append(all, sortedObjects(w.zones)...); len(all) == 0 {
					t.Skip("no zones")
				}
				o, now := rapid.SampledFrom(all).Draw(t, "object"), drawReleaseNow(t)
				act("release now", func() {
					if name, ok := strings.CutPrefix(o.Name, "delegation "); ok {
						o.Name = name
						spec := w.delegations[o].spec
						spec.ReleaseNow = now
						_, _ = w.putDelegation(o, spec)
						return
					}
					spec := w.zones[o].spec
					spec.ReleaseNow = now
					_, _ = w.putZone(spec, false)
				})
			},
			"delete delegation": func(t *rapid.T) {
				o := pickObject(t, w.delegations)
				act("delete delegation", func() { w.deleteDelegation(o) })
			},
			"terminate": func(t *rapid.T) {
				if len(w.zones) == 0 || rapid.IntRange(0, 2).Draw(t, "rarely") > 0 {
					t.Skip("no zones")
				}
				o := rapid.SampledFrom(sortedObjects(w.zones)).Draw(t, "object")
				spec := w.zones[o].spec
				spec.Terminating = true
				act("terminate", func() {
					z := w.zones[o]
					inUse := w.hasForeign(z.zone) && !z.annotated && !z.spec.Terminating
					if inUse {
						if _, refusal := w.putZone(spec, false); refusal == nil || refusal.Reason != law.ReasonInUse {
							t.Fatalf("S8.1: deleting %s, which has something of others: %v", o, refusal)
						}
						z.annotated = true
					}
					if _, refusal := w.putZone(spec, false); refusal != nil {
						t.Fatalf("S2.4: a deletion is refused: %v", refusal)
					}
				})
			},
			"step": func(t *rapid.T) {
				if len(w.outbox) == 0 {
					t.Skip("nothing owed")
				}
				act("step", func() {
					w.carryOutNext()
				})
			},
			"settle": func(t *rapid.T) { settled() },
			"run": func(t *rapid.T) {
				by := time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour
				act("run", func() { w.passTime(by) })
			},
			"clock": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(-100, 2000).Draw(t, "hours")) * time.Hour)
			},
			"": func(t *rapid.T) { w.now = w.now.Add(time.Second) },
		})
		settled()
		if w.asked > 18 { // a move asks about two zones, and in each about the zones that lose names
			t.Fatalf("a decision took %d rounds of facts", w.asked)
		}
	})
}

// Around a held zone, zones between it and its parent are created and removed, rules change, the zone and its parent
// are renamed and renamed back, and name servers change. The records that the parent counted stay (checkHolds).
func TestHeldChild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		given := map[bool][]rules.Rule{true: allowEverything()}
		zone := func(o object, fqdn string, ref *law.Ref, delegates bool) {
			spec := zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: fqdn, ZoneRef: ref, Header: someHeader,
				ZoneSettings: makeSettings(given[delegates], 3600, 30)}
			_, _ = w.putZone(spec, true)
		}
		record := func(name, owner string, values ...string) {
			r := law.Record{Namespace: "a", Name: name, DomainName: owner, ZoneRef: &law.Ref{Namespace: "a", Name: "child"}}
			for _, text := range values {
				mnemonic, data, _ := strings.Cut(text, " ")
				r.Type, _ = rdata.ParseType(mnemonic)
				r.Values = append(r.Values, mustParse(rdata.Parse(r.Type, data)))
			}
			_, _ = w.putRecord(r)
		}
		remove := func(name string) {
			if w.records[object{"a", name}] != nil {
				w.deleteRecord(object{"a", name})
			}
		}
		relative := &law.Ref{Namespace: "owner", Name: "top"}
		follows := rapid.Bool().Draw(t, "follows")
		child := func(label string) {
			if follows {
				zone(object{"a", "child"}, label+".b.c", relative, true)
			} else {
				zone(object{"a", "child"}, label+".b.c.example.", nil, true)
			}
		}
		zone(object{"owner", "top"}, "example.", nil, true)
		child("x")
		record("ns", "@", "NS ns1", "NS ns2")
		record("ns1", "ns1", "A 192.0.2.1")
		record("ns2", "ns2", "A 192.0.2.2")
		for i := range 11 {
			record(fmt.Sprint("r", i), fmt.Sprint("r", i), "A 192.0.2.3")
		}
		w.settleAll()
		w.now = w.now.Add(time.Hour)
		for i := range 11 {
			remove(fmt.Sprint("r", i))
		}
		if len(w.holds) != 1 {
			t.Fatalf("%d zones are held", len(w.holds))
		}
		act := func(do func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) {
				do(t)
				for _, line := range w.checkAll() {
					t.Fatalf("%s", line)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"rules": act(func(t *rapid.T) {
				for i := range given[true] {
					given[true][i].DS = rapid.Bool().Draw(t, "ds")
				}
				zone(object{"owner", "top"}, rapid.SampledFrom([]string{"example.", "example.", "other."}).Draw(t, "name"), nil,
					rapid.Bool().Draw(t, "delegates"))
			}),
			"between": act(func(t *rapid.T) {
				o := object{"owner", rapid.SampledFrom([]string{"c", "b"}).Draw(t, "zone")}
				if w.zones[o] != nil && rapid.Bool().Draw(t, "goes") {
					w.deleteZone(o)
					return
				}
				zone(o, map[string]string{"c": "c.example.", "b": "b.c.example."}[o.Name], nil, rapid.IntRange(0, 3).Draw(t,
					"delegates") > 0)
			}),
			"cut": act(func(t *rapid.T) { // above the zone, by the owner of the top: an external cut (S3.11)
				r := law.Record{Namespace: "owner", Name: "cut", DomainName: "c.example.", Type: rdata.NS}
				v, _ := rdata.Parse(rdata.NS, "ns.example.net.")
				if r.Values = append(r.Values, v); w.records[object{"owner", "cut"}] != nil {
					w.deleteRecord(object{"owner", "cut"})
					return
				}
				_, _ = w.putRecord(r)
			}),
			"child": act(func(t *rapid.T) { child(rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "name")) }),
			"sign": act(func(t *rapid.T) {
				if w.zones[object{"a", "child"}].zone.Pending {
					t.Skip("it ended")
				}
				w.signZone(object{"a", "child"}, slices.Clone(rapid.SampledFrom(someDS).Draw(t, "DS")))
			}),
			"servers": act(func(t *rapid.T) {
				switch name := rapid.SampledFrom([]string{"ns", "ns1", "ns2"}).Draw(t, "record"); {
				case w.records[object{"a", name}] != nil && rapid.Bool().Draw(t, "goes"):
					remove(name)
				case name == "ns":
					record("ns", "@", rapid.SampledFrom([][]string{{"NS ns1"}, {"NS ns2"}, {"NS ns1", "NS ns2",
						"NS ns.example.net."}}).Draw(t, "hosts")...)
				default:
					record(name, name, "A 192.0.2."+rapid.SampledFrom([]string{"1", "9"}).Draw(t, "address"))
				}
			}),
			"step": act(func(t *rapid.T) {
				if len(w.outbox) > 0 {
					w.carryOutNext()
				}
			}),
			"settle": act(func(t *rapid.T) { w.settleAll() }),
		})
	})
}

func sortedObjects[V any](m map[object]V) []object {
	return slices.SortedFunc(maps.Keys(m), func(x, y object) int { return strings.Compare(x.String(), y.String()) })
}

// pickObject skips the act without an object.
func pickObject[V any](t *rapid.T, from map[object]V) object {
	if len(from) == 0 {
		t.Skip("no object")
	}
	return rapid.SampledFrom(sortedObjects(from)).Draw(t, "object")
}

func drawDelegation(t *rapid.T) (object, zones.DelegationSpec) {
	o := rapid.SampledFrom([]object{{"owner", "one"}, {"owner", "two"}, {"owner", "three"}, {"a", "one"}}).Draw(t, "delegation")
	stand := slices.DeleteFunc(slices.Clone(someZones), func(z object) bool { return z.Namespace != o.Namespace })
	spec := zones.DelegationSpec{Zone: rapid.SampledFrom(stand).Draw(t, "of").Name, ReleaseNow: drawReleaseNow(t)}
	spec.Rule.Namespaces = slices.Clone(rapid.SampledFrom([][]string{{"owner"}, {"a"}, {"b"}, {"a", "b"}}).Draw(t, "to"))
	for range rapid.IntRange(0, 2).Draw(t, "patterns") {
		text := rapid.SampledFrom(somePatterns).Draw(t, "pattern")
		p := mustParse(pattern.Parse(text))
		if rapid.IntRange(0, 2).Draw(t, "for zones") == 0 {
			spec.Rule.Zones, spec.Rule.DS = append(spec.Rule.Zones, p), spec.Rule.DS || rapid.Bool().Draw(t, "ds")
			continue
		}
		spec.Rule.Records = append(spec.Rule.Records, rules.RecordRule{Pattern: p, Text: text,
			Types: rapid.SampledFrom(someTypes).Draw(t, "types")})
	}
	return o, spec
}
