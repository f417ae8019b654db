// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// A record moves in two transactions (I1). The first takes it from its zone and reserves its place in the other zone,
// and the second takes it in there. The reservation is in the holding of the zone that gains the record, which every
// write of that zone compares. So all that could be in the record's way there is decided as if it had come: its hold
// on the name, its type beside others, the limits, and what may be made above or below it (S2.6).

// maxReserved bounds the records that are on their way to a zone: all of them stand in the zone's holding, which
// every server keeps in memory.
const maxReserved = 64

// Reservation is the place of a record that is on its way to a zone.
type Reservation struct {
	// ID of the outbox item that brings the record.
	ID string `json:"id"`
	// UID and Namespace of the record.
	UID       string     `json:"uid"`
	Namespace string     `json:"n"`
	Owner     name.Rel   `json:"o"`
	Type      rdata.Type `json:"t"`
	// Values it has, and their length on the wire in octets.
	Values int `json:"v"`
	Octets int `json:"s"`
	// Absolute says that the record's name does not follow a rename of the zone.
	Absolute  bool      `json:"abs,omitempty"`
	Admission Admission `json:"a"`
	// N is the zone's journal count when the place was reserved: its turn at the name (S4.6).
	N uint64 `json:"at"`
}

// Move is a record on its way: what its outbox item names.
type Move struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// To is the zone that its place is reserved in.
	To Place `json:"to"`
	// By is the user who moved it, for the journal.
	By string `json:"by,omitempty"`
}

// reservationOf is the record's own place in the zone, nil for none.
func (h *Holding) reservationOf(uid string) *Reservation {
	if i := slices.IndexFunc(h.Reserved, func(r Reservation) bool { return r.UID == uid }); i >= 0 {
		return &h.Reserved[i]
	}
	return nil
}

// ownerWithReserved returns the owner with the values that are reserved there for records other than uid. No other
// value equals these.
func (h *Holding) ownerWithReserved(o *Owner, owner name.Rel, uid string) *Owner {
	for _, r := range h.Reserved {
		if r.Owner != owner || r.UID == uid {
			continue
		}
		o = o.clone()
		for i := range r.Values {
			o.Values = append(o.Values, OwnerValue{Type: r.Type, Digest: DigestOf(fmt.Sprintf("%s reserved %d", r.UID, i)), Count: 1, Size: (r.Octets + i) / r.Values})
		}
		slices.SortFunc(o.Values, compareOwnerValues)
	}
	return o
}

// reservedFor returns the namespace for which base name is reserved, ns itself before others; "" for none.
func (h *Holding) reservedFor(base name.Rel, ns string) string {
	holder := ""
	for _, r := range h.Reserved {
		if r.Admission != AdmittedPlain || Base(r.Owner) != base {
			continue
		}
		if r.Namespace == ns {
			return ns
		}
		holder = r.Namespace
	}
	return holder
}

// reservesForeign reports whether the place of a record of another namespace than ns that
// may not be cut off is reserved at or below owner (S3.6).
func (h *Holding) reservesForeign(owner name.Rel, ns string) bool {
	return slices.ContainsFunc(h.Reserved, func(r Reservation) bool {
		return r.Namespace != ns && r.Admission != AdmittedUnderscore && encloses(owner, r.Owner)
	})
}

// countReserved counts the records of ns on their way here, but uid.
func (h *Holding) countReserved(ns, uid string) (n int64) {
	for _, r := range h.Reserved {
		if r.Namespace == ns && r.UID != uid {
			n++
		}
	}
	return n
}

// withoutReservation returns the holding without the reservation of an outbox item.
func (h *Holding) withoutReservation(id string) *Holding {
	out := *h
	out.Reserved = slices.DeleteFunc(slices.Clone(h.Reserved), func(r Reservation) bool { return r.ID == id })
	if len(out.Reserved) == 0 {
		out.Reserved = nil
	}
	return &out
}

// moveRecord decides a client's change that takes the record from home to the zone of p. Where that zone refuses the
// record, the change is refused and nothing is written.
func (d *recordDecision) moveRecord(plan *Plan, home *Zone, homeHolding *Holding, p *place) (*Plan, *Refusal) {
	ask := &d.ask
	if len(p.holding.Reserved) >= maxReserved {
		return nil, forbidden(ReasonMoving, "%d records are on their way to zone %s, and no more can be at a time (S2.6; try again)", len(p.holding.Reserved), p.zone.FQDN())
	}
	// The release asks for these, in the same rounds as the arrival for its own.
	owner := ask.Before.Owner
	soon := []Key{OwnerKey(home.UID, owner), HoldersKey(home.UID, Base(owner)), MemberKey(home.UID, owner, ask.Namespace, ask.Name), CountKey(home.UID, ask.Namespace)}
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		soon = append(soon, OwnerKey(home.UID, up))
	}
	d.askAll(soon)
	there, refusal := d.changeZone(&Plan{}, p.zone, p.holding, p, nil)
	if len(d.needs) > 0 || refusal != nil {
		return nil, refusal
	}
	r := Reservation{ID: ask.WorkID + "-move", UID: ask.UID, Namespace: ask.Namespace, Owner: p.owner, Type: ask.After.Type,
		Values: len(ask.After.Values), Absolute: ask.After.Absolute(), N: p.zone.N}
	sizes, refusal := packValues(p.zone.FQDN(), &Contribution{Owner: p.owner, Type: r.Type, Values: ask.After.Values})
	if refusal != nil {
		return nil, refusal
	}
	for _, n := range sizes {
		r.Octets += n
	}
	for _, x := range there.Writes {
		if m, ok := x.Value.(*Member); ok && x.Key.Kind == KindMember {
			r.Admission = m.Admission
		}
	}
	plan.Orphan = p.waitingFor(ask.After)
	plan.Orphan.Left = r.Admission
	plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: ReasonMoving, Message: fmt.Sprintf("moves to zone %s, where its place is reserved", p.zone.FQDN())}
	if plan, refusal = d.leaveHome(plan, home, homeHolding); len(d.needs) > 0 || refusal != nil {
		return nil, refusal
	}
	plan.Rule, plan.Warnings, plan.Arrival = there.Rule, append(plan.Warnings, there.Warnings...), there.Record
	h := *p.holding
	h.Reserved = append(slices.Clone(h.Reserved), r)
	plan.Writes = append(plan.Writes, Write{Key: HoldingKey(p.zone.View, p.zone.FQDN()), Value: &h})
	plan.Move = &Work{ID: r.ID, Reason: fmt.Sprintf("a record moves from zone %s to zone %s", home.FQDN(), p.zone.FQDN()), View: p.view, By: ask.Namespace, Since: ask.Now.Unix(),
		Move: &Move{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID, To: Place{Ref: p.zone.Ref, View: p.zone.View, FQDN: p.zone.FQDN()}, By: ask.By}}
	return plan, nil
}

// endMove ends the move that a plan carries out: the reservation goes with it.
// workID names the item that tries again what the reserved place kept out, where
// the record did not take it.
func (r *reading) endMove(plan *Plan, work *Work, workID string) {
	z, h, ok := r.standingAt(work.Move.To)
	if !ok || z == nil {
		return // where it is gone, so is the reservation
	}
	i := slices.IndexFunc(h.Reserved, func(x Reservation) bool { return x.ID == work.ID })
	if i < 0 {
		return
	}
	place := h.Reserved[i]
	if plan.Zone != nil && plan.Zone.Zone.UID == z.UID {
		h = plan.Zone.Holding.withoutReservation(work.ID)
		plan.Zone.Holding = h
	} else {
		h = h.withoutReservation(work.ID)
	}
	(*keys)(&plan.Writes).put(HoldingKey(z.View, z.FQDN()), h)
	at, err := place.Owner.In(z.FQDN())
	if err != nil || plan.Record != nil && plan.Record.Zone != nil && plan.Record.Zone.UID == z.UID && plan.Record.FQDN == at {
		return
	}
	base, _ := Base(place.Owner).In(z.FQDN())
	scans := []Scan{{Kind: ScanWaiting, View: z.View, Name: base}}
	for up, ok := place.Owner.Parent(); ok; up, ok = up.Parent() {
		if n, err := up.In(z.FQDN()); err == nil && n != base {
			scans = append(scans, Scan{Kind: ScanWaiting, View: z.View, Name: n, Exact: up.IsApex()})
		}
	}
	if _, waits := h.letGo(place.Owner); waits {
		scans = append(scans, pendingBelow(z.Ref, z.View, z.FQDN()))
	}
	if z.RecordsPerNamespace > 0 {
		scans = append(scans, Scan{Kind: ScanWaiting, View: z.View, Name: z.FQDN()})
	}
	if plan.Work != nil {
		plan.Work.Scans = append(plan.Work.Scans, scans...)
		return
	}
	plan.Work = &Work{ID: workID, Reason: fmt.Sprintf("a place reserved in zone %s became free", z.FQDN()), View: z.View, Scans: scans,
		Zones: []Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}, By: work.By, Since: work.Since}
}

// DecideMoved ends a move whose record has gone, or has a place by another write:
// its reservation goes. workID is as in RecordAsk.
func DecideMoved(seen *Seen, work *Work, workID string) Outcome {
	d := new(beginReading(seen))
	plan := &Plan{}
	d.endMove(plan, work, workID)
	return d.outcome(plan, nil)
}
