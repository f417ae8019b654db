// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

// A relative name that was meant to be absolute is legal and most likely wrong. A Warning prints the name that it
// makes (S1.1, S5.1).

// maxHosts bounds the hosts of one Record that are looked up for a Warning. Each costs a read for each of its labels,
// which is compared when the write is committed (I5).
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

// warnOfDots warns where the owner repeats the name of the zone. It warns of the first host of two labels or more
// that repeats that name, or at which nothing of the zone stands.
func (x *delta) warnOfDots(plan *law.Plan) {
	z, p, come := x.zone, x.place, x.come
	if x.ask.Cascade {
		return
	}
	if text := x.ask.After.DomainName; !name.IsAbsolute(text) && RepeatsOrigin(come.Owner, z.FQDN()) {
		plan.Warn("%s", UndottedWarning("spec.domainName:", text, p.fqdn, "S1.1"))
	}
	var named []rdata.Value
	var ks []law.Key
	looked := 0
	for _, v := range come.Values {
		target, ok := v.Target(z.FQDN())
		if !ok || name.IsAbsolute(v.Host()) {
			continue
		}
		host, ok := target.Rel(z.FQDN())
		if !ok || len(host.Labels()) < 2 || lastLabel(host) == lastLabel(come.Owner) {
			continue // records of one part of a zone may come in any order
		}
		if named = append(named, v); RepeatsOrigin(host, z.FQDN()) {
			break
		}
		if looked++; looked > maxHosts {
			named = named[:len(named)-1]
			break
		}
		ks = append(ks, x.keysAt(host)...)
	}
	x.AskAll(ks)
	for _, v := range named {
		target, _ := v.Target(z.FQDN())
		if host, _ := target.Rel(z.FQDN()); RepeatsOrigin(host, z.FQDN()) || !x.standsAt(host) {
			plan.Warn("%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", come.Type, p.fqdn), v.Host(), target, "S5.1"))
			return
		}
	}
}

func lastLabel(r name.Rel) string {
	labels := r.Labels()
	if len(labels) == 0 {
		return ""
	}
	return labels[len(labels)-1]
}

// keysAt are the facts that tell whether something stands at a name: its owner, and the zones at and above it.
func (x *delta) keysAt(host name.Rel) []law.Key {
	ks := []law.Key{law.OwnerKey(x.zone.UID, host)}
	for up, ok := host, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if at, err := up.In(x.zone.FQDN()); err == nil {
			ks = append(ks, law.HoldingKey(x.zone.View, at))
		}
	}
	return ks
}

// standsAt reports whether the zone has data at a name, or a child zone at or above it.
func (x *delta) standsAt(host name.Rel) bool {
	ks := x.keysAt(host)
	o := law.Get[law.Owner](x.Reading, ks[0])
	return o != nil && len(o.Types()) > 0 || slices.Contains(x.zone.MadeNames, host) || slices.ContainsFunc(ks[1:], func(k law.Key) bool {
		h := law.Get[law.Holding](x.Reading, k)
		return h != nil && h.Parent != nil && h.Parent.UID == x.zone.UID
	})
}
