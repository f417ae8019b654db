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

// maxHosts bounds the hosts of one Record that are looked up for a Warning, and their labels. A host that stands costs
// one fact of the zone, in the first round; an absent one some for each label.
const maxHosts = 8

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

// listTargets returns the first maxHosts of what comes, without hosts of so many labels that the facts about them would
// fill a transaction.
func (x *delta) listTargets() (all []target) {
	if x.come == nil || x.ask.Cascade {
		return nil
	}
	for _, v := range x.come.Values {
		fqdn, ok := v.Target(x.zone.FQDN())
		if !ok {
			continue
		}
		host, ok := fqdn.Rel(x.zone.FQDN())
		if !ok || host.IsApex() || host == x.come.Owner || len(host.Labels()) > maxHosts {
			continue
		}
		if all = append(all, target{v, fqdn, host}); len(all) == maxHosts {
			break
		}
	}
	return all
}

// warnOfTargets warns of an owner that repeats the name of the zone, and of hosts that do, or at which nothing of the
// zone stands: of the first of those whose dot seems forgotten, else of each.
func (x *delta) warnOfTargets(plan *law.Plan) {
	z, p, come := x.zone, x.place, x.come
	if x.ask.Cascade {
		return
	}
	if text := x.ask.After.DomainName; !name.IsAbsolute(text) && RepeatsOrigin(come.Owner, z.FQDN()) {
		plan.Warn("%s", UndottedWarning("spec.domainName:", text, p.fqdn, "S1.1"))
	}
	named := x.listTargets()
	x.AskAll(x.keysOfAbsent(named))
	for _, t := range named {
		switch repeats := !name.IsAbsolute(t.Host()) && RepeatsOrigin(t.host, z.FQDN()); {
		case !repeats && x.standsAt(t):
		case repeats || SeemsUndotted(t.Host(), come.Owner):
			plan.Warn("%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", t.Type, p.fqdn), t.Host(), t.fqdn, "S5.1"))
			return
		default:
			x.warnOfAbsent(t, plan)
		}
	}
}

// SeemsUndotted reports whether a host at which nothing stands reads as an absolute name without its dot: it has two
// labels or more, and is of another part of the zone than the owner, for records of one part may come in any order.
func SeemsUndotted(host string, owner name.Rel) bool {
	written, err := name.ParseRel(host)
	return err == nil && len(written.Labels()) >= 2 && lastLabel(written) != lastLabel(owner)
}

// warnOfAbsent warns of a host at which nothing of the zone stands, or of a name server that needs glue and has no
// address. Where warnOfHosts says that no namespace has the host, that is enough.
func (x *delta) warnOfAbsent(t target, plan *law.Plan) {
	cut := t.Type == rdata.NS && !x.come.Owner.IsApex()
	if x.come.Owner.IsApex() && (t.Type == rdata.NS || x.leavesToTenants(t.host, false)) || cut && x.leavesToTenants(t.host, true) {
		return
	}
	switch {
	case cut:
		plan.WarnOfHost(t.fqdn, "NS at %s names %s, which has no address in zone %s, so no resolver finds it: write A or AAAA "+
			"there (S5.14)", x.place.fqdn, t.fqdn, x.zone.FQDN())
	case slices.Contains(clientTypes, t.Type):
		plan.WarnOfHost(t.fqdn, "%s at %s names %s, and nothing stands there in zone %s: check its spelling, or write the host (S5.14)",
			t.Type, x.place.fqdn, t.fqdn, x.zone.FQDN())
	}
}

// clientTypes are the types by which clients look for the address of a host.
var clientTypes = []rdata.Type{rdata.CNAME, rdata.MX, rdata.SRV, rdata.SVCB, rdata.HTTPS}

func lastLabel(r name.Rel) string {
	labels := r.Labels()
	if len(labels) == 0 {
		return ""
	}
	return labels[len(labels)-1]
}

// keysOfAbsent returns the facts that tell about hosts at which no data stands.
func (x *delta) keysOfAbsent(named []target) (ks []law.Key) {
	for _, t := range named {
		if len(x.storedOwner(t.host).Types()) > 0 {
			continue
		}
		for at, ok := t.host, true; ok && !at.IsApex(); at, ok = at.Parent() {
			if fqdn, err := at.In(x.zone.FQDN()); err == nil {
				ks = append(ks, law.HoldingKey(x.zone.View, fqdn))
			}
			up, _ := at.Parent()
			ks = append(ks, law.OwnerKey(x.zone.UID, up), law.OwnerKey(x.zone.UID, wildcardAt(up)))
		}
	}
	return ks
}

// standsAt reports whether the zone answers for a host: by data or a wildcard, by a child zone, or by what refers to
// other servers at or above it. A name server below its own NS needs an address.
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
		fqdn, err := at.In(z.FQDN())
		if err != nil {
			continue
		}
		up, _ := at.Parent()
		above := x.ownerAt(up)
		h := law.Get[law.Holding](x.Reading, law.HoldingKey(z.View, fqdn))
		if h != nil && h.Parent != nil && h.Parent.UID == z.UID || above.HasType(rdata.DNAME) {
			return true
		}
		if !glue && (!up.IsApex() && above.HasType(rdata.NS) || len(x.ownerAt(wildcardAt(up)).Types()) > 0) {
			return true
		}
	}
	return false
}

// wildcardAt returns the name "*" right below another one.
func wildcardAt(up name.Rel) name.Rel {
	if up.IsApex() {
		return name.MustRel("*")
	}
	return name.MustRel("*." + up.String())
}
