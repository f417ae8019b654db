// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// derivePTR carries out a pending derivation of PTR. p is the reverse zone.
func (w *world) derivePTR(p *zoneObject, d law.Derivation) {
	var owners []name.Rel
	if !d.Owner.IsZero() {
		owners = append(owners, d.Owner)
	} else {
		for k := range w.facts {
			if k.Kind == law.KindAddressed && k.Zone == d.Into.UID && k.Object == d.From.UID {
				owners = append(owners, k.Owner)
			}
		}
		slices.SortFunc(owners, name.Rel.Compare)
	}
	var names []records.AddressedName
	for _, owner := range owners {
		names = append(names, records.AddressedName{From: law.Place{Ref: d.From, View: d.View, FQDN: d.FQDN}, Owner: owner,
			Addresses: w.listAddresses(p.zone, d, owner)})
	}
	for len(names) > 0 {
		into := *p.zone
		ask := records.PTRInput{Zone: &into, Names: names, Now: w.now, By: "user", Payer: d.By, Own: d.Own}
		if d.Owner.IsZero() {
			ask.AllOf = d.From.UID
		}
		done := 0
		out := w.decideAll(func(s *law.Facts) (out law.Outcome) { out, done = records.DecidePTR(s, ask); return out })
		if out.Refusal != nil || done == 0 && len(out.Plan.Writes) == 0 {
			panicInvariant("PTR of %v: %v, %d done", names, out.Refusal, done)
		}
		w.applyPlan(object{into.Namespace, into.Name}, true, out.Plan, nil)
		names = names[done:]
	}
}

func (w *world) listAddresses(into *law.Zone, d law.Derivation, owner name.Rel) (found []records.Address) {
	for _, o := range sortedObjects(w.records) {
		r := w.records[o]
		if r.placed.Zone == nil || r.placed.Zone.UID != d.From.UID || into.Reverse == nil {
			continue
		}
		if at, _ := r.placed.FQDN.Rel(d.FQDN); at == owner {
			found = records.AddAddresses(found, into, &r.record, d.At)
		}
	}
	return found
}

// checkReverse recomputes the names of each address in a reverse zone, and its PTR, from the record objects (S16.1,
// S16.2, S16.3). Which of several own names comes first is a matter of time, so any of them is right.
func (w *world) checkReverse(z *law.Zone, report func(string, ...any)) {
	// 1. The names of each address. A name is a tenant's if none of its Records is own's.
	want := map[name.Rel]map[name.Name]bool{}
	for o, r := range w.records {
		from := w.findForward(z, r)
		if from == nil || r.ownerIn(from).IsWildcard() {
			continue
		}
		for _, v := range r.record.Values {
			owner, ok := w.findPTROwner(z, o.Namespace, v)
			if !ok {
				continue
			}
			if want[owner] == nil {
				want[owner] = map[name.Name]bool{}
			}
			isTenant, isMet := want[owner][r.placed.FQDN]
			want[owner][r.placed.FQDN] = o.Namespace != z.Namespace && (isTenant || !isMet)
		}
	}

	// 2. The stored names, and the PTR of the first or of all.
	for k, v := range w.facts {
		cut, _ := v.(*law.CountedCut)
		if cut == nil || k.Zone != z.UID || !strings.HasPrefix(k.Object, "@") {
			continue
		}
		owner, err := name.RelFromKey(k.Object[1:])
		if err != nil {
			report("S16.1: %s: the key %v", z.FQDN(), k)
			continue
		}
		have := map[name.Name]bool{}
		for _, x := range cut.Names {
			have[x.Name] = x.Tenant
		}
		if !cut.More && !maps.Equal(have, want[owner]) {
			report("S16.1: %s of %s has the names %v, the records give %v", owner, z.FQDN(), have, want[owner])
		}
		delete(want, owner)
		var data []string
		for _, s := range cut.Sets {
			data = append(data, s.Data...)
		}
		switch hidden := w.excludesPTR(z, owner); {
		case hidden != (len(data) == 0):
			report("S16.3: %s of %s has derived PTR %v, hidden by data there: %t", owner, z.FQDN(), data, hidden)
		case hidden:
		case z.Reverse.All != (len(data) == len(have) && len(have) > 1) && len(have) > 1:
			report("S16.2: all %t: %s of %s has %v of %v", z.Reverse.All, owner, z.FQDN(), data, have)
		case !z.Reverse.All && have[name.MustParse(data[0])] && slices.Contains(slices.Collect(maps.Values(have)), false):
			report("S16.2: %s of %s has a tenant's name %v before own's: %v", owner, z.FQDN(), data, have)
		}
	}
	for owner, names := range want {
		report("S16.1: %s of %s has no PTR of %v", owner, z.FQDN(), names)
	}
}

// findForward returns the zone of a record, or nil if the reverse zone z does not follow it.
func (w *world) findForward(z *law.Zone, r *recordObject) *law.Zone {
	in := r.placed.Zone
	if z.Reverse == nil || in == nil || in.Namespace != z.Namespace || !slices.Contains(z.Reverse.Zones, in.Name) {
		return nil
	}
	from := w.zones[object{in.Namespace, in.Name}]
	if from == nil || from.zone.UID != in.UID || from.zone.View != z.View {
		return nil
	}
	return from.zone
}

func (w *world) findPTROwner(z *law.Zone, namespace string, v rdata.Value) (owner name.Rel, ok bool) {
	address, is := law.AddressOf(v)
	isNamed := slices.Contains(z.Reverse.Namespaces, namespace) || len(z.Reverse.Namespaces) == 0 && namespace == z.Namespace
	if !is || !isNamed {
		return owner, false
	}
	for _, p := range z.Reverse.Prefixes {
		ok = ok || p.Contains(address)
	}
	if len(z.Reverse.Prefixes) > 0 && !ok {
		return owner, false
	}
	return name.ReverseIn(name.ReverseAddr(address), z.FQDN())
}

// excludesPTR reports whether the records of a zone at a name, a child zone, or a DNAME above exclude PTR there.
func (w *world) excludesPTR(z *law.Zone, owner name.Rel) bool {
	for e := range w.views[z.UID].Entries() {
		at, _ := e.Name.Rel(z.FQDN())
		if at == owner && (e.Type == rdata.CNAME || e.Type == rdata.NS && !owner.IsApex()) ||
			e.Type == rdata.DNAME && isBelow(owner, at) {
			return true
		}
	}
	for _, r := range w.records {
		if r.placed.Zone != nil && r.placed.Zone.UID == z.UID && r.record.Type == rdata.PTR && r.ownerIn(z) == owner {
			return true
		}
	}
	return false
}

var (
	reverseObject = object{"owner", "reverse"}
	// The first two are forward zones, and the third lies in the second.
	forwardZones = map[string]string{"org": "example.org.", "net": "example.net.", "below": "b.example.net."}
	forwardNames = []string{"www.example.org.", "example.org.", "*.example.org.", "www.example.net.", "h.b.example.net.", "b.example.net."}
	someAddress  = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.17", "198.51.100.1"}
)

func drawReverse(t *rapid.T) *law.Reverse {
	if rapid.IntRange(0, 7).Draw(t, "reverse") == 0 {
		return nil
	}
	r := &law.Reverse{All: rapid.Bool().Draw(t, "all"), Namespaces: slices.Clone(rapid.SampledFrom([][]string{nil, {"owner", "a"},
		{"a", "b"}, {"owner", "a", "b"}}).Draw(t, "namespaces"))}
	for _, object := range slices.Sorted(maps.Keys(forwardZones)) {
		if rapid.IntRange(0, 3).Draw(t, object) > 0 {
			r.Zones = append(r.Zones, object)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "prefixes") == 0 {
		r.Prefixes = append(r.Prefixes, netip.MustParsePrefix("192.0.2.0/28"))
	}
	if len(r.Zones) == 0 {
		return nil
	}
	return r
}

// The test does random acts on zones, the addresses of their records, and a reverse zone with data of its own. After
// each act a checker compares all state, and once all works are done the PTR with those that the records give.
func TestReverse(t *testing.T) {
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
			wrong := w.checkAll()
			if len(w.outbox)+len(w.derivations) == 0 {
				report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
				if z := w.zones[reverseObject]; z != nil && !z.zone.Pending {
					w.checkReverse(z.zone, report)
				}
			}
			if len(wrong) > 0 {
				t.Fatalf("%s: %s", what, strings.Join(wrong, "\n"))
			}
		}
		zone := func(o object, fqdn string, reverse *law.Reverse) {
			settings := makeSettings(allowEverything(), 0, int64(rapid.SampledFrom([]int{0, 30}).Draw(t, "percent")))
			settings.Reverse = reverse
			act("zone "+o.Name, func() {
				_, _ = w.putZone(zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: fqdn, Header: someHeader,
					ZoneSettings: settings}, true)
			})
		}
		forward := func(t *rapid.T) {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(forwardZones))).Draw(t, "forward")
			zone(object{"owner", name}, forwardZones[name], nil)
		}
		put := func(t *rapid.T, r law.Record, values ...string) {
			r.Namespace = rapid.SampledFrom(someNamespaces).Draw(t, "namespace")
			r.Name = fmt.Sprint("r", rapid.IntRange(1, 4).Draw(t, "record"))
			for _, text := range values {
				if v := mustParse(rdata.Parse(r.Type, text)); !slices.Contains(r.Values, v) {
					r.Values = append(r.Values, v)
				}
			}
			act("record", func() {
				if w.records[object{r.Namespace, r.Name}] != nil && rapid.Bool().Draw(t, "anew") {
					w.deleteRecord(object{r.Namespace, r.Name})
				}
				_, _ = w.putRecord(r)
			})
		}
		address := func(t *rapid.T) {
			drawn := func(what string) string { return rapid.SampledFrom(someAddress).Draw(t, what) }
			put(t, law.Record{DomainName: rapid.SampledFrom(forwardNames).Draw(t, "name"), Type: rdata.A}, drawn("first"), drawn("second"))
		}
		forward(t)
		zone(reverseObject, "2.0.192.in-addr.arpa.", drawReverse(t))
		t.Repeat(map[string]func(*rapid.T){
			"forward zone": forward,
			"reverse zone": func(t *rapid.T) { zone(reverseObject, "2.0.192.in-addr.arpa.", drawReverse(t)) },
			"address":      address, "address too": address, "another address": address, // weighted
			"data of the reverse zone": func(t *rapid.T) {
				fields := strings.Fields(rapid.SampledFrom([]string{"1 PTR h.example.", "2 CNAME 1", "1 TXT x", "1 NS ns.example.",
					"@ DNAME h.example."}).Draw(t, "data"))
				kind := mustParse(rdata.ParseType(fields[1]))
				put(t, law.Record{DomainName: fields[0], ZoneRef: &law.Ref{Namespace: "owner", Name: "reverse"}, Type: kind}, fields[2])
			},
			"many": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
					t.Skip("too long")
				}
				ns, at := rapid.SampledFrom(someNamespaces).Draw(t, "namespace"), rapid.SampledFrom(someAddress).Draw(t, "address")
				w.quick = true
				defer func() { w.quick = false }()
				act("many", func() {
					for i := range law.MaxPTRNames + 5 {
						o := object{ns, fmt.Sprint("many", i)}
						if w.records[o] != nil {
							w.deleteRecord(o)
							continue
						}
						_, _ = w.putRecord(law.Record{Namespace: ns, Name: o.Name, DomainName: fmt.Sprintf("m%d.example.org.", i),
							Type: rdata.A, Values: []rdata.Value{mustParse(rdata.Parse(rdata.A, at))}})
					}
				})
			},
			"delete record": func(t *rapid.T) {
				o := pickObject(t, w.records)
				act("delete record", func() { w.deleteRecord(o) })
			},
			"delete zone": func(t *rapid.T) {
				o := pickObject(t, w.zones)
				act("delete zone", func() { w.deleteZone(o) })
			},
			"step": func(t *rapid.T) {
				if len(w.outbox) == 0 {
					t.Skip("nothing owed")
				}
				act("step", func() { w.carryOutNext() })
			},
			"settle": func(t *rapid.T) { act("settle", func() { w.settleAll() }) },
			"":       func(t *rapid.T) { w.now = w.now.Add(time.Second) },
		})
		act("settle", func() { w.settleAll() })
		if wrong := w.checkSettled(); len(wrong) > 0 {
			t.Fatalf("%s", strings.Join(wrong, "\n"))
		}
	})
}
