// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"math"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// claim says which namespace a base name belongs to (S4.6).
type claim struct {
	// namespace is "" where the name belongs to none.
	namespace string
	// yields: no record at the name holds it, so a rule that names it literally comes first (S4.7).
	yields bool
	// wild is the name right above the wildcard that holds it; zero: no wildcard does.
	wild name.Rel
}

// claimant is the record that asks for a name.
type claimant struct {
	uid, namespace string
	cascade        bool
}

// claim finds the namespace that a base name of the zone belongs to. The first of
// these that is there has it:
//
//  1. the zone's own namespace: at the apex and at the zone's own name servers (S6.2);
//  2. the holder of the name (S4.6);
//  3. the namespace of a record on its way there (S2.6);
//  4. while a cascade brings records here, the holder in the zone they leave (S2.7);
//  5. the zone's own namespace, where a shared rule lists the name;
//  6. the namespace of the wildcard that synthesises it;
//  7. the zone's own namespace, where its apex names it.
//
// false: facts are needed.
func (r *reading) claim(z *Zone, holding *Holding, base name.Rel, by claimant) (claim, bool) {
	if base.IsApex() || slices.Contains(z.MadeNames, base) {
		return claim{namespace: z.Namespace}, true
	}
	if x := holding.reservation(by.uid); x != nil && x.Admission == AdmittedPlain && Base(x.Owner) == base {
		return claim{namespace: by.namespace}, true // it was reserved first
	}
	h, known := get[Holders](r, HoldersKey(z.UID, base))
	if !known {
		return claim{}, false
	}
	first := h.Holder()
	if first == "" {
		first = holding.expected(base, by.namespace)
	}
	if first == "" && !by.cascade && holding.gaining() {
		if at, err := base.In(z.FQDN()); err == nil {
			if first, known = r.heldElsewhere(holding, z.View, at, by.namespace); !known {
				return claim{}, false
			}
		}
	}
	if first != "" {
		return claim{namespace: first}, true
	}
	if z.listsShared(base) {
		return claim{namespace: z.Namespace, yields: true}, true
	}
	if c, known := r.synthesised(z, holding, base, by); !known || c.namespace != "" {
		return c, known
	}
	if slices.Contains(holding.named(z), base) {
		return claim{namespace: z.Namespace, yields: true}, true
	}
	return claim{}, true
}

// synthesised is the claim of the nearest wildcard above a base name that no
// record holds, where it is of another namespace than the zone's own. It ends at
// names that another namespace holds: they exist, so it synthesises nothing at or
// below them (RFC 4592 §2.2.1). Records that never hold do not end it, nor do names
// of its own namespace: a challenge for a name must not open it to others.
func (r *reading) synthesised(z *Zone, holding *Holding, base name.Rel, by claimant) (claim, bool) {
	known := true
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		_, at := get[Owner](r, OwnerKey(z.UID, up)) // all of them, in one round
		known = known && at
	}
	if !known {
		return claim{}, false
	}
	var elsewhere map[name.Rel]string
	if !by.cascade && holding.gaining() {
		if elsewhere, known = r.wildElsewhere(z, holding, base); !known {
			return claim{}, false
		}
	}
	below := base
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		o, _ := get[Owner](r, OwnerKey(z.UID, up))
		ns := o.wild()
		if ns == "" {
			ns = holding.expectedWild(up, z.Namespace)
		}
		if ns == "" {
			ns = elsewhere[up]
		}
		if ns == "" {
			below = up
			continue
		}
		if ns == by.namespace {
			return claim{namespace: ns, yields: true, wild: up}, true // whether it ends or not, no other namespace is in its way
		}
		ends, known := r.heldByOthers(z, holding, below, ns)
		if !known || ends {
			return claim{}, known
		}
		return claim{namespace: ns, yields: true, wild: up}, true
	}
	return claim{}, true
}

// heldByOthers reports whether a namespace other than ns holds n or a name below it.
func (r *reading) heldByOthers(z *Zone, holding *Holding, n name.Rel, ns string) (others, known bool) {
	if !r.all([]Key{HoldersKey(z.UID, n), HeldBelowKey(z.UID, n)}) {
		return false, false
	}
	at, _ := get[Holders](r, HoldersKey(z.UID, n))
	below, _ := get[HeldBelow](r, HeldBelowKey(z.UID, n))
	if first := at.Holder(); first != "" && first != ns || z.serves(n) {
		return true, true
	}
	return below != nil && slices.ContainsFunc(below.Holders, func(h Holder) bool { return h.Namespace != ns }) ||
		slices.ContainsFunc(holding.Reserved, func(x Reservation) bool {
			return x.Namespace != ns && x.Admission == AdmittedPlain && encloses(n, Base(x.Owner))
		}), true
}

// gaining: a standing cascade brings records here.
func (h *Holding) gaining() bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Losing != "" })
}

// wildElsewhere maps names above base to the namespace of the wildcard right below
// them that a standing cascade brings here or has taken from where it was (S2.7),
// without those of the zone's own namespace.
func (r *reading) wildElsewhere(z *Zone, holding *Holding, base name.Rel) (map[name.Rel]string, bool) {
	var ups []name.Rel
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		ups = append(ups, up)
	}
	type place struct {
		up             name.Rel
		owner, holders Key
	}
	var there []place
	var ks []Key
	for _, w := range holding.Works {
		for _, up := range ups {
			at, err := up.In(z.FQDN())
			if err != nil || w.Losing == "" {
				continue
			}
			if rel, ok := at.Rel(w.LosingFQDN); ok {
				p := place{up, OwnerKey(w.Losing, wildcardBelow(rel)), HoldersKey(w.Losing, rel)}
				there, ks = append(there, p), append(ks, p.owner, p.holders)
			}
		}
	}
	arriving := map[name.Rel]Key{}
	for _, up := range ups {
		if at, err := wildcardBelow(up).In(z.FQDN()); err == nil {
			arriving[up] = Key{Kind: KindArriving, View: z.View, Name: at}
			ks = append(ks, arriving[up])
		}
	}
	if !r.all(ks) {
		return nil, false
	}
	out := map[name.Rel]string{}
	put := func(up name.Rel, ns string) {
		if out[up] == "" && ns != z.Namespace {
			out[up] = ns
		}
	}
	for _, p := range there {
		o, _ := get[Owner](r, p.owner)
		h, _ := get[Holders](r, p.holders)
		if o != nil && len(o.Values) > 0 {
			put(p.up, h.Holder())
		}
	}
	for _, up := range ups {
		k, ok := arriving[up]
		if !ok {
			continue
		}
		if coming, _ := get[Arriving](r, k); coming != nil {
			for _, a := range coming.Records {
				put(up, a.Namespace)
			}
		}
	}
	return out, true
}

// wildcardBelow is the wildcard owner right below a name.
func wildcardBelow(n name.Rel) name.Rel {
	text := "*"
	if !n.IsApex() {
		text = "*." + n.String()
	}
	out, _ := name.ParseRel(text) // too long for any zone: nothing stands there
	return out
}

// expectedWild is the namespace, other than own, for which the wildcard right
// below a name is reserved, "" for none.
func (h *Holding) expectedWild(n name.Rel, own string) string {
	for _, r := range h.Reserved {
		if r.Admission == AdmittedPlain && r.Namespace != own && r.Owner == wildcardBelow(n) {
			return r.Namespace
		}
	}
	return ""
}

// HoldsBelow reports whether a record of ns, admitted so, in a zone of the namespace
// own counts in Owner.Wild of the name right above it.
func HoldsBelow(own, ns string, a Admission, owner name.Rel) (up name.Rel, ok bool) {
	if a != AdmittedPlain || ns == own || !isWildcard(owner) {
		return name.Rel{}, false
	}
	up, ok = owner.Parent()
	return up, ok && up == Base(owner)
}

// named are the hosts below the apex that NS, MX, SVCB and HTTPS records of the apex
// name: they answer for the zone, get its mail, or serve at its name (S6.2).
func (h *Holding) named(z *Zone) []name.Rel {
	var out []name.Rel
	for _, text := range slices.Concat(h.ApexNS, h.ApexHosts) {
		if n, err := name.ParseIn(text, z.FQDN()); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok && !rel.IsApex() && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// NamesHosts: records of the type at the apex make the hosts that they name the zone's (S6.2).
func NamesHosts(t rdata.Type) bool {
	return t == rdata.NS || t == rdata.MX || t == rdata.SVCB || t == rdata.HTTPS
}

// unnamed are the hosts that the apex names by h and does no longer by after.
func (h *Holding) unnamed(z *Zone, after *Holding) []name.Rel {
	if h == after {
		return nil
	}
	still := after.named(z)
	return slices.DeleteFunc(h.named(z), func(host name.Rel) bool { return slices.Contains(still, host) })
}

// speaksBelow reports whether data of a type at owner is taken for the names below
// its base, too. CAA is looked up by climbing (RFC 8659), and so are policies like
// DMARC's; a challenge right above a name is answered for a certificate of its
// wildcard. A CNAME stands for the CAA and for such a TXT, an NS or a DNAME has another
// server answer them, and a wildcard stands for every underscore name.
func speaksBelow(owner name.Rel, t rdata.Type) bool {
	if owner == Base(owner) {
		return t == rdata.CAA || t == rdata.CNAME
	}
	return t == rdata.TXT || t == rdata.CNAME || t == rdata.NS || t == rdata.DNAME
}

// speaksForOthers refuses a namespace other than the zone's own what would be
// taken for names below that another one holds, unless it held the base name
// before them (S4.7); and a wildcard that would answer for a host that the zone or
// its apex names. A cascade does not ask it of what stands.
func (d *recordDecision) speaksForOthers(z *Zone, holding *Holding, p *place, come *Contribution) *Refusal {
	ns, base := d.ask.Namespace, Base(come.Owner)
	if d.stands(z, come) {
		return nil
	}
	if isWildcard(come.Owner) && wildcardBelow(base) == come.Owner {
		hosts, known := d.hostsBelow(z, holding, ns, strictlyBelow(base))
		if known && hosts {
			return forbidden(ReasonNameHeld, "the wildcard %s would answer for a host that zone %s or its apex names, which is the zone's own namespace's (S6.2; that namespace can write it, or add a delegation with the pattern %q)", p.fqdn, z.FQDN(), come.Owner)
		}
	}
	if !speaksBelow(come.Owner, come.Type) {
		return nil
	}
	others, stands, known := d.othersBelow(z, holding, base, claimant{d.ask.UID, ns, d.ask.Cascade})
	if !known || !others {
		return nil
	}
	d.standsBelow = stands
	hint := "its owner can write it"
	if come.Owner != base {
		hint += ", or add a delegation that names the underscore label or the wildcard literally"
	}
	return forbidden(ReasonNameHeld, "%s at %s would be taken for names below it that another namespace holds in zone %s (S4.7; %s)", come.Type, p.fqdn, z.FQDN(), hint)
}

func strictlyBelow(base name.Rel) func(name.Rel) bool {
	return func(n name.Rel) bool { return n != base && encloses(base, n) }
}

// othersBelow reports whether another namespace holds a name strictly below base that
// the claimant did not hold before (S4.7). What the zone's own namespace has by the
// zone's spec, or by what its apex names, counts as older. stands: records or zones are in
// the way, or such as are to come. known false: facts are needed.
func (r *reading) othersBelow(z *Zone, holding *Holding, base name.Rel, by claimant) (others, stands, known bool) {
	ns, below := by.namespace, strictlyBelow(base)
	if !r.all([]Key{HoldersKey(z.UID, base), HeldBelowKey(z.UID, base)}) {
		return false, false, false
	}
	hosts, known := r.hostsBelow(z, holding, ns, below)
	listed, known2 := r.anotherHolds(z, z.listed(), ns, below)
	if !known || !known2 {
		return false, false, false
	}
	since := uint64(math.MaxUint64)
	if h, _ := get[Holders](r, HoldersKey(z.UID, base)); h.Holder() == ns && !h.List[0].Late {
		since = h.List[0].First
	}
	for _, x := range holding.Reserved {
		if x.Namespace == ns && x.Admission == AdmittedPlain && Base(x.Owner) == base {
			since = min(since, x.N)
		}
	}
	stands = slices.ContainsFunc(holding.Reserved, func(x Reservation) bool {
		return x.Namespace != ns && x.Admission == AdmittedPlain && below(Base(x.Owner)) && x.N <= since
	})
	if held, _ := get[HeldBelow](r, HeldBelowKey(z.UID, base)); held != nil {
		stands = stands || slices.ContainsFunc(held.Holders, func(h Holder) bool { return h.Namespace != ns && h.First <= since })
	}
	at, err := base.In(z.FQDN())
	if err != nil || stands {
		return stands || hosts || listed, stands, true // where it is too long nothing fits below it
	}
	if stands, known = r.zonesBelow(z.UID, z.View, at, ns, since); !known || stands || hosts || listed || by.cascade {
		return stands || hosts || listed, stands, known
	}
	others, known = r.holdsElsewhereBelow(holding, z.View, at, ns)
	return others, others, known
}

// zonesBelow reports whether the zone with uid encloses one of another namespace than ns
// below n that came there before the journal count since, or of which it is not noted yet
// when it came (S2.7). What is below such a zone is that one's to look after. known false:
// facts are needed.
func (r *reading) zonesBelow(uid, view string, n name.Name, ns string, since uint64) (others, known bool) {
	below, known := get[ZonesBelow](r, Key{Kind: KindZonesBelow, View: view, Name: n})
	if !known || below == nil {
		return false, known
	}
	var last name.Name
	for _, b := range below.Zones {
		if b.UID == uid || !last.IsZero() && last.Encloses(b.FQDN) {
			continue
		}
		last = b.FQDN
		noted := b.Enclosed != nil && b.Enclosed.By == uid
		others = others || b.Namespace != ns && (!noted || b.Enclosed.N < since)
	}
	return others, true
}

// hostsBelow reports whether a host that the zone or its apex names is among the
// names that below tells, and ns does not hold it. known false: facts are needed.
func (r *reading) hostsBelow(z *Zone, holding *Holding, ns string, below func(name.Rel) bool) (hosts, known bool) {
	if slices.ContainsFunc(z.MadeNames, below) {
		return true, true
	}
	return r.anotherHolds(z, holding.named(z), ns, below)
}

// anotherHolds reports whether ns does not hold one of the names that are the zone's own
// namespace's while no record holds them, among those that below tells. known false:
// facts are needed.
func (r *reading) anotherHolds(z *Zone, names []name.Rel, ns string, below func(name.Rel) bool) (another, known bool) {
	var ks []Key
	for _, n := range names {
		if below(n) {
			ks = append(ks, HoldersKey(z.UID, n))
		}
	}
	if !r.all(ks) {
		return false, false
	}
	for _, k := range ks {
		h, _ := get[Holders](r, k)
		another = another || h.Holder() != ns
	}
	return another, true
}

// holdsElsewhereBelow reports whether a standing cascade brings records here that
// hold names strictly below n for another namespace than ns (S2.7). known false:
// facts are needed.
func (r *reading) holdsElsewhereBelow(h *Holding, view string, n name.Name, ns string) (others, known bool) {
	var ks []Key
	for _, w := range h.Works {
		if w.Losing == "" {
			continue
		}
		if rel, ok := n.Rel(w.LosingFQDN); ok {
			ks = append(ks, HeldBelowKey(w.Losing, rel))
		} else if n.Encloses(w.LosingFQDN) {
			ks = append(ks, HoldersKey(w.Losing, name.Apex), HeldBelowKey(w.Losing, name.Apex))
		}
	}
	if len(ks) == 0 {
		return false, true
	}
	coming := Key{Kind: KindArriving, View: view, Name: n}
	if !r.all(append(ks, coming)) {
		return false, false
	}
	for _, k := range ks {
		if k.Kind == KindHolders {
			at, _ := get[Holders](r, k)
			others = others || at.Holder() != "" && at.Holder() != ns
		} else if held, _ := get[HeldBelow](r, k); held != nil {
			others = others || slices.ContainsFunc(held.Holders, func(h Holder) bool { return h.Namespace != ns })
		}
	}
	if c, _ := get[Arriving](r, coming); c != nil {
		others = others || slices.ContainsFunc(c.Records, func(a Arrival) bool {
			rel, ok := a.FQDN.Rel(n)
			return a.Namespace != ns && ok && !Base(rel).IsApex()
		})
	}
	return others, true
}
