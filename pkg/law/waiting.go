// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"
)

// For reports whether a scan of namespaces looks for what waits so.
func (w *Waiting) For(s *Scan) bool {
	return w.Zone != nil && s.Target != nil && w.Zone.Namespace == s.Target.Namespace && w.Zone.Name == s.Target.Name ||
		!w.FQDN.IsZero() && w.View == s.View && s.Name.Encloses(w.FQDN)
}

// awaitedClaim returns the namespace for whose data at its name a refused record waits, because its annotation says so
// (S2.14): its own, or another one that keeps it out. "": it does not wait. It waits for records alone: what has to be
// allowed, or lies below the name, is no replacement. A record that stands keeps its place, or loses it as any.
func (x *delta) awaitedClaim(why *Refusal) string {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.After.WaitsOnConflict || x.ask.Before != nil || why.Kind == Later {
		return ""
	}
	switch c := x.ownerAt(Base(x.come.Owner)).claim(ns); {
	case why.Reason == ReasonNameHeld:
		return x.claimedBy
	case x.conflicts && (c != nil && c.names() || ns == z.Namespace):
		return ns
	}
	return ""
}

// explainWait is the refusal as the reason why a record waits for data of a namespace.
func (x *delta) explainWait(why *Refusal, awaited string) *Refusal {
	if awaited != x.ask.Namespace {
		return x.refuseHeld()
	}
	out := *why
	out.Message += "; the record waits until that goes (S2.14)"
	return &out
}

// refuseHeld says that a record waits for another namespace's name. It says the same while that holds the name and
// when that has left it: so a record that waits on is not written, however often that one replaces its own.
func (x *delta) refuseHeld() *Refusal {
	return forbidden(ReasonNameHeld, "another namespace holds %s of zone %s, or held it when the record began to wait: once the name is "+
		"free, the record gets it by a delegation with pattern %q, or where none allows it to the other namespace (S2.15; or delete the "+
		"record then, and make it anew)", x.nameOf(Base(x.come.Owner)), x.zone.FQDN(), patternFor(x.come.Owner))
}

// refuseTurn refuses a name that is free now and that another namespace held when the record began to wait for it:
// that one may be replacing its Record, and the name must not be snatched in between (S2.15). It passes where a rule
// names the name literally, and where none allows it to the other namespace any more.
func (x *delta) refuseTurn() *Refusal {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.Cascade || x.ask.Waits == nil || ns == z.Namespace || x.ownerAt(Base(x.come.Owner)).claim(ns) != nil {
		return nil
	}
	other := x.ask.Waits.KeptOut
	literal := func(g grant) bool { return g.literal }
	if other == "" || other == ns || slices.ContainsFunc(z.RuleSet().findGrants(x.place.fqdn, x.come.Type, ns), literal) {
		return nil
	}
	if !x.ruledFor(z, other).RuleSet().allowsName(x.nameOf(Base(x.come.Owner)), other) {
		return nil
	}
	return x.refuseHeld()
}
