// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// warnOfServers warns a client of probable mistakes in new name servers and in a new primaryNameServer. before is nil
// for a new zone.
func (d *zoneDecision) warnOfServers(plan *law.Plan, z, before *law.Zone) {
	if d.ask.Cascade {
		return
	}
	had := &law.Zone{}
	if before != nil {
		had = before
	}
	warnOfUndottedServers(plan, z, had.Header.NameServers)
	d.warnOfPrimary(plan, z, had)
}

// warnOfUndottedServers warns of a new name server that is relative to the zone, and probably lacks its last dot.
func warnOfUndottedServers(plan *law.Plan, z *law.Zone, had []content.NameServer) {
	for i, ns := range z.Header.NameServers {
		isOld := slices.ContainsFunc(had, func(old content.NameServer) bool { return old.Name == ns.Name && isUndotted(old) })
		if isOld || !isUndotted(ns) {
			continue
		}
		if fqdn, err := name.ParseIn(ns.Name, z.FQDN()); err == nil {
			plan.Warn("S5.1", "%s", records.UndottedWarning(fmt.Sprintf("spec.nameServers[%d].name:", i), ns.Name, fqdn))
		}
	}
}

// isUndotted reports whether a name server is relative and has two labels or more, such as ns1.example.net. With
// addresses, the host is meant to be in the zone.
func isUndotted(ns content.NameServer) bool {
	return !name.IsAbsolute(ns.Name) && strings.Contains(ns.Name, ".") && len(ns.Addresses) == 0
}

// warnOfUndottedName warns of a relative domainName that repeats the zone of zoneRef: in example.org., the zone
// dev.example.org would be dev.example.org.example.org.
func (d *zoneDecision) warnOfUndottedName(plan *law.Plan, fqdn name.Name) {
	text := d.ask.After.DomainName
	if d.ask.Cascade || name.IsAbsolute(text) {
		return
	}
	written, err := name.ParseRel(text)
	if err != nil {
		return
	}
	origin, ok := fqdn, true
	// Without the written labels, the name of zoneRef's zone remains.
	for range written.Labels() {
		origin, ok = origin.Parent()
		if !ok {
			return
		}
	}
	if records.RepeatsOrigin(written, origin) {
		plan.Warn("S1.1", "%s", records.UndottedWarning("spec.domainName:", text, fqdn))
	}
}

// warnOfPrimary warns of a primaryNameServer in the zone without an address there. Clients of DNS UPDATE ask this
// server (RFC 2136 §4).
func (d *zoneDecision) warnOfPrimary(plan *law.Plan, z, had *law.Zone) {
	// Without a name, or with a name too long, there is no host in the zone.
	fqdn, _ := name.ParseIn(z.Header.PrimaryNameServer, z.FQDN())
	host, inZone := fqdn.Rel(z.FQDN())
	isNew := had.Header.PrimaryNameServer != z.Header.PrimaryNameServer || !slices.Equal(had.NSHosts, z.NSHosts)
	if inZone && isNew && !d.mayHaveAddress(z, host) {
		plan.WarnOfHost("S5.15", fqdn, "spec.primaryNameServer: %s has no address in zone %s, so clients of DNS "+
			"UPDATE, which read the name from the SOA, find no server: write A or AAAA there, or name another host", fqdn, z.FQDN())
	}
}

var addressTypes = []rdata.Type{rdata.A, rdata.AAAA}

// mayHaveAddress reports whether a host has addresses by spec.nameServers or Records, or another zone or a DNAME above
// it answers. A new zone has no Records yet.
func (d *zoneDecision) mayHaveAddress(z *law.Zone, host name.Rel) bool {
	isAddress := func(t rdata.Type) bool { return slices.Contains(addressTypes, t) }
	if slices.ContainsFunc(z.NSSetsAt(host), func(s content.RRset) bool { return isAddress(s.Type) }) {
		return true
	}
	o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, host))
	if slices.ContainsFunc(o.Types(), isAddress) {
		return true
	}
	for up := range rules.AtOrAbove(host) {
		o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, up))
		if o.HasCut() || o.HasType(rdata.NS) || o.HasType(rdata.DNAME) {
			return true
		}
	}
	return false
}

// checkHostNames refuses a primaryNameServer, contact or name server that name servers reject as host name or mailbox
// (S5.11).
func checkHostNames(z *law.Zone) *law.Refusal {
	if text, err := content.HostName(z.Header.PrimaryNameServer, z.FQDN()); z.Header.PrimaryNameServer != "" && err == nil &&
		!name.IsHost(text) {
		return law.NewInvalid("spec.primaryNameServer", z.Header.PrimaryNameServer, law.ReasonInvalid,
			"%s is no host name: labels are letters, digits and inner hyphens (S5.11, RFC 1123 §2.1)", text)
	}

	if text, err := content.ContactName(z.Header.Contact, z.FQDN()); z.Header.Contact != "" && err == nil && !content.IsMailbox(text) {
		return law.NewInvalid("spec.contact", z.Header.Contact, law.ReasonInvalid, "%s names no mailbox: the labels after the "+
			"first are letters, digits and inner hyphens (S5.11, RFC 1035 §8; write a mail address)", text)
	}

	for i, ns := range z.Header.NameServers {
		n, err := content.HostName(ns.Name, z.FQDN())
		if err != nil {
			continue
		}
		if records.IsAddress(n) {
			return law.NewInvalid("spec.nameServers", ns.Name, law.ReasonInvalid, "nameServers[%d] is the address %s: name the "+
				"host, and list the address in its addresses (S5.11)", i, n)
		}
		if !name.IsHost(n) {
			return law.NewInvalid("spec.nameServers", ns.Name, law.ReasonInvalid, "nameServers[%d] is %s, which is no host name: "+
				"labels are letters, digits and inner hyphens (S5.11, RFC 1123 §2.1)", i, n)
		}
	}

	return nil
}

// checkNameServers refuses a new name server at a host in the zone that a tenant claims (S6.2), at a CNAME, or below a
// DNAME. The limits are checked too.
func (d *zoneDecision) checkNameServers(z, before *law.Zone, h *law.Holding) *law.Refusal {
	for _, host := range z.NSHosts {
		// A former name server stays.
		if before != nil && slices.Contains(before.NSHosts, host) {
			continue
		}
		ks := []law.Key{law.OwnerKey(z.UID, host)}
		for up, ok := host.Parent(); ok; up, ok = up.Parent() {
			ks = append(ks, law.OwnerKey(z.UID, up))
		}
		d.RequireAll(ks)
		o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, host))
		if o.HasTenantClaim(z) {
			return law.NewInvalid("spec.nameServers", host.String(), law.ReasonNameHeld, "another namespace claims %s, so it cannot be "+
				"a name server of the zone (S6.2; have its records removed, or use another host name)", host)
		}

		if o.HasType(rdata.CNAME) && !host.IsApex() {
			return law.NewInvalid("spec.nameServers", host.String(), law.ReasonCNAMEConflict, "there is a CNAME at %s, and a name "+
				"server needs addresses (S5.6)", host)
		}

		for up, ok := host.Parent(); ok; up, ok = up.Parent() {
			if o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, up)); o.HasType(rdata.DNAME) {
				return law.NewInvalid("spec.nameServers", host.String(), law.ReasonCNAMEConflict, "%s lies below a DNAME (S5.7)", host)
			}
		}
	}

	return d.checkNameServerLimits(z, before, h)
}

// checkNameServerLimits refuses host names that no server loads, and RRsets of spec.nameServers that are too large
// together with Records (S5.8). before is nil for a new zone, which has no Records yet.
func (d *zoneDecision) checkNameServerLimits(z, before *law.Zone, h *law.Holding) *law.Refusal {
	if before == nil || !before.Header.Equal(z.Header) {
		if r := checkHostNames(z); r != nil {
			return r
		}
	}

	for _, s := range z.NSSets {
		was := 0
		var o *law.Owner
		if before != nil {
			if i := slices.IndexFunc(before.NSSets, func(t content.RRset) bool { return s.Compare(t) == 0 }); i >= 0 {
				was = len(before.NSSets[i].Data)
			}
			// An RRset may shrink or stay, whatever its size.
			if len(s.Data) <= was {
				continue
			}
			o = law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, s.Owner))
			if z.TypesAt(s.Owner, o.Types()) > law.MaxTypesAtName && z.TypesAt(s.Owner, o.Types()) > before.TypesAt(s.Owner, o.Types()) {
				return law.NewInvalid("spec.nameServers", nil, law.ReasonLimitExceeded, "%s would have more than %d types with "+
					"those of records (S5.8)", s.Owner, law.MaxTypesAtName)
			}
		}

		values := len(s.Data)
		if o != nil {
			n, _ := o.CountDistinct(s.Type)
			values += n
		}

		if values > rdata.MaxValues {
			return law.NewInvalid("spec.nameServers", nil, law.ReasonLimitExceeded, "%s at %s would have %d values with those of "+
				"records; an RRset has at most %d, or BIND refuses the whole zone (S5.8)", s.Type, s.Owner, values, rdata.MaxValues)
		}
	}

	return nil
}

// warnOfPatterns warns of patterns without a match in the zone, or with the zone's name (S4.6).
func warnOfPatterns(plan *law.Plan, z *law.Zone, rules ...rules.Rule) {
	warn := func(p pattern.Pattern) {
		if text := p.Warning(z.FQDN()); text != "" {
			plan.Warn("S4.6", "%s", text)
		}
	}
	for _, r := range rules {
		for _, rr := range r.Records {
			warn(rr.Pattern)
		}
		for _, p := range r.Zones {
			warn(p)
		}
	}
}

const maxNames = 8

// literalGrant is a name that a rule gives a tenant literally.
type literalGrant struct {
	pattern string
	owner   name.Rel
	rule    *rules.Rule
}

// listNewGrants returns the first maxNames names that rules give to tenants literally, if before has no such rule.
func listNewGrants(z *law.Zone, before, after []rules.Rule) []literalGrant {
	// A rule with other namespaces counts as new.
	type key struct{ pattern, namespaces string }
	keyOf := func(n *literalGrant) key { return key{n.pattern, strings.Join(n.rule.Namespaces, " ")} }
	had := map[key]bool{}
	for _, n := range listGrants(z, before) {
		had[keyOf(&n)] = true
	}
	names := slices.DeleteFunc(listGrants(z, after), func(n literalGrant) bool { return had[keyOf(&n)] })
	return names[:min(len(names), maxNames)]
}

func listGrants(z *law.Zone, list []rules.Rule) (names []literalGrant) {
	for i := range list {
		rule := &list[i]
		if len(rule.Namespaces) == 0 || slices.Contains(rule.Namespaces, z.Namespace) {
			continue
		}
		for _, rr := range rule.Records {
			if owner, ok := givenName(&rr, z.FQDN()); ok {
				names = append(names, literalGrant{rr.Text, owner, rule})
			}
		}
	}
	return names
}

// givenName returns the name that a literal pattern gives a tenant to claim. Patterns with shared: true, the apex, and
// underscore names such as _dmarc, which lie beside the claims of their base, are left out.
func givenName(rr *rules.RecordRule, zone name.Name) (name.Rel, bool) {
	owner, literal := rr.Pattern.LiteralOwner(zone)
	return owner, literal && !rr.Shared && !owner.IsApex() && rules.Base(owner) == owner
}

// warnOfIneffectiveRules warns of new literal rules without effect, because own or another namespace has the name.
// delegation is the name of the Delegation with the rules, or "" for the Zone.
func warnOfIneffectiveRules(r *law.Reading, plan *law.Plan, z *law.Zone, delegation string, before, after []rules.Rule) {
	names := listNewGrants(z, before, after)
	var ks []law.Key
	for _, n := range names {
		for up := range rules.AtOrAbove(n.owner) {
			ks = append(ks, law.OwnerKey(z.UID, up))
		}
	}

	r.RequireAll(ks)
	for _, n := range names {
		o := law.Get[law.Owner](r, law.OwnerKey(z.UID, n.owner))
		at, t, cut := n.findCut(r, z)
		switch {
		// Only shared: true admits a tenant at own records and name servers (S4.13).
		case o.HasOwnClaim(z) || slices.Contains(z.NSHosts, n.owner):
			plan.Warn("S4.10", "pattern %q gives nothing: the zone's own namespace has %s; remove its records there first, or give "+
				"the rule shared: true", n.pattern, n.owner)
		case n.isKeptByOthers(r, z, delegation, o):
			plan.Warn("S4.8", "pattern %q gives nothing yet: another namespace has %s, and rules allow it that name; have its records "+
				"removed, or give both a rule with shared: true", n.pattern, n.owner)
		case cut:
			plan.Warn("S4.15", "pattern %q gives nothing yet: %s at %s of other namespaces cut %s off; have them removed",
				n.pattern, t, at, n.owner)
		}
	}
}

const maxKeeping = 8

// isKeptByOthers reports whether another namespace has a claim at the name, and rules allow that namespace the name
// even beside the new rule. Without such rules, the namespace's records are going to leave. The named Delegation's
// former rules do not count.
func (n *literalGrant) isKeptByOthers(r *law.Reading, z *law.Zone, delegation string, o *law.Owner) bool {
	fqdn, err := n.owner.In(z.FQDN())
	if o == nil || err != nil {
		return false
	}
	return slices.ContainsFunc(o.Claims[:min(len(o.Claims), maxKeeping)], func(c law.Claim) bool {
		if !n.isOthers(c) {
			return false
		}
		set := r.WithRulesExcept(z, c.Namespace, delegation).RuleSet()
		least := set.MinTailFor(n.owner, c.Namespace)
		// The new rule reserves the name, so "*" no longer covers the name.
		if !slices.ContainsFunc(set.FindReserved(n.owner, c.Namespace), func(x rules.ReservedAbove) bool {
			return x.Labels == n.owner.NumLabels() && x.Mine
		}) && slices.Contains(n.rule.ListNamed(z.FQDN()), n.owner) {
			least = n.owner.NumLabels()
		}
		return set.WithMinTail(least).AllowsName(fqdn, c.Namespace)
	})
}

func (n *literalGrant) isOthers(c law.Claim) bool {
	return c.Holds() && !slices.Contains(n.rule.Namespaces, c.Namespace)
}

// findCut returns the nearest name above, without the apex, at which NS or DNAME of other namespaces cut the name off.
func (n *literalGrant) findCut(r *law.Reading, z *law.Zone) (at name.Rel, t rdata.Type, ok bool) {
	up, _ := n.owner.Parent()
	for at := range rules.AtOrAbove(up) {
		o := law.Get[law.Owner](r, law.OwnerKey(z.UID, at))
		for _, t := range []rdata.Type{rdata.NS, rdata.DNAME} {
			if o.HasType(t) && slices.ContainsFunc(o.Claims, n.isOthers) {
				return at, t, true
			}
		}
	}
	return at, t, false
}

// warnOfAddresses warns a client of name servers without an address, after a creation or a change of name servers.
func (d *zoneDecision) warnOfAddresses(plan *law.Plan, change *law.ZoneChange) {
	z, before := change.Zone, d.ask.Before
	if d.ask.Cascade || change.Servable.Reason != records.ReasonNameServerWithoutAddress {
		return
	}
	if before != nil {
		// An edit of other fields gets no Warning. The condition Servable stays.
		kept := z.Header
		kept.NameServers = before.Header.NameServers
		if before.FQDN() == z.FQDN() && z.Header.Equal(kept) {
			return
		}
	}
	plan.WarnOf("S6.15", change.Servable.Reason, "%s; the zone is Ready when each has one: give it spec.nameServers[].addresses, or "+
		"write A or AAAA Records", change.Servable.Message)
}
