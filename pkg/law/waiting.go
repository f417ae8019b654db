// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
)

// maxAwaited bounds the names that a zone notes for zones that lost there. With more of them the zones are tried
// again whatever goes.
const maxAwaited = 16

// withAwaiting is the holding with the mark of a zone that lost at owner.
func (h *Holding) withAwaiting(owner name.Rel) *Holding {
	if slices.Contains(h.Awaited, owner) || slices.Contains(h.Awaited, name.Apex) {
		return h
	}
	out := *h
	if out.Awaited = append(slices.Clone(h.Awaited), owner); len(out.Awaited) > maxAwaited {
		out.Awaited = []name.Rel{name.Apex}
	}
	return &out
}

// letGo returns the holding without the marks of zones that may fit when something goes from owner, and false where
// there are none. In the way of a zone were names at or below it, a DNAME above it, the holder of its base name at
// any name with that base, a wildcard or an underscore name above, and for a zone at an underscore name what is below
// its base (S3.6, S4.7).
func (h *Holding) letGo(owner name.Rel) (*Holding, bool) {
	matches := func(at name.Rel) bool {
		return encloses(at, owner) || encloses(Base(owner), at) || at != Base(at) && encloses(Base(at), owner)
	}
	if !slices.ContainsFunc(h.Awaited, matches) {
		return h, false
	}
	out := *h
	out.Awaited = slices.DeleteFunc(slices.Clone(h.Awaited), matches)
	if len(out.Awaited) == 0 {
		out.Awaited = nil
	}
	return &out, true
}

// pendingBelow is the scan for zones that wait for the zone object z, or for a name at or below fqdn, which z has.
func pendingBelow(z Ref, view string, fqdn name.Name) Scan {
	return Scan{Kind: ScanPending, Target: &Ref{Namespace: z.Namespace, Name: z.Name}, View: view, Name: fqdn}
}

// For reports whether a scan of namespaces looks for what waits so.
func (w *Waiting) For(s *Scan) bool {
	return w.Zone != nil && s.Target != nil && w.Zone.Namespace == s.Target.Namespace && w.Zone.Name == s.Target.Name ||
		!w.FQDN.IsZero() && w.View == s.View && s.Name.Encloses(w.FQDN)
}

// awaitedHolder returns the holder of the name for whose data a refused record waits, because its annotation says so
// (S2.9): its own namespace, or another one that keeps it out. "": it does not wait. It waits for records alone: what
// has to be allowed, or lies below the name, is no replacement. A record that stands keeps its place, or loses it as
// any.
func (x *delta) awaitedHolder(why *Refusal, m marks) string {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.After.WaitsOnConflict || len(m.keys) == 0 || m.below || x.ask.Before != nil {
		return ""
	}
	h, _ := get[Holders](&x.reading, HoldersKey(z.UID, Base(x.come.Owner)))
	switch holder := h.Holder(); {
	case why.Reason == ReasonNameHeld && holder != ns:
		return holder
	case why.Reason == ReasonCNAMEConflict && (holder == ns || ns == z.Namespace):
		return ns
	}
	return ""
}

// explainWait is the refusal as the reason why a record waits for data of the holder.
func (x *delta) explainWait(why *Refusal, holder string) *Refusal {
	if holder != x.ask.Namespace {
		return x.refuseHeld()
	}
	out := *why
	out.Message += "; the record waits until that goes (S2.9)"
	return &out
}

// refuseHeld says that a record waits for another namespace's name. It says the same while that holds the name and
// when that has left it: so a record that waits on is not written, however often the holder replaces its own.
func (x *delta) refuseHeld() *Refusal {
	return forbidden(ReasonNameHeld, "another namespace holds %s of zone %s, or held it when the record began to wait: once the name is "+
		"free, the record gets it by a delegation with pattern %q, or where none allows it to the other namespace (S2.9; or delete the "+
		"record then, and make it anew)", x.nameOf(Base(x.come.Owner)), x.zone.FQDN(), patternFor(x.come.Owner))
}

// refuseTurn refuses a name that is free now and that another namespace held when the record began to wait for it:
// that one may be replacing its Record, and the name must not be snatched in between (S2.9). It passes where a rule
// names the name literally, and where none allows it to the other namespace any more.
func (x *delta) refuseTurn() *Refusal {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.Cascade || x.ask.Waits == nil || ns == z.Namespace {
		return nil
	}
	other := x.ask.Waits.KeptOut
	literal := func(g grant) bool { return g.literal }
	if other == "" || other == ns || slices.ContainsFunc(z.findGrants(x.place.fqdn, x.come.Type, ns), literal) {
		return nil
	}
	of, known := x.ruledFor(z, other)
	if !known || !of.allowsName(x.nameOf(Base(x.come.Owner)), other) {
		return nil
	}
	return x.refuseHeld()
}

// marks are the keys at which a record that lost leaves a mark.
type marks struct {
	keys []Key
	// below says that the record waits for a name below the owner to lose its holder.
	below bool
	// holder is the namespace for whose data the record waits (awaitedHolder).
	holder string
	// cut is the name of the cut above the record with NS records in its way; zero: there is none.
	cut name.Rel
}

// leaveMarks notes at each key that a record waits for something there to go (S2.7), and reports whether any says so
// now. Where the plan writes a key already, the mark is added to that write. A mark that is there is not written: so
// what is tried again in vain costs no write.
//
// A mark counts in no budget (S9.1), and stays when the record that left it goes. So a key that says nothing else
// gets a mark only where something strictly below is in the way, and a record there removes the mark when it goes. A
// refusal by a rule, by the zone's own hosts or by the record itself needs no mark, since no decision looks for one
// there. NS records that no namespace holds also remove the mark of what waits below them.
func (d *recordDecision) leaveMarks(plan *Plan, h *Holding, m marks) (marked bool) {
	for _, k := range m.keys {
		i := slices.IndexFunc(plan.Writes, func(x Write) bool { return x.Key == k })
		var value any
		there := false
		if i >= 0 {
			value = plan.Writes[i].Value
		}
		switch k.Kind {
		case KindOwner:
			o, _ := value.(*Owner)
			if i < 0 {
				o, _ = get[Owner](&d.reading, k)
			}
			if (o == nil || len(o.Values)+len(o.Cut) == 0) && !d.standsBelow {
				continue
			}
			there = o != nil && (m.below && o.WaitedBelow || !m.below && o.Waited)
			o = o.clone()
			o.Waited, o.WaitedBelow = o.Waited || !m.below, o.WaitedBelow || m.below
			value = o
		case KindHolders:
			at, _ := value.(*Holders)
			if i < 0 {
				at, _ = get[Holders](&d.reading, k)
			}
			if at.Holder() == "" && k.Owner != m.cut {
				continue
			}
			there = at != nil && at.Waited
			at = at.clone()
			at.Waited = true
			value = at
		case KindCount:
			c, _ := value.(*Count)
			if i < 0 {
				c, _ = get[Count](&d.reading, k)
			}
			there = c != nil && c.Waited
			c = c.clone()
			c.Waited = true
			value = c
		}
		if marked = true; there {
			continue
		}
		if i >= 0 {
			plan.Writes[i].Value = value
		} else {
			plan.Writes = append(plan.Writes, Write{Key: k, Value: value})
		}
	}
	return marked
}

// freesValue reports whether a value that stood at an owner is gone, so that what waited there may fit now. The
// number of objects that give a value does not matter, and neither does its TTL.
func freesValue(before, after *Owner) bool {
	return slices.ContainsFunc(before.Values, func(v OwnerValue) bool { return !after.hasValue(v.Type, v.Digest) })
}
