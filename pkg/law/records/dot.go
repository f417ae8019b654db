// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// A relative name that was meant to be absolute is legal and most likely wrong. A Warning prints the name that it
// makes (S1.1, S5.1). So is, most likely, a host at which nothing of the zone stands (S5.14).

// maxHostLabels bounds the labels of all hosts of one Record that a Warning looks up: each takes two facts about the
// zone.
const maxHostLabels = 2 * law.MaxPointed

// RepeatsOrigin reports whether a relative name ends in the name of the zone that it is relative to.
func RepeatsOrigin(written name.Rel, origin name.Name) bool {
	labels, end := written.Labels(), origin.Labels()
	return len(end) > 0 && len(labels) >= len(end) && slices.Equal(labels[len(labels)-len(end):], end)
}

// UndottedWarning is the Warning about a name that was written without a trailing dot.
func UndottedWarning(what, written string, means fmt.Stringer, sentence string) string {
	return fmt.Sprintf("%s %q has no trailing dot, so it means %s; write %q if it is absolute (%s)", what, written, means,
		written+".", sentence)
}

// target is a value that names a host of the zone below its apex.
type target struct {
	rdata.Value
	fqdn name.Name
	host name.Rel
}

// listTargets returns the hosts in the zone that what comes names, within law.MaxPointed and maxHostLabels.
func (x *delta) listTargets() (all []target) {
	if x.come == nil || x.ask.Cascade {
		return nil
	}
	labels := 0
	for _, v := range x.come.Values {
		fqdn, ok := v.Target(x.zone.FQDN())
		if !ok {
			continue
		}
		host, ok := fqdn.Rel(x.zone.FQDN())
		if !ok || host.IsApex() || host == x.come.Owner {
			continue
		}
		if labels += host.NumLabels(); labels > maxHostLabels || len(all) == law.MaxPointed {
			break
		}
		all = append(all, target{v, fqdn, host})
	}
	return all
}

// targetKeys returns the facts by which standsAt judges hosts: those of the zone alone, so that a change set needs no
// compares for them.
func (x *delta) targetKeys(named []target) (ks []law.Key) {
	for _, t := range named {
		for at, ok := t.host, true; ok && !at.IsApex(); {
			ks = append(ks, law.OwnerKey(x.zone.UID, at))
			if at, ok = at.Parent(); ok {
				ks = append(ks, law.OwnerKey(x.zone.UID, rules.WildcardAt(at)))
			}
		}
	}
	return ks
}

// warnOfTargets warns of an owner that repeats the name of the zone, and of hosts: that another namespace has (S4.18),
// of which the first one's dot seems forgotten (S5.1), that no namespace has (S4.18), or at which nothing of the zone
// stands (S5.14).
func (x *delta) warnOfTargets(plan *law.Plan) {
	z, p, come := x.zone, x.place, x.come
	if x.ask.Cascade {
		return
	}
	if text := x.ask.After.DomainName; !name.IsAbsolute(text) && RepeatsOrigin(come.Owner, z.FQDN()) {
		plan.Warn("%s", UndottedWarning("spec.domainName:", text, p.fqdn, "S1.1"))
	}
	for _, t := range x.listTargets() {
		stands, repeats := x.standsAt(t), !name.IsAbsolute(t.Host()) && RepeatsOrigin(t.host, z.FQDN())
		var mine, another bool
		if x.leads(t) {
			mine, another = x.findHolder(t)
		}
		switch {
		case another:
			plan.Warn("%s at %s names %s, which another namespace claims: it says where that leads (S4.18)", t.Type, p.fqdn, t.fqdn)
		case repeats || !stands && SeemsUndotted(t.Host(), come.Owner):
			plan.Warn("%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", t.Type, p.fqdn), t.Host(), t.fqdn, "S5.1"))
			return
		case !mine && x.leavesToTenants(t):
			plan.Warnings = append(plan.Warnings, law.Warning{Reason: law.WarningUnclaimedHost, Host: t.fqdn, Text: fmt.Sprintf("%s at "+
				"%s names %s, which no namespace has: the one that first writes an address there says where it leads; check "+
				"the spelling, or write one (S4.18)",
				t.Type, p.fqdn, t.fqdn)})
		case !stands:
			x.warnOfAbsent(t, plan)
		}
	}
}

// leads reports whether the writer of a record is warned of the holder of its target (S4.18): own for each type that
// sends clients to a host, a tenant for NS and for records at the apex.
func (x *delta) leads(t target) bool {
	if !slices.Contains(law.PointerTypes, t.Type) {
		return false
	}
	return x.ask.Namespace == x.zone.Namespace || x.come.Owner.IsApex() || t.Type == rdata.NS
}

// findHolder reports whether the host of a target belongs to the writer (mine), or to another tenant. The nearest
// claimed name, or child zone, at or above the host decides; the name of the new record counts as claimed.
func (x *delta) findHolder(t target) (mine, another bool) {
	z, ns := x.zone, x.ask.Namespace
	isAnother := func(of string) bool { return of != z.Namespace && of != ns }
	for at, ok := rules.Base(t.host), true; ok && !at.IsApex(); at, ok = at.Parent() {
		o := x.ownerAt(at)
		if slices.ContainsFunc(ownerCut(o), func(v law.OwnerValue) bool { return v.Type == rdata.NS }) {
			child := law.Get[law.Holding](x.Reading, law.HoldingKey(x.place.view, x.nameOf(at)))
			return child != nil && child.Namespace == ns, child != nil && isAnother(child.Namespace)
		}
		c := o.ClaimOf(ns)
		mine = c != nil && c.Names() || at == rules.Base(x.come.Owner)
		another = o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool { return isAnother(c.Namespace) })
		if mine || another || o.IsOwn(z) {
			return mine, another
		}
	}
	return false, false
}

// leavesToTenants reports whether another namespace may be the first to write a host that no namespace has. Glue of a
// cut is its writer's.
func (x *delta) leavesToTenants(t target) bool {
	z, come := x.zone, x.come
	glue := t.Type == rdata.NS && !come.Owner.IsApex() && rules.Encloses(come.Owner, t.host)
	if !x.leads(t) || glue || slices.Contains(z.MadeNames, t.host) || len(x.ownerAt(t.host).Types()) > 0 ||
		x.ownerAt(rules.Base(t.host)).IsOwn(z) {
		return false
	}
	if x.ask.Namespace != z.Namespace {
		return true
	}
	return !come.Owner.IsApex() && x.claimant(rules.AdmittedPlain, nil).GivesTenants(t.host)
}

// SeemsUndotted reports whether a host at which nothing stands reads as an absolute name without its dot: it has two
// labels or more, and is of another part of the zone than the owner, for records of one part may come in any order.
func SeemsUndotted(host string, owner name.Rel) bool {
	written, err := name.ParseRel(host)
	return err == nil && len(written.Labels()) >= 2 && lastLabel(written) != lastLabel(owner)
}

// warnOfAbsent warns of a host at which nothing of the zone stands, or of a name server that needs glue and has no
// address. The apex has the condition Servable for its name servers.
func (x *delta) warnOfAbsent(t target, plan *law.Plan) {
	switch {
	case t.Type == rdata.NS && x.come.Owner.IsApex():
	case t.Type == rdata.NS:
		plan.WarnOfHost(t.fqdn, "NS at %s names %s, which has no address in zone %s, so no resolver finds it: write A or AAAA "+
			"there (S5.14)", x.place.fqdn, t.fqdn, x.zone.FQDN())
	case slices.Contains(law.PointerTypes, t.Type):
		plan.WarnOfHost(t.fqdn, "%s at %s names %s, and zone %s has no record there: check the spelling, or create one (S5.14)",
			t.Type, x.place.fqdn, t.fqdn, x.zone.FQDN())
	}
}

func lastLabel(r name.Rel) string {
	labels := r.Labels()
	if len(labels) == 0 {
		return ""
	}
	return labels[len(labels)-1]
}

// standsAt reports whether the zone has an answer for a host: data, a wildcard or a DNAME, or a delegation to a child
// zone or by NS records above it. A name server below its own NS needs an address.
func (x *delta) standsAt(t target) bool {
	z := x.zone
	if slices.Contains(z.MadeNames, t.host) {
		return true
	}
	o := x.ownerAt(t.host)
	glue := t.Type == rdata.NS && rules.Encloses(x.come.Owner, t.host)
	if glue && (o.HasType(rdata.A) || o.HasType(rdata.AAAA)) || !glue && len(o.Types()) > 0 {
		return true
	}
	for at, ok := t.host, len(o.Types()) == 0; ok && !at.IsApex(); at, ok = at.Parent() {
		up, _ := at.Parent()
		above := x.ownerAt(up)
		if x.ownerAt(at).HasCut() || above.HasType(rdata.DNAME) {
			return true
		}
		if !glue && (!up.IsApex() && above.HasType(rdata.NS) || len(x.ownerAt(rules.WildcardAt(up)).Types()) > 0) {
			return true
		}
	}
	return false
}
