// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// checkAll recomputes every stored fact from the objects by brute force, and returns the differences.
func (w *world) checkAll() []string {
	var wrong []string
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	existing := map[string]*law.Zone{}
	for _, z := range w.zones {
		if !z.zone.Pending {
			existing[z.zone.UID] = z.zone
		}
	}
	for o, z := range w.zones {
		if !z.zone.Pending {
			w.checkZone(o, z, existing, report)
		}
	}
	for k, v := range w.facts {
		switch k.Kind {
		case law.KindHolding:
			h := v.(*law.Holding)
			z := existing[h.UID]
			if z == nil || z.View != k.View || z.FQDN() != k.Name {
				report("S1.5: %s is held by zone %s, which does not stand there", k.Name, h.Ref.UID)
			}
		case law.KindLastSerial:
		case law.KindReverseLinks:
			for _, link := range v.(*law.ReverseLinks).List {
				if z := existing[link.UID]; z == nil || z.Reverse == nil || !slices.Contains(z.Reverse.Zones, k.Object) {
					report("S16.1: %s/%s has a link of %s, which does not name it", k.Namespace, k.Object, link.FQDN)
				}
			}
		case law.KindDue:
			r := w.records[object{k.Namespace, k.Object}]
			if r == nil || r.dueAt() != k.At || r.record.UID != v.(*law.Due).UID {
				report("S15.3: the due key %v is of no record", k)
			}
		case law.KindWithdrawal:
			if existing[k.Object] == nil && !slices.ContainsFunc(w.outbox, func(x *law.Work) bool { return x.Purge == k.Object }) {
				report("zone %s is gone and its key %v is not", k.Object, k)
			}
		default:
			if existing[k.Zone] == nil && !slices.ContainsFunc(w.outbox, func(x *law.Work) bool { return x.Purge == k.Zone }) {
				report("zone %s is gone and its key %v is not", k.Zone, k)
			}
		}
	}
	w.checkHolds(report)
	w.checkDelegations(existing, report)
	want := map[waitKey]bool{}
	for o, r := range w.records {
		if (r.placed.Zone == nil) != (r.waits != nil) {
			report("record %s: adopted and waiting, or neither", o)
		}
		for _, k := range waitKeys(r.waits, o, false) {
			want[k] = true
		}
		if at := r.dueAt(); at != 0 && w.facts[law.DueKey(at, o.Namespace, o.Name)] == nil {
			report("S15.3: record %s has no due key", o)
		}
		if r.placed.Zone != nil && existing[r.placed.Zone.UID] == nil && len(w.outbox) == 0 {
			report("S2.5: record %s stands in zone %s, which is gone", o, r.placed.Zone.UID)
		}
	}
	for o, z := range w.zones {
		if z.zone.Pending != (z.waits != nil) {
			report("zone %s: pending and not waiting, or the other way", o)
		}
		for _, k := range waitKeys(z.waits, o, true) {
			want[k] = true
		}
	}
	if !maps.Equal(want, w.waiting) {
		report("waiting: keys %v, objects %v", w.waiting, want)
	}
	for uid := range w.views {
		if existing[uid] == nil && len(w.outbox) == 0 {
			report("a journal of the gone zone %s", uid)
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (w *world) checkZone(o object, zo *zoneObject, existing map[string]*law.Zone, report func(string, ...any)) {
	z := zo.zone
	h := w.holdingOf(z)
	if h == nil || h.UID != z.UID {
		report("S1.5: zone %s stands at %s and does not hold it", o, z.FQDN())
		return
	}
	if withdrawn := zo.delegated.Reason == law.ReasonDelegationWithdrawn; withdrawn != (h.Withdrawn != "") {
		report("S3.5: zone %s is %s, and its holding says %+v", o, zo.delegated.Reason, h.Withdrawn)
	}
	if len(w.outbox) == 0 {
		w.checkAbove(o, z, h, existing, report)
	}
	rrsets := 0
	for k, v := range w.facts {
		if k.Kind == law.KindOwner && k.Zone == z.UID {
			rrsets += v.(*law.Owner).RRsets()
		}
	}
	if z.RRsets != rrsets {
		report("S7.5: zone %s says that it has %d RRsets, and has %d", o, z.RRsets, rrsets)
	}
	w.checkDeletions(o, z, h, report)
	owners, counts, members := map[name.Rel]*law.Owner{}, map[string]int64{}, map[law.Key]bool{}
	claims, owns, pointers := map[name.Rel][]law.Claim{}, map[name.Rel]int{}, map[name.Rel]int{}
	for ro, r := range w.records {
		if r.placed.Zone == nil || r.placed.Zone.UID != z.UID {
			continue
		}
		owner := r.ownerIn(z)
		if n, _ := owner.In(z.FQDN()); n != r.placed.FQDN && len(w.outbox) == 0 {
			report("S8.4: record %s says it is %s and is %s", ro, r.placed.FQDN, n)
		}
		key := law.MemberKey(z.UID, owner, ro.Namespace, ro.Name)
		members[key] = true
		m, _ := w.facts[key].(*law.Member)
		if m == nil {
			report("record %s is in %s and no member", ro, z.FQDN())
			continue
		}
		if m.UID != r.record.UID || m.Created != r.record.Created {
			report("member %v is not its record's: %+v", key, m)
		}
		a := r.placed.Admission
		if ro.Namespace == z.Namespace && a != rules.AdmittedPlain && a != rules.AdmittedUnderscore {
			report("S4.9: %s is the zone's own and admitted %s", ro, a)
		}
		counts[ro.Namespace]++
		base := rules.Base(owner)
		if a != rules.AdmittedUnderscore || ro.Namespace == z.Namespace {
			claims[base] = countClaim(claims[base], ro.Namespace, a)
		}
		if base.IsApex() && ro.Namespace != z.Namespace && (a == rules.AdmittedPlain || a == rules.AdmittedLiteral) {
			report("S4.10: %s claims the apex of %s", ro, z.FQDN())
		}
		if ro.Namespace == z.Namespace && a == rules.AdmittedUnderscore {
			owns[name.MustRel(strings.TrimPrefix(owner.String(), "*."))]++
		}
		if ro.Namespace == z.Namespace {
			for n := range pointedBy(&r.record, z.FQDN()) {
				pointers[n]++
			}
		}
		at := owners[owner]
		if at == nil {
			at = &law.Owner{}
			owners[owner] = at
		}
		for _, v := range r.record.Values {
			i := slices.IndexFunc(at.Values, func(x law.OwnerValue) bool {
				return x.Type == r.record.Type && x.Digest == law.DigestOf(v.Text) &&
					writeFingerprint(x.TTL) == writeFingerprint(r.record.TTL)
			})
			if i < 0 {
				i = len(at.Values)
				at.Values = append(at.Values, law.OwnerValue{Type: r.record.Type, Digest: law.DigestOf(v.Text), TTL: r.record.TTL})
			}
			at.Values[i].Count++
			if a == rules.AdmittedUnderscore && ro.Namespace != z.Namespace {
				at.Values[i].Guests++
			}
		}
	}
	for k, v := range w.facts {
		if k.Zone != z.UID {
			continue
		}
		switch fact := v.(type) {
		case *law.Owner:
			slices.SortFunc(claims[k.Owner], func(x, y law.Claim) int { return strings.Compare(x.Namespace, y.Namespace) })
			if !slices.Equal(fact.Claims, claims[k.Owner]) {
				report("S4.7: %s: the claims of %s are %v, its records give %v", z.FQDN(), k.Owner, fact.Claims, claims[k.Owner])
			}
			delete(claims, k.Owner)
			if fact.Own != owns[k.Owner] {
				report("S4.14: %s: own has %d records at %s, its owner says %d", z.FQDN(), owns[k.Owner], k.Owner, fact.Own)
			}
			delete(owns, k.Owner)
			if fact.Pointers != pointers[k.Owner] {
				report("S4.26: %s: own has %d records that point to %s, its owner says %d", z.FQDN(), pointers[k.Owner], k.Owner,
					fact.Pointers)
			}
			delete(pointers, k.Owner)
			if fact.Fact() == nil {
				report("%s: an empty owner %s", z.FQDN(), k.Owner)
			}
			is := map[string][2]int{}
			for _, x := range fact.Values {
				is[ownerValue(x)] = [2]int{x.Count, x.Guests}
			}
			was := map[string][2]int{}
			if at := owners[k.Owner]; at != nil {
				for _, x := range at.Values {
					was[ownerValue(x)] = [2]int{x.Count, x.Guests}
				}
			}
			if !maps.Equal(is, was) {
				report("%s: owner %s has %v, its records give %v", z.FQDN(), k.Owner, is, was)
			}
			delete(owners, k.Owner)
			cut := 0
			for _, x := range fact.Cut {
				cut += x.Count
			}
			if want := w.cutValues(z.UID, k.Owner); cut != want {
				report("%s: owner %s has %d values of cuts, they give %d", z.FQDN(), k.Owner, cut, want)
			}
		case *law.Count:
			if fact.Records != counts[k.Namespace] {
				report("%s: %d records of %s, counted %d", z.FQDN(), counts[k.Namespace], k.Namespace, fact.Records)
			}
			delete(counts, k.Namespace)
		case *law.Member:
			if !members[k] {
				report("%s: member %v without a record", z.FQDN(), k)
			}
		}
	}
	if len(owners)+len(claims)+len(owns)+len(pointers)+len(counts) > 0 {
		report("%s: facts are missing for %v %v %v %v %v", z.FQDN(), owners, claims, owns, pointers, counts)
	}
	w.checkContent(z, h, report)
}

func pointedBy(r *law.Record, zone name.Name) map[name.Rel]bool {
	bases := map[name.Rel]bool{}
	if !strings.Contains(" CNAME MX NS SRV SVCB HTTPS ", " "+r.Type.String()+" ") {
		return bases
	}
	for _, v := range r.Values {
		n, _ := name.ParseIn(v.Host(), zone)
		if rel, in := n.Rel(zone); in && len(bases) < 8 {
			bases[rules.Base(rel)] = true
		}
		delete(bases, name.Apex)
	}
	return bases
}

func countClaim(claims []law.Claim, ns string, a rules.Admission) []law.Claim {
	i := slices.IndexFunc(claims, func(c law.Claim) bool { return c.Namespace == ns })
	if i < 0 {
		i, claims = len(claims), append(claims, law.Claim{Namespace: ns})
	}
	switch a {
	case rules.AdmittedUnderscore:
		claims[i].Underscore++
	case rules.AdmittedShared:
		claims[i].Shared++
	case rules.AdmittedLiteral:
		claims[i].Literal++
	default:
		claims[i].Plain++
	}
	return claims
}

// checkDeletions checks holds (S7.5 and S7.6) and the range of all counters.
func (w *world) checkDeletions(o object, z *law.Zone, h *law.Holding, report func(string, ...any)) {
	for _, s := range z.Deletions.LeastStocks {
		if s.RRsets < 0 {
			report("S7.5: zone %s had %d RRsets", o, s.RRsets)
		}
	}
	if most := z.Deletions.PeakStock; most != nil && (most.RRsets < 0 || most.Own < z.Deletions.Own) {
		report("S7.5: zone %s had %+v at most, and has %d", o, *most, z.Deletions.Own)
	}
	if h.Held == nil {
		return
	}
	e := z.ExcessOf(h.Held)
	tooMany := e.Removed*100 > e.RRsets*int(z.MaxDeletePercent) && e.Removed > 0 && h.Held.Had.RRsets >= 10
	if lost := h.Held.NameServers && len(z.Header.NameServers) == 0; !tooMany && !lost || z.MaxDeletePercent >= 100 {
		report("S7.5: zone %s is held for %+v", o, *e)
	}
	if h.Held.Serial != z.SettledSerial {
		report("S7.5: zone %s is held at serial %d, and %d is settled", o, h.Held.Serial, z.SettledSerial)
	}
}

// checkAbove checks that the nearest zone above decides, and whether the zone was established.
func (w *world) checkAbove(o object, z *law.Zone, h *law.Holding, existing map[string]*law.Zone, report func(string, ...any)) {
	var enclosing *law.Holding
	if up, ok := z.FQDN().Parent(); ok {
		enclosing = w.findEnclosing(z.View, up)
	}
	if (h.Enclosed == "") != (enclosing == nil) || enclosing != nil && h.Enclosed != enclosing.UID {
		report("S3.4: zone %s says that it is enclosed by %q", o, h.Enclosed)
	}
	if enclosing != nil && w.isBeingDeleted(&enclosing.Ref) {
		return
	}
	var parent, withdrawn string
	if enclosing != nil {
		p := w.uniteRules(existing[enclosing.UID])
		delegates := slices.ContainsFunc(p.Rules, func(r rules.Rule) bool {
			return (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, o.Namespace)) &&
				slices.ContainsFunc(r.Zones, func(x pattern.Pattern) bool { return givesZone(p, x, z.FQDN(), o.Namespace) })
		})
		switch {
		case delegates:
			parent = enclosing.UID
		case !h.Established:
			parent, withdrawn = enclosing.UID, enclosing.UID
		}
	}
	if h.Withdrawn != withdrawn || (h.Parent == nil) != (parent == "") || h.Parent != nil && h.Parent.UID != parent {
		report("S3.5: zone %s says parent %s, withdrawn %q, and it is %q, %q", o, writeFingerprint(h.Parent), h.Withdrawn, parent,
			withdrawn)
	}
	if h.Withdrawn != "" && w.facts[law.WithdrawalKey(h.Withdrawn, o.Namespace)] == nil {
		report("S3.5: zone %s is withdrawn, and no period runs", o)
	}
}

func (w *world) cutValues(parent string, owner name.Rel) int {
	n := 0
	for k, v := range w.facts {
		if k.Kind != law.KindCut {
			continue
		}
		for _, s := range v.(*law.CountedCut).Sets {
			if k.Zone == parent && s.Owner == owner {
				n += len(s.Data)
			}
		}
	}
	return n
}

func ownerValue(x law.OwnerValue) string {
	return fmt.Sprintf("%s %x %s", x.Type, x.Digest[:4], writeFingerprint(x.TTL))
}

// checkContent recomputes the content of a zone, and compares its state, rows and journal and the rules of S5.6.
func (w *world) checkContent(z *law.Zone, h *law.Holding, report func(string, ...any)) {
	sets := w.listRRsets(z)
	var apexNS []string
	for _, s := range sets {
		if s.Owner.IsApex() && s.Type == rdata.NS {
			apexNS = s.Data
		}
	}
	apexHosts := map[string]int{} // S6.2
	for o, r := range w.records {
		if t := r.record.Type; o.Namespace != z.Namespace || r.placed.Zone == nil || r.placed.Zone.UID != z.UID || !r.ownerIn(z).IsApex() ||
			t != rdata.MX && t != rdata.SVCB && t != rdata.HTTPS {
			continue
		}
		for _, v := range r.record.Values {
			apexHosts[strings.Fields(v.Text)[1]]++
		}
	}
	if !maps.Equal(apexHosts, h.ApexHosts) {
		report("%s: the apex names hosts %v, the holding says %v", z.FQDN(), apexHosts, h.ApexHosts)
	}
	if !slices.Equal(apexNS, h.ApexNS) {
		report("%s: apex NS %v, the holding says %v", z.FQDN(), apexNS, h.ApexNS)
	}
	all := slices.Clone(sets)
	for k, v := range w.facts {
		cut, _ := v.(*law.CountedCut)
		if k.Kind != law.KindCut || k.Zone != z.UID {
			continue
		}
		for _, s := range cut.Sets {
			all = mergeRRset(all, s)
		}
		if h := w.heldChild(k.Object); h != nil && h.CountedBy(z) && h.KeepsCut(cut) {
			continue
		}
		if strings.HasPrefix(k.Object, "@") {
			continue // checkReverse
		}
		if got, want := w.derivedDS(z, k.Object, cut); !slices.Equal(got, want) {
			report("S6.16: %s contains DS %q of a child that has %q", z.FQDN(), got, want)
		}
		if writeFingerprint(w.countOf(z, k.Object)) != writeFingerprint(cut) {
			report("S6.1: %s counts %s for a child that has %s", z.FQDN(), writeFingerprint(cut), writeFingerprint(w.countOf(z, k.Object)))
		}
	}
	for _, c := range w.zones {
		ref := c.zone.Ref
		if w.readCountedCut(z.UID, ref.UID) == nil && w.countChild(z, ref) != nil {
			report("S6.1: %s does not count its child %s", z.FQDN(), c.zone.FQDN())
		}
	}
	slices.SortFunc(all, content.RRset.Compare)
	var elements []sethash.Element
	rows := 0
	for _, s := range all {
		elements = s.Elements(elements)
		rows += len(s.Data)
	}
	state, err := sethash.State{}.Update(nil, elements)
	if err != nil {
		report("%s: %v", z.FQDN(), err)
	}
	if state != sethash.State(z.State) || rows != z.Rows {
		report("S6.7: %s has state %s of %d rows, its records give %s of %d", z.FQDN(), sethash.State(z.State), z.Rows, state, rows)
	}
	rebuilt := zoneview.NewSnapshot(zoneview.Zone{UID: z.UID, View: z.View, Namespace: z.Namespace, Name: z.Name}, z.Header,
		z.Serial, z.N, state, slices.Values(all))
	view := w.views[z.UID]
	if view == nil {
		report("%s: no journal", z.FQDN())
		return
	}
	if view.Hash() != rebuilt.Hash() || view.Serial() != rebuilt.Serial() || view.Len() != rebuilt.Len() || view.N() != rebuilt.N() {
		report("%s: the journal leads to %s serial %d, the records to %s serial %d", z.FQDN(), view.Hash(), view.Serial(),
			rebuilt.Hash(), rebuilt.Serial())
	}
	if err := view.Prove(); err != nil {
		report("%v", err)
	}
	if h.Settled() {
		w.checkLoadable(view, report)
	}
}

// checkHolds checks that a parent keeps the counted records of a held zone.
func (w *world) checkHolds(report func(string, ...any)) {
	for _, z := range w.zones {
		hold := w.holds[z.zone.UID]
		if hold == nil || z.zone.Pending {
			continue
		}
		h, counted, parent := w.holdingOf(z.zone), "", ""
		if h.Held == nil {
			report("S7.5: zone %s was held, and no transaction has ended that", z.zone.FQDN())
			continue
		}
		if h.Parent != nil {
			if c := w.readCountedCut(h.Parent.UID, h.UID); c != nil {
				parent, counted = h.Parent.UID, writeFingerprint(c)
			}
			if hold.parent == h.Parent.UID && hold.counted != counted {
				report("S6.1: the parent counted %s for the held zone %s, and counts %s now", hold.counted, z.zone.FQDN(), counted)
			}
		}
		hold.parent, hold.counted = parent, counted
	}
}

// derivedDS returns the DS in a parent's cut, and the child's DS for it (S6.16).
func (w *world) derivedDS(parent *law.Zone, child string, cut *law.CountedCut) (got, want []string) {
	servers := false
	for _, s := range cut.Sets {
		switch servers = servers || s.Type == rdata.NS; s.Type {
		case rdata.DS:
			got = s.Data
		}
	}
	for _, c := range w.zones {
		if c.zone.UID != child || c.zone.Pending {
			continue
		}
		if h := w.findExisting(c.zone.Ref); h != nil && h.CountedBy(parent) && h.DS && servers {
			want = c.zone.DS
		}
		return got, want
	}
	return nil, nil // its cascade decides
}

func (w *world) heldChild(uid string) *law.Holding {
	for _, c := range w.zones {
		if h := w.findExisting(c.zone.Ref); c.zone.UID == uid && h != nil && h.Held != nil {
			return h
		}
	}
	return nil
}

func (w *world) countOf(parent *law.Zone, child string) *law.CountedCut {
	for _, c := range w.zones {
		if c.zone.UID == child {
			return w.countChild(parent, c.zone.Ref)
		}
	}
	return nil
}

// checkLoadable checks, as far as owners show, that BIND, Knot, NSD and PowerDNS have no reason to refuse the zone
// (S5.11).
func (w *world) checkLoadable(view *zoneview.Snapshot, report func(string, ...any)) {
	types := map[name.Name]map[rdata.Type]int{}
	seen := map[string]bool{}
	for e := range view.Entries() {
		if types[e.Name] == nil {
			types[e.Name] = map[rdata.Type]int{}
		}
		types[e.Name][e.Type]++
		if seen[e.String()] {
			report("S6.1: %s twice", e)
		}
		seen[e.String()] = true
	}
	for n, at := range types {
		apex := n == view.FQDN()
		if at[rdata.CNAME] > 0 && (len(at) > 1 || at[rdata.CNAME] > 1 || apex) {
			report("S5.6: %s has a CNAME and %v", n, at)
		}
		if at[rdata.DNAME] > 1 || at[rdata.DNAME] > 0 && at[rdata.NS] > 0 && !apex || at[rdata.DS] > 0 && apex || n.IsWildcard() &&
			at[rdata.NS]+at[rdata.DNAME] > 0 {
			report("S5.6: %s has %v", n, at)
		}
		for t, count := range at {
			if count > rdata.MaxValues {
				report("S5.8: %s has %d %s", n, count, t)
			}
		}
		for up, ok := n.Parent(); ok && view.FQDN().Encloses(up); up, ok = up.Parent() {
			if types[up][rdata.DNAME] > 0 {
				report("S5.6: %s lies below the DNAME at %s", n, up)
			}
		}
	}
}

// checkSettled checks that no further decision changes anything if no works are pending (S2.3, S2.5, S2.7, S3.4–S3.11,
// S7.2).
func (w *world) checkSettled() []string {
	var wrong []string
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if len(w.outbox)+len(w.derivations) > 0 {
		return []string{"something is owed still"}
	}
	for o, r := range w.records {
		ask := w.askAgain(o, nil)
		out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
		if out.Refusal != nil {
			report("deciding record %s anew is refused: %v", o, out.Refusal)
			continue
		}
		p := out.Plan.Record
		if in := r.placed.Zone; in != nil && p.Reason == law.ReasonDelegationWithdrawn && w.isBeingDeleted(in) {
			continue
		}
		if p.Zone == nil && r.placed.Zone == nil && w.isBeingDeleted(r.record.ZoneRef) {
			continue // the Delegations also decide whether the namespace knows the zone
		}
		if writeFingerprint(p.Zone) != writeFingerprint(r.placed.Zone) || p.FQDN != r.placed.FQDN || p.Reason != r.placed.Reason &&
			p.Zone != nil {
			report("record %s was forgotten: it is %s, decided anew it is %s", o, describePlacement(&r.placed), describePlacement(p))
		}
	}
	for o, z := range w.zones {
		if z.zone.Pending {
			if z.zone.Ending {
				report("S3.5: zone %s ended, and that is not through", o)
			}
			if !z.spec.Terminating {
				if out := w.decideAgain(z); !out.Plan.Zone.Zone.Pending {
					report("pending zone %s was forgotten", o)
				}
			}
			continue
		}
		if h := w.holdingOf(z.zone); w.isBeingDeleted(h.Parent) {
			continue
		} else if h.Parent != nil {
			p := w.uniteRules(w.zones[object{h.Parent.Namespace, h.Parent.Name}].zone)
			ds := slices.ContainsFunc(p.Rules, func(r rules.Rule) bool {
				return r.DS && (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, o.Namespace)) &&
					slices.ContainsFunc(r.Zones, func(x pattern.Pattern) bool { return givesZone(p, x, z.zone.FQDN(), o.Namespace) })
			})
			if ds != h.DS && h.Withdrawn == "" {
				report("S6.16: a rule for zone %s says ds: %t, and its holding %t", o, ds, h.DS)
			}
		}
		if h := w.holdingOf(z.zone); len(h.Works) > 0 {
			report("S7.2: zone %s has marks of cascades that are through: %v", o, h.Works)
		}
		if out := w.decideParent(nil, z); out.Plan.Zone != nil && len(out.Plan.Writes) > 0 {
			report("zone %s was forgotten: decided anew it is %+v", o, *out.Plan.Zone.Delegated)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// isBeingDeleted reports whether the zone has a deletionTimestamp. From then on, changes of its Delegations cause no
// new decisions, so objects and their status may be outdated.
func (w *world) isBeingDeleted(zone *law.Ref) bool {
	if zone == nil {
		return false
	}
	z := w.zones[object{zone.Namespace, zone.Name}]
	return z != nil && z.spec.Terminating
}

func describePlacement(p *law.Placement) string {
	if p.Zone == nil {
		return fmt.Sprintf("not adopted: %s: %s", p.Reason, p.Message)
	}
	text := fmt.Sprintf("adopted %s by zone %s/%s", p.FQDN, p.Zone.Namespace, p.Zone.Name)
	if p.EndsAt != 0 {
		text += fmt.Sprintf(", %s until %s", p.Reason, time.Unix(p.EndsAt, 0).UTC().Format(time.RFC3339))
	}
	return text
}
