// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// maxHostLabels limits the labels of a Record's hosts, because each label takes two facts.
const maxHostLabels = 2 * law.MaxPointerHosts

func RepeatsOrigin(written name.Rel, origin name.Name) bool {
	labels, end := written.Labels(), origin.Labels()
	return len(end) > 0 && len(labels) >= len(end) && slices.Equal(labels[len(labels)-len(end):], end)
}

func UndottedWarning(what, written string, means fmt.Stringer) string {
	return fmt.Sprintf("%s %q has no trailing dot, so it means %s; write %q if it is absolute", what, written, means, written+".")
}

type target struct {
	rdata.Value
	fqdn name.Name
	host name.Rel
}

// listTargets returns the hosts in the zone to which added leads: at most law.MaxPointerHosts, with at most
// maxHostLabels labels together. It is nil in a cascade, because no client reads its Warnings.
func (d *delta) listTargets() (all []target) {
	if d.added == nil || d.ask.Cascade {
		return nil
	}
	labels := 0
	for _, v := range d.added.Values {
		fqdn, ok := v.Target(d.zone.FQDN())
		if !ok {
			continue
		}
		host, ok := fqdn.Rel(d.zone.FQDN())
		// The apex always has data, and the owner has this record.
		if !ok || host.IsApex() || host == d.added.Owner {
			continue
		}
		if labels += host.NumLabels(); labels > maxHostLabels || len(all) == law.MaxPointerHosts {
			break
		}
		all = append(all, target{v, fqdn, host})
	}
	return all
}

func (d *delta) targetKeys(named []target) (ks []law.Key) {
	for _, t := range named {
		for at, ok := t.host, true; ok && !at.IsApex(); {
			ks = append(ks, law.OwnerKey(d.zone.UID, at))
			if at, ok = at.Parent(); ok {
				ks = append(ks, law.OwnerKey(d.zone.UID, rules.WildcardAt(at)))
			}
		}
	}
	return ks
}

// warnOfTargets warns a client of a forgotten dot, and of hosts in the zone that another namespace has, that a tenant
// may take, or that have no data.
func (d *delta) warnOfTargets(plan *law.Plan) {
	z, p, added := d.zone, d.place, d.added
	if d.ask.Cascade {
		return
	}
	// www.example.org without a dot means www.example.org.example.org. there.
	if text := d.ask.After.DomainName; !name.IsAbsolute(text) && RepeatsOrigin(added.Owner, z.FQDN()) {
		plan.Warn("S1.1", "%s", UndottedWarning("spec.domainName:", text, p.fqdn))
	}

	for _, t := range d.listTargets() {
		answers, repeats := d.answersFor(t), !name.IsAbsolute(t.Host()) && RepeatsOrigin(t.host, z.FQDN())
		var mine, another bool
		if d.warnsOfHolder(t) {
			mine, another = d.findHolder(t)
		}

		switch {
		// Own's CNAME leads to shop, which team-a claims: team-a decides where clients arrive.
		case another:
			plan.Warn("S4.18", "%s at %s names %s, which another namespace claims: that namespace decides where it "+
				"points", t.Type, p.fqdn, t.fqdn)
		// A forgotten dot explains the other faults of the same value.
		case repeats || !answers && SeemsUndotted(t.Host(), added.Owner):
			plan.Warn("S5.1", "%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", t.Type, p.fqdn), t.Host(), t.fqdn))
		// A misspelt MX host, such as mial: the first tenant to take the name would receive the mail.
		case !mine && d.leavesToTenants(t):
			plan.Warnings = append(plan.Warnings, law.Warning{Rule: "S4.18", Reason: law.WarningUnclaimedHost, Host: t.fqdn,
				Text: fmt.Sprintf("%s at %s names %s, which no namespace has: the first namespace to write an address there decides "+
					"where it points; check the spelling, or write the address", t.Type, p.fqdn, t.fqdn)})
		case !answers:
			d.warnOfAbsent(t, plan)
		}
		if t.Type == rdata.CNAME {
			d.warnOfLoop(t, plan)
		}
	}
}

// maxAliasHops limits the CNAMEs that warnOfLoop follows. Each takes one fact, or two if a wildcard answers.
const maxAliasHops = 8

// warnOfLoop follows the CNAME t within the zone. The write that closes a loop gets the Warning, as "b CNAME a" after
// "a CNAME b", or "* CNAME www" without data at www.
func (d *delta) warnOfLoop(t target, plan *law.Plan) {
	own := d.added.Owner
	var by []string
	for at := t.host; len(by) < maxAliasHops; {
		by = append(by, d.nameOf(at).String())
		o := d.ownerAt(at)
		if up, ok := at.Parent(); ok && len(o.Types()) == 0 { // a wildcard may answer
			at = rules.WildcardAt(up)
			o = d.ownerAt(at)
		}
		if at != own {
			next, err := name.ParseIn(o.Alias(), d.zone.FQDN())
			// The chain ends, or leads out of the zone.
			host, ok := next.Rel(d.zone.FQDN())
			if o.Alias() == "" || err != nil || !ok || host.IsApex() {
				return
			}
			at = host
		}
		if at == own {
			plan.Warn("S5.14", "CNAME at %s leads back to itself by %s, so no resolver can follow it: point one of them elsewhere",
				d.place.fqdn, strings.Join(by, ", "))
			return
		}
	}
}

func (d *delta) warnsOfHolder(t target) bool {
	if !slices.Contains(law.PointerTypes, t.Type) {
		return false
	}
	return d.ask.Namespace == d.zone.Namespace || d.added.Owner.IsApex() || t.Type == rdata.NS
}

// findHolder reports whether the nearest child zone or claim at or above the host is the writer's (mine) or another
// tenant's (another). Both are false if own has the host, or no namespace has.
func (d *delta) findHolder(t target) (mine, another bool) {
	z, ns := d.zone, d.ask.Namespace
	isAnother := func(of string) bool { return of != z.Namespace && of != ns }
	for at, ok := rules.Base(t.host), true; ok && !at.IsApex(); at, ok = at.Parent() {
		o := d.ownerAt(at)
		if slices.ContainsFunc(ownerCut(o), func(v law.OwnerValue) bool { return v.Type == rdata.NS }) {
			// Below a cut, the namespace of the child zone has the host.
			child := law.Get[law.Holding](d.Reading, law.HoldingKey(d.place.view, d.nameOf(at)))
			return child != nil && child.Namespace == ns, child != nil && isAnother(child.Namespace)
		}
		c := o.ClaimOf(ns)
		mine = c != nil && c.Holds() || at == rules.Base(d.added.Owner)
		another = o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool { return isAnother(c.Namespace) })
		if mine || another || o.HasOwnClaim(z) {
			return mine, another
		}
	}
	return false, false
}

// leavesToTenants reports whether a tenant may take the host later, because neither data nor a claim of own are there.
func (d *delta) leavesToTenants(t target) bool {
	z, added := d.zone, d.added
	glue := t.Type == rdata.NS && !added.Owner.IsApex() && rules.Encloses(added.Owner, t.host)
	if !d.warnsOfHolder(t) || glue || slices.Contains(z.NSHosts, t.host) || len(d.ownerAt(t.host).Types()) > 0 ||
		d.ownerAt(rules.Base(t.host)).HasOwnClaim(z) {
		return false
	}

	// The writer is a tenant with NS or at the apex. No rule is read, and each free host counts.
	if d.ask.Namespace != z.Namespace {
		return true
	}
	// Hosts of own's records at the apex are own names (S4.10).
	return !added.Owner.IsApex() && d.claimant(rules.AdmittedPlain, nil).GivesTenants(t.host)
}

// SeemsUndotted reports whether a relative host of several labels looks absolute: its last label is not the owner's.
func SeemsUndotted(host string, owner name.Rel) bool {
	written, err := name.ParseRel(host)
	return err == nil && len(written.Labels()) >= 2 && lastLabel(written) != lastLabel(owner)
}

func (d *delta) warnOfAbsent(t target, plan *law.Plan) {
	switch {
	case t.Type == rdata.NS && d.added.Owner.IsApex():
	case t.Type == rdata.NS:
		plan.WarnOfHost("S5.14", t.fqdn, "NS at %s names %s, which has no address in zone %s, so no resolver finds it: write A or AAAA "+
			"there", d.place.fqdn, t.fqdn, d.zone.FQDN())
	case slices.Contains(law.PointerTypes, t.Type):
		plan.WarnOfHost("S5.14", t.fqdn, "%s at %s names %s, and zone %s has no record there: check the spelling, or create one",
			t.Type, d.place.fqdn, t.fqdn, d.zone.FQDN())
	}
}

func lastLabel(r name.Rel) string {
	labels := r.Labels()
	if len(labels) == 0 {
		return ""
	}
	return labels[len(labels)-1]
}

// answersFor reports whether clients get an answer at the host: data, a wildcard, a DNAME or a child zone. For NS above
// the host, only an address there counts, which servers send as glue.
func (d *delta) answersFor(t target) bool {
	z := d.zone
	if slices.Contains(z.NSHosts, t.host) {
		return true
	}
	o := d.ownerAt(t.host)
	glue := t.Type == rdata.NS && rules.Encloses(d.added.Owner, t.host)
	if glue && (o.HasType(rdata.A) || o.HasType(rdata.AAAA)) || !glue && len(o.Types()) > 0 {
		return true
	}

	// Without data at the host, look for an answer from a name above.
	for at, ok := t.host, len(o.Types()) == 0; ok && !at.IsApex(); at, ok = at.Parent() {
		up, _ := at.Parent()
		above := d.ownerAt(up)
		if d.ownerAt(at).HasCut() || above.HasType(rdata.DNAME) {
			return true
		}
		// A wildcard makes no glue.
		if !glue && (!up.IsApex() && above.HasType(rdata.NS) || len(d.ownerAt(rules.WildcardAt(up)).Types()) > 0) {
			return true
		}
	}

	return false
}
