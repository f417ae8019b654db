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

func (x *delta) listTargets() (all []target) {
	if x.added == nil || x.ask.Cascade {
		return nil
	}
	labels := 0
	for _, v := range x.added.Values {
		fqdn, ok := v.Target(x.zone.FQDN())
		if !ok {
			continue
		}
		host, ok := fqdn.Rel(x.zone.FQDN())
		if !ok || host.IsApex() || host == x.added.Owner {
			continue
		}
		if labels += host.NumLabels(); labels > maxHostLabels || len(all) == law.MaxPointerHosts {
			break
		}
		all = append(all, target{v, fqdn, host})
	}
	return all
}

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

func (x *delta) warnOfTargets(plan *law.Plan) {
	z, p, added := x.zone, x.place, x.added
	if x.ask.Cascade {
		return
	}
	if text := x.ask.After.DomainName; !name.IsAbsolute(text) && RepeatsOrigin(added.Owner, z.FQDN()) {
		plan.Warn("S1.1", "%s", UndottedWarning("spec.domainName:", text, p.fqdn))
	}

	for _, t := range x.listTargets() {
		answers, repeats := x.answersFor(t), !name.IsAbsolute(t.Host()) && RepeatsOrigin(t.host, z.FQDN())
		var mine, another bool
		if x.warnsOfHolder(t) {
			mine, another = x.findHolder(t)
		}

		switch {
		case another:
			plan.Warn("S4.18", "%s at %s names %s, which another namespace claims: that namespace decides where it "+
				"points", t.Type, p.fqdn, t.fqdn)
		case repeats || !answers && SeemsUndotted(t.Host(), added.Owner):
			plan.Warn("S5.1", "%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", t.Type, p.fqdn), t.Host(), t.fqdn))
			return
		case !mine && x.leavesToTenants(t):
			plan.Warnings = append(plan.Warnings, law.Warning{Rule: "S4.18", Reason: law.WarningUnclaimedHost, Host: t.fqdn,
				Text: fmt.Sprintf("%s at %s names %s, which no namespace has: the first namespace to write an address there decides "+
					"where it points; check the spelling, or write the address", t.Type, p.fqdn, t.fqdn)})
		case !answers:
			x.warnOfAbsent(t, plan)
		}
	}
}

func (x *delta) warnsOfHolder(t target) bool {
	if !slices.Contains(law.PointerTypes, t.Type) {
		return false
	}
	return x.ask.Namespace == x.zone.Namespace || x.added.Owner.IsApex() || t.Type == rdata.NS
}

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
		mine = c != nil && c.Holds() || at == rules.Base(x.added.Owner)
		another = o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool { return isAnother(c.Namespace) })
		if mine || another || o.HasOwnClaim(z) {
			return mine, another
		}
	}
	return false, false
}

func (x *delta) leavesToTenants(t target) bool {
	z, added := x.zone, x.added
	glue := t.Type == rdata.NS && !added.Owner.IsApex() && rules.Encloses(added.Owner, t.host)
	if !x.warnsOfHolder(t) || glue || slices.Contains(z.NSHosts, t.host) || len(x.ownerAt(t.host).Types()) > 0 ||
		x.ownerAt(rules.Base(t.host)).HasOwnClaim(z) {
		return false
	}
	if x.ask.Namespace != z.Namespace {
		return true
	}
	return !added.Owner.IsApex() && x.claimant(rules.AdmittedPlain, nil).GivesTenants(t.host)
}

// SeemsUndotted reports whether a relative host of several labels looks absolute: its last label is not the owner's.
func SeemsUndotted(host string, owner name.Rel) bool {
	written, err := name.ParseRel(host)
	return err == nil && len(written.Labels()) >= 2 && lastLabel(written) != lastLabel(owner)
}

func (x *delta) warnOfAbsent(t target, plan *law.Plan) {
	switch {
	case t.Type == rdata.NS && x.added.Owner.IsApex():
	case t.Type == rdata.NS:
		plan.WarnOfHost("S5.14", t.fqdn, "NS at %s names %s, which has no address in zone %s, so no resolver finds it: write A or AAAA "+
			"there", x.place.fqdn, t.fqdn, x.zone.FQDN())
	case slices.Contains(law.PointerTypes, t.Type):
		plan.WarnOfHost("S5.14", t.fqdn, "%s at %s names %s, and zone %s has no record there: check the spelling, or create one",
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

func (x *delta) answersFor(t target) bool {
	z := x.zone
	if slices.Contains(z.NSHosts, t.host) {
		return true
	}
	o := x.ownerAt(t.host)
	glue := t.Type == rdata.NS && rules.Encloses(x.added.Owner, t.host)
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
