// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// claim says which namespace a base name belongs to (S4.6).
type claim struct {
	// namespace is "" where the name belongs to none.
	namespace string
	// yields says that no record at the name holds it, so a rule that names it literally comes first (S4.7).
	yields bool
	// above is the name of the cut that the claim comes from (cut), at the base name or above it, or the base name of
	// the wildcard or underscore name that it comes from. It is zero for other claims.
	above name.Rel
	cut   bool
}

// claimant is the record that asks for a name.
type claimant struct {
	namespace string
	// together: see delta.cameTogether.
	together bool
	// stands says that the record has its name and type in the zone already.
	stands bool
}

// findClaim finds the namespace that a base name of the zone belongs to. The first of
// these that is there has it:
//
//  1. the zone's own namespace: at the apex and at the zone's own name servers (S6.2);
//  2. the holder of the name (S4.6);
//  3. the zone's own namespace, where a shared rule lists the name;
//  4. the namespace that alone holds the name of the nearest cut at it or above, or the zone's own where none does or
//     several do;
//  5. the namespace that has a wildcard or an underscore name right below a name above it;
//  6. the zone's own namespace, where its apex names it.
//
// false: facts are needed.
func (r *reading) findClaim(z *Zone, holding *Holding, base name.Rel, by claimant) (claim, bool) {
	if base.IsApex() || slices.Contains(z.MadeNames, base) {
		return claim{namespace: z.Namespace}, true
	}
	h, known := get[Holders](r, HoldersKey(z.UID, base))
	if first := h.Holder(); !known || first != "" {
		return claim{namespace: first}, known
	}
	if z.listsShared(base) {
		return claim{namespace: z.Namespace, yields: true}, true
	}
	c, known := r.findCutClaim(z, base)
	if !known {
		r.findClaimAbove(z, base, by) // asks for what it needs in the same round
		return claim{}, false
	}
	if c.namespace != "" {
		return c, true
	}
	if c, known := r.findClaimAbove(z, base, by); !known || c.namespace != "" {
		return c, known
	}
	if slices.Contains(holding.hostsNamedByApex(z), base) {
		return claim{namespace: z.Namespace, yields: true}, true
	}
	return claim{}, true
}

func firstOf(namespaces []string) string {
	if len(namespaces) == 0 {
		return ""
	}
	return namespaces[0]
}

// soleNamespace returns the one namespace of a list, or own where the list has none or several. Two tenants never
// hold a name together, so of several namespaces one is the zone's own. That one may have delegated the name away,
// and then no tenant answers for it by glue.
func soleNamespace(namespaces []string, own string) string {
	for _, ns := range namespaces {
		if ns != namespaces[0] {
			return own
		}
	}
	return cmp.Or(firstOf(namespaces), own)
}

// findCutClaim returns the claim of the nearest cut at a base name that no record holds, or above it:
// the addresses below a cut are glue of its name servers, so its holder says what they are.
// Where its NS records are shared no namespace holds it, and the first one at its name would
// have the glue. A wildcard synthesises nothing there, and a cut at an underscore name is
// above no base name. known false: facts are needed.
func (r *reading) findCutClaim(z *Zone, base name.Rel) (c claim, known bool) {
	var ups []name.Rel
	var ks []Key
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		ups, ks = append(ups, up), append(ks, OwnerKey(z.UID, up))
	}
	if !r.askAll(ks) { // all of them, in one round
		return claim{}, false
	}
	for _, up := range ups {
		o, _ := get[Owner](r, OwnerKey(z.UID, up))
		if !o.hasType(rdata.NS) {
			continue
		}
		h, known := get[Holders](r, HoldersKey(z.UID, up))
		return claim{namespace: soleNamespace(h.namespaces(), z.Namespace), yields: true, above: up, cut: true}, known
	}
	return claim{}, true
}

// findClaimAbove returns the claim of the nearest wildcard or underscore name above a base name
// that no record holds, where it is of another namespace than the zone's own: a wildcard
// answers for the names below its base, and a challenge there is for a certificate of that
// wildcard. The claim ends at names that another namespace holds: they exist, so no wildcard
// synthesises at or below them (RFC 4592 §2.2.1). Records that never hold do not end it, nor do
// names of its own namespace: a challenge for a name must not open it to others.
func (r *reading) findClaimAbove(z *Zone, base name.Rel, by claimant) (claim, bool) {
	known := true
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		_, at := get[Owner](r, OwnerKey(z.UID, up)) // all of them, in one round
		known = known && at
	}
	if !known {
		return claim{}, false
	}
	below := base
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		o, _ := get[Owner](r, OwnerKey(z.UID, up))
		ns := o.speaker(z.Namespace)
		if ns == "" {
			below = up
			continue
		}
		if ns == by.namespace {
			return claim{namespace: ns, yields: true, above: up}, true // no other namespace is in its way in either case
		}
		ends, known := r.heldByOthers(z, below, ns)
		if !known || ends {
			return claim{}, known
		}
		return claim{namespace: ns, yields: true, above: up}, true
	}
	return claim{}, true
}

// heldByOthers reports whether a namespace other than ns holds n or a name below it.
func (r *reading) heldByOthers(z *Zone, n name.Rel, ns string) (others, known bool) {
	if !r.askAll([]Key{HoldersKey(z.UID, n), HeldBelowKey(z.UID, n)}) {
		return false, false
	}
	at, _ := get[Holders](r, HoldersKey(z.UID, n))
	below, _ := get[HeldBelow](r, HeldBelowKey(z.UID, n))
	if first := at.Holder(); first != "" && first != ns || z.hasServerBelow(n) {
		return true, true
	}
	return below != nil && slices.ContainsFunc(below.Holders, func(h Holder) bool { return h.Namespace != ns }), true
}

// SpeaksFor reports whether a record admitted so counts in Owner.Speaks of its base name.
func SpeaksFor(a Admission, owner name.Rel) (base name.Rel, ok bool) {
	base = Base(owner)
	return base, a == AdmittedPlain && owner != base
}

// hostsNamedByApex returns the hosts below the apex that NS records of the apex name, and those that its MX, SVCB and
// HTTPS records of the zone's own namespace name: they answer for the zone, get its mail, or serve at its name
// (S6.2). An MX of another namespace takes no name from a third one. Its NS, which a rule must name (S4.3), has the
// whole zone.
func (h *Holding) hostsNamedByApex(z *Zone) []name.Rel {
	var out []name.Rel
	for _, text := range append(slices.Sorted(maps.Keys(h.ApexHosts)), h.ApexNS...) {
		if n, err := name.ParseIn(text, z.FQDN()); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok && !rel.IsApex() && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// CountHosts adds n, 1 or -1, to the count of each host that a record of the zone's own
// namespace names at the apex by another type than NS (S6.2).
func (h *Holding) CountHosts(c *Contribution, n int) {
	if c.Type != rdata.MX && c.Type != rdata.SVCB && c.Type != rdata.HTTPS {
		return
	}
	hosts := map[string]int{}
	maps.Copy(hosts, h.ApexHosts)
	for _, v := range c.Values {
		if hosts[v.Host()] += n; hosts[v.Host()] <= 0 {
			delete(hosts, v.Host())
		}
	}
	h.ApexHosts = hosts
}

// speaksBelow reports whether data of a type at owner is also taken for the names below its base. Resolvers look CAA
// up by climbing (RFC 8659), and policies such as DMARC's too. A challenge right above a name is answered for a
// certificate of its wildcard. A CNAME stands for both. A wildcard stands for every underscore name, and answers for
// names that do not exist.
func speaksBelow(owner name.Rel, t rdata.Type) bool {
	return owner != Base(owner) || t == rdata.CAA || t == rdata.CNAME
}

// refuseSpeaking refuses data of a namespace other than the zone's own that would be taken for names below which
// another namespace holds, whichever came first (S4.7; findClaimAbove refuses such names below it). It refuses a
// wildcard that would answer for a host that the zone or its apex names. A cascade does not refuse what stands, and
// refuses what it brings here only for names of the zone, its apex or its rules.
func (x *delta) refuseSpeaking() *Refusal {
	z, holding, p, come := x.zone, x.holding, x.place, x.come
	ns, base := x.ask.Namespace, Base(come.Owner)
	if x.standsAlready() || !speaksBelow(come.Owner, come.Type) {
		return nil
	}
	if up, _ := come.Owner.Parent(); isWildcard(come.Owner) && up == base {
		hosts, known := x.hostsBelow(z, holding, ns, strictlyBelow(base))
		if known && hosts {
			return forbidden(ReasonNameHeld, "the wildcard %s would answer for a host that zone %s or its apex names, which is the zone's own namespace's (S6.2; that namespace can write it)", p.fqdn, z.FQDN())
		}
	}
	others, known := x.othersBelow(z, holding, base, x.claimant())
	if !known || !others {
		return nil
	}
	hint := "its owner can write it"
	if slices.ContainsFunc(come.Owner.Labels(), isUnderscore) {
		hint += fmt.Sprintf(", or add a delegation with pattern %q", come.Owner)
	}
	return forbidden(ReasonNameHeld, "%s at %s would be taken for names below it that another namespace holds in zone %s (S4.7; %s)", come.Type, p.fqdn, z.FQDN(), hint)
}

func strictlyBelow(base name.Rel) func(name.Rel) bool {
	return func(n name.Rel) bool { return n != base && encloses(base, n) }
}

// othersBelow reports whether another namespace holds a name strictly below base (S4.7). Names of the zone's own
// namespace that came when the claimant held base already do not count, nor do such of tenants for a record that
// stands. Names that the zone's own namespace has by the zone's spec, or by what its apex
// names, count as older. known false: facts are needed.
func (r *reading) othersBelow(z *Zone, holding *Holding, base name.Rel, by claimant) (others, known bool) {
	ns, below := by.namespace, strictlyBelow(base)
	if !r.askAll([]Key{HoldersKey(z.UID, base), HeldBelowKey(z.UID, base)}) {
		return false, false
	}
	hosts, known := r.hostsBelow(z, holding, ns, below)
	listed, known2 := r.anotherHolds(z, z.listSharedNames(), ns, below)
	if !known || !known2 {
		return false, false
	}
	if others = hosts || listed; by.together {
		return others, true
	}
	since := uint64(math.MaxUint64)
	if h, _ := get[Holders](r, HoldersKey(z.UID, base)); h.Holder() == ns {
		since = h.List[0].First
	}
	before := func(other string) uint64 {
		if by.stands || other == z.Namespace {
			return since
		}
		return math.MaxUint64
	}
	counts := func(other string, n uint64) bool { return other != ns && n <= before(other) }
	if held, _ := get[HeldBelow](r, HeldBelowKey(z.UID, base)); held != nil {
		others = others || slices.ContainsFunc(held.Holders, func(h Holder) bool { return counts(h.Namespace, h.First) })
	}
	at, err := base.In(z.FQDN())
	if err != nil || others {
		return others, true // where base is too long no name fits below it
	}
	return r.zonesBelow(z, at, ns, before)
}

// zonesBelow reports whether z encloses a zone below n, of another namespace than ns, that came there before the
// journal count that before returns for that namespace, or for which it is not noted yet when it came (S2.7). Zones
// below such a zone do not count: that zone looks after them. known false: facts are needed.
func (r *reading) zonesBelow(z *Zone, n name.Name, ns string, before func(namespace string) uint64) (others, known bool) {
	below, known := get[ZonesBelow](r, Key{Kind: KindZonesBelow, View: z.View, Name: n})
	if !known || below == nil {
		return false, known
	}
	var last name.Name
	for _, b := range below.Zones {
		if b.UID == z.UID || !last.IsZero() && last.Encloses(b.FQDN) {
			continue
		}
		last = b.FQDN
		noted := b.Enclosed != nil && b.Enclosed.By == z.UID
		others = others || b.Namespace != ns && (!noted || b.Enclosed.N < before(b.Namespace))
	}
	return others, true
}

// hostsBelow reports whether the zone or its apex names a host for which below returns true, and which ns does not
// hold. known false: facts are needed.
func (r *reading) hostsBelow(z *Zone, holding *Holding, ns string, below func(name.Rel) bool) (hosts, known bool) {
	if slices.ContainsFunc(z.MadeNames, below) {
		return true, true
	}
	return r.anotherHolds(z, holding.hostsNamedByApex(z), ns, below)
}

// anotherHolds reports whether ns does not hold one of the names for which below returns true. The names are the
// zone's own namespace's while no record holds them. known false: facts are needed.
func (r *reading) anotherHolds(z *Zone, names []name.Rel, ns string, below func(name.Rel) bool) (another, known bool) {
	var ks []Key
	for _, n := range names {
		if below(n) {
			ks = append(ks, HoldersKey(z.UID, n))
		}
	}
	if !r.askAll(ks) {
		return false, false
	}
	for _, k := range ks {
		h, _ := get[Holders](r, k)
		another = another || h.Holder() != ns
	}
	return another, true
}
