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
	for v, host := range hostsIn(d.zone, d.added.Values) {
		// The apex always has data, and the owner has this record.
		if host.IsApex() || host == d.added.Owner {
			continue
		}
		if labels += host.NumLabels(); labels > maxHostLabels || len(all) == law.MaxPointerHosts {
			break
		}
		all = append(all, target{v, d.nameOf(host), host})
	}
	return all
}

func (d *delta) targetKeys(named []target) (ks []law.Key) {
	for _, t := range named {
		for at := range upToApex(t.host) {
			up, _ := at.Parent()
			ks = append(ks, law.OwnerKey(d.zone.UID, at), law.OwnerKey(d.zone.UID, rules.WildcardAt(up)))
		}
	}
	return ks
}

// warnOfTargets warns a client of a forgotten dot, and of hosts in the zone that another namespace has, that a tenant
// may take, or that have no data.
func (d *delta) warnOfTargets(plan *law.Plan) {
	// www.example.org without a dot means www.example.org.example.org. there.
	if text := d.ask.After.DomainName; d.repeatsOrigin(text, d.added.Owner) {
		plan.Warn("S1.1", "%s", UndottedWarning("spec.domainName:", text, d.place.fqdn))
	}
	for _, t := range d.listTargets() {
		d.warnOfTarget(t, plan)
		if t.Type == rdata.CNAME {
			d.warnOfLoop(t, plan)
		}
	}
}

func (d *delta) repeatsOrigin(text string, means name.Rel) bool {
	return !name.IsAbsolute(text) && RepeatsOrigin(means, d.zone.FQDN())
}

// warnOfTarget warns of a value whose host another namespace has, or could take, or that no resolver finds. A value has
// one Warning: the first case explains the others.
func (d *delta) warnOfTarget(t target, plan *law.Plan) {
	z, at := d.zone, d.place.fqdn
	answers, state := d.answersFor(t), d.judgeHost(t)
	switch {
	// Own's CNAME leads to shop, which team-a claims: team-a decides where clients arrive.
	case state == hostTaken:
		plan.Warn("S4.18", "%s at %s names %s, which another namespace claims: that namespace decides where it "+
			"points", t.Type, at, t.fqdn)
	// A forgotten dot explains the other faults of the same value.
	case d.repeatsOrigin(t.Host(), t.host), !answers && SeemsUndotted(t.Host(), d.added.Owner):
		plan.Warn("S5.1", "%s", UndottedWarning(fmt.Sprintf("%s at %s names a host:", t.Type, at), t.Host(), t.fqdn))
	// A misspelt MX host, such as mial: the first tenant to take the name would receive the mail.
	case state == hostFree:
		plan.Warnings = append(plan.Warnings, law.Warning{Rule: "S4.18", Reason: law.WarningUnclaimedHost, Host: t.fqdn,
			Text: fmt.Sprintf("%s at %s names %s, which no namespace has: the first namespace to write an address there decides "+
				"where it points; check the spelling, or write the address", t.Type, at, t.fqdn)})
	case answers, t.Type == rdata.NS && d.added.Owner.IsApex(): // of the zone's own servers, Servable tells (S6.15)
	case t.Type == rdata.NS:
		plan.WarnOfHost("S5.14", t.fqdn, "NS at %s names %s, which has no address in zone %s, so no resolver finds it: write A or AAAA "+
			"there", at, t.fqdn, z.FQDN())
	case slices.Contains(law.PointerTypes, t.Type):
		plan.WarnOfHost("S5.14", t.fqdn, "%s at %s names %s, and zone %s has no record there: check the spelling, or create one",
			t.Type, at, t.fqdn, z.FQDN())
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

// hostState is the holder of a host, as far as the writer needs a Warning.
type hostState int

const (
	hostKept  hostState = iota // by the writer or own, or of no concern to own
	hostTaken                  // by another tenant
	hostFree                   // for the first tenant to write there
)

// warnsOfHolder reports whether the host leads clients of own: in own's records, and in NS and at the apex.
func (d *delta) warnsOfHolder(t target) bool {
	isOwn := d.ask.Namespace == d.zone.Namespace || d.added.Owner.IsApex() || t.Type == rdata.NS
	return isOwn && slices.Contains(law.PointerTypes, t.Type)
}

func (d *delta) judgeHost(t target) hostState {
	if !d.warnsOfHolder(t) {
		return hostKept
	}
	switch d.findHolder(t.host) {
	case "":
		return d.judgeUnclaimed(t)
	case d.ask.Namespace, d.zone.Namespace:
		return hostKept
	}
	return hostTaken
}

// findHolder returns the namespace of the nearest child zone or claim at or above the host, another tenant's first. The
// result is "" if no namespace has the host.
func (d *delta) findHolder(host name.Rel) string {
	for at := range upToApex(rules.Base(host)) {
		if isDelegated(d.ownerAt(at)) {
			child := law.Get[law.Holding](d.Reading, law.HoldingKey(d.place.view, d.nameOf(at)))
			if child == nil { // the zone is gone, and its cut goes next
				return ""
			}
			return child.Namespace
		}
		if other := d.otherHolder(at); other != "" {
			return other
		}
		if at == rules.Base(d.added.Owner) || d.holdsName(at) {
			return d.ask.Namespace
		}
	}
	return ""
}

// judgeUnclaimed returns hostFree if a tenant may take the host, where no namespace has a claim, or else hostKept.
func (d *delta) judgeUnclaimed(t target) hostState {
	switch hasData := len(d.ownerAt(t.host).Types()) > 0; {
	// Below these NS, the child zone decides. Hosts of NS at the apex become own names (S4.10).
	case hasData, d.needsGlue(t), slices.Contains(d.zone.NSHosts, t.host):
		return hostKept
	// The writer is a tenant with NS or at the apex. No rule is read, and each free host counts.
	case d.ask.Namespace != d.zone.Namespace:
		return hostFree
	// Hosts of own's records at the apex are own names (S4.10).
	case d.added.Owner.IsApex(), !d.claimant(rules.AdmittedPlain, nil).GivesTenants(t.host):
		return hostKept
	}
	return hostFree
}

// SeemsUndotted reports whether a relative host of several labels looks absolute: its last label is not the owner's.
func SeemsUndotted(host string, owner name.Rel) bool {
	written, err := name.ParseRel(host)
	return err == nil && len(written.Labels()) >= 2 && lastLabel(written) != lastLabel(owner)
}

func lastLabel(r name.Rel) string {
	labels := r.Labels()
	if len(labels) == 0 {
		return ""
	}
	return labels[len(labels)-1]
}

// needsGlue reports whether t is of NS at or above the host, of which servers send the address as glue.
func (d *delta) needsGlue(t target) bool {
	return t.Type == rdata.NS && rules.Encloses(d.added.Owner, t.host)
}

// answersFor reports whether clients get an answer at the host: data, a wildcard, a DNAME or a child zone. For NS above
// the host, only an address there counts.
func (d *delta) answersFor(t target) bool {
	o, glue := d.ownerAt(t.host), d.needsGlue(t)
	hasData := len(o.Types()) > 0
	if glue {
		hasData = hasAddress(o)
	}
	if hasData || slices.Contains(d.zone.NSHosts, t.host) {
		return true
	}

	for at := range upToApex(t.host) {
		up, _ := at.Parent()
		switch o := d.ownerAt(at); {
		case o.HasCut(), d.ownerAt(up).HasType(rdata.DNAME):
			return true
		case glue: // a wildcard makes no glue
		case o.HasType(rdata.NS), len(d.ownerAt(rules.WildcardAt(up)).Types()) > 0:
			return true
		}
	}
	return false
}
