// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

// The brake on mass deletion (S7.5). The zone's own namespace is free to remove what it likes, and the API shows
// it at once; but what it removes in a short time is not delivered unasked when it is much of the zone.
//
// What is counted are RRsets: those that the zone had at a *base*, that its own namespace has removed since, and that
// are not put back. Bases are the contents that were settled within the last ten minutes, at most one for each
// minute; none is smaller than the next, since a smaller and earlier one never decides. The counters stand in one key of the
// zone (Deletions), and each RRset that went or came while there were bases in a key of its owner (Deleted), so that a removal costs
// two short values however large the zone is, and a write that puts an RRset back finds out by one key which bases had it. What has no such
// mark was in every base: how old a record is does not tell how old its RRset is.

const (
	// baseAge is for how many seconds a content counts after it was changed, and baseEvery how many lie between two bases.
	baseAge   = 600
	baseEvery = 60
	// minDeletions is how many RRsets have to go at least.
	minDeletions = 10
)

// Deletions count what the zone's own namespace has removed from earlier contents of the zone.
type Deletions struct {
	Bases []Former `json:"b,omitempty"`

	Unknown *Unknown `json:"-"`
}

// Former is a settled content that a zone had.
type Former struct {
	Serial serial.Serial `json:"s"`
	// N is the journal count at it, and RRsets how many it had.
	N      uint64 `json:"n"`
	RRsets int    `json:"r"`
	// Gone counts those that the zone's own namespace has removed since and that are not put back.
	Gone int `json:"g,omitempty"`
	// Last is until when it was what the zone contained, unix seconds.
	Last int64 `json:"t"`

	Unknown *Unknown `json:"-"`
}

// Deleted are the RRsets at one owner that the zone's own namespace has removed, or that came after a base.
type Deleted struct {
	RRsets []DeletedRRset `json:"d,omitempty"`

	Unknown *Unknown `json:"-"`
}

// DeletedRRset is one of them. Once At is not behind the zone's oldest base it says nothing any more.
type DeletedRRset struct {
	Type rdata.Type `json:"t"`
	// Came and At are the journal counts at which it came into the zone, and went; Came is 0 where every base had it, and At is Came where it was
	// not counted yet.
	Came uint64 `json:"c"`
	At   uint64 `json:"n"`
	// Back: it is there. When it goes once more, it is counted where it was counted before.
	Back bool `json:"b,omitempty"`

	Unknown *Unknown `json:"-"`
}

// Held: the zone is not delivered since its own namespace removed too much (S7.5).
type Held struct {
	// Serial is what is delivered meanwhile.
	Serial serial.Serial `json:"serial"`
	// Gone of RRsets were removed when it began, Percent of them at most may be.
	Gone    int   `json:"gone"`
	RRsets  int   `json:"rrsets"`
	Percent int64 `json:"percent"`
	Since   int64 `json:"since"`

	Unknown *Unknown `json:"-"`
}

// DeletionsKey and DeletedKey are the keys of these facts.
func DeletionsKey(zone string) Key { return Key{Kind: KindDeletions, Zone: zone} }
func DeletedKey(zone string, owner name.Rel) Key {
	return Key{Kind: KindDeleted, Zone: zone, Owner: owner}
}

// settledAt is the serial that is delivered of z.
func (z *Zone) settledAt(h *Holding) serial.Serial {
	if h.Settled() {
		return z.Serial
	}
	return z.SettledSerial
}

// Stale reports whether nothing in d counted any more at then, so that what was Deleted may be forgotten. A cascade or a hold
// keeps what there is.
func (d *Deletions) Stale(h *Holding, then int64) bool {
	return h.Held == nil && len(h.Works) == 0 && !slices.ContainsFunc(d.Bases, func(b Former) bool { return then-b.Last < baseAge })
}

// at are the bases that count at now. While cascades or a hold keep the zone unsettled there is no later content that is settled,
// so all of them do.
func (d *Deletions) at(h *Holding, now int64) []Former {
	if d == nil {
		return nil
	}
	bases := slices.Clone(d.Bases)
	if h.Held != nil || len(h.Works) > 0 && !h.Overdue {
		return bases
	}
	return slices.DeleteFunc(bases, func(b Former) bool {
		return now-b.Last >= baseAge || b.Last-now >= baseAge // the latter by a clock that was ahead
	})
}

// push adds the content that z has, which is about to lose RRsets. What is not delivered is no base: the content of a zone that is
// held, or was never settled.
func push(bases []Former, z *Zone, h *Holding, now int64) []Former {
	if h.Held != nil || z.settledAt(h) == 0 {
		return bases
	}
	for len(bases) > 0 {
		last := bases[len(bases)-1]
		if last.RRsets > z.RRsets || last.RRsets == z.RRsets && last.Gone > 0 {
			break // of what was there as much may have been replaced
		}
		bases = bases[:len(bases)-1] // this one is no smaller, and counts for longer
	}
	if n := len(bases); n > 0 && now-bases[n-1].Last < baseEvery {
		return bases
	}
	return append(bases, Former{Serial: z.settledAt(h), N: z.N, RRsets: z.RRsets, Last: now})
}

// exceeds reports whether more is gone than z lets go unasked.
func (b Former) exceeds(z *Zone) bool {
	return b.Gone >= minDeletions && int64(b.Gone)*100 > z.MaxDeletePercent*int64(b.RRsets)
}

// published reports whether the annotation of z lets through what goes since base: it names that serial or a later one
// that the zone has had.
func (z *Zone) published(base serial.Serial) bool {
	if z.Publish == nil {
		return false
	}
	at := serial.Serial(*z.Publish)
	return at != 0 && !base.Ahead(at) && !at.Ahead(z.Serial)
}

// brake counts a step of z in its deletions, and begins or ends the hold. own says that what goes is removed by the zone's own
// namespace, and cascade that a cascade does it. false: facts are needed.
func (r *reading) brake(plan *Plan, change *ZoneChange, z *Zone, own, cascade bool, now int64) bool {
	ttls, n := change.Step.TTLs, change.Step.N
	goes := own && slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.After == nil })
	comes := slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.Before == nil })
	if !goes && !comes && change.Holding.Held == nil {
		return true
	}
	stored, ok := get[Deletions](r, DeletionsKey(z.UID))
	if !ok {
		return false
	}
	bases := stored.at(change.Holding, now)
	if goes {
		bases = push(bases, z, change.Holding, now)
	}
	if len(bases) == 0 {
		return r.release(plan, change, now)
	}
	if goes && cascade {
		bases[0].Last = now // however long it takes, it was asked for at once
	}
	deleted := map[name.Rel]*Deleted{}
	for _, t := range ttls {
		if (t.After != nil || !goes) && t.Before != nil {
			continue
		}
		if _, known := deleted[t.Owner]; !known {
			d, ok := get[Deleted](r, DeletedKey(z.UID, t.Owner))
			if !ok {
				continue
			}
			deleted[t.Owner] = d.still(bases[0].N)
		}
		if t.After == nil {
			deleted[t.Owner].remove(bases, t.Type, n)
		} else {
			deleted[t.Owner].restore(bases, t.Type, n)
		}
	}
	if len(r.needs) > 0 {
		return false
	}
	for _, t := range ttls { // in order, each once
		if d := deleted[t.Owner]; d != nil {
			(*keys)(&plan.Writes).put(DeletedKey(z.UID, t.Owner), deletedFact(d))
		}
	}
	r.hold(plan, change, stored, bases, z.settledAt(change.Holding), goes, now)
	return true
}

// hold begins or ends the hold by what is counted, and writes that. goes: the zone's own namespace removes something now.
// settled is what was delivered until now.
func (r *reading) hold(plan *Plan, change *ZoneChange, stored *Deletions, bases []Former, settled serial.Serial, goes bool, now int64) {
	z, base := change.Zone, &bases[0]
	exceeds := base.exceeds(z) && !z.published(base.Serial)
	switch held := change.Holding.Held; {
	case held == nil && goes && exceeds:
		h := *change.Holding
		h.Held = &Held{Serial: settled, Gone: base.Gone, RRsets: base.RRsets, Percent: z.MaxDeletePercent, Since: now}
		change.Holding, change.Held = &h, true
		bases = bases[:1]
	case held != nil && !exceeds:
		h := *change.Holding
		h.Held = nil
		change.Holding = &h
		base.Last = now // until now it was what was delivered
	}
	next := &Deletions{Bases: bases}
	if stored != nil {
		if reflect.DeepEqual(stored.Bases, bases) {
			return
		}
		next.Unknown = stored.Unknown
	}
	(*keys)(&plan.Writes).put(DeletionsKey(z.UID), next)
}

// still is what counts of d since the oldest base, which stands at step oldest. It is a copy.
func (d *Deleted) still(oldest uint64) *Deleted {
	if d == nil {
		return &Deleted{}
	}
	out := *d
	out.RRsets = slices.DeleteFunc(slices.Clone(d.RRsets), func(x DeletedRRset) bool { return x.At <= oldest })
	return &out
}

func deletedFact(d *Deleted) any {
	if len(d.RRsets) == 0 {
		return nil
	}
	return d
}

func (d *Deleted) find(t rdata.Type) *DeletedRRset {
	for i := range d.RRsets {
		if d.RRsets[i].Type == t {
			return &d.RRsets[i]
		}
	}
	return nil
}

// remove counts an RRset that goes at step n in the bases that had it.
func (d *Deleted) remove(bases []Former, t rdata.Type, n uint64) {
	x := d.find(t)
	if x == nil {
		d.RRsets = append(d.RRsets, DeletedRRset{Type: t, Back: true})
		x = &d.RRsets[len(d.RRsets)-1]
	}
	for i := range bases {
		if b := &bases[i]; b.N >= x.Came && (x.Back || b.N >= x.At) { // else it is counted in this one
			b.Gone++
		}
	}
	x.At, x.Back = n, false
}

// restore takes an RRset that comes at step n out of the bases in which it was counted.
func (d *Deleted) restore(bases []Former, t rdata.Type, n uint64) {
	x := d.find(t)
	if x == nil {
		d.RRsets = append(d.RRsets, DeletedRRset{Type: t, Came: n, At: n, Back: true})
		return
	}
	if x.Back {
		return
	}
	for i := range bases {
		if b := &bases[i]; b.N >= x.Came && b.N < x.At && b.Gone > 0 {
			b.Gone--
		}
	}
	x.Back = true
}

// release ends the hold of a zone whose annotation or limit has changed. false: facts are needed.
func (r *reading) release(plan *Plan, change *ZoneChange, now int64) bool {
	if change.Holding.Held == nil {
		return true
	}
	stored, ok := get[Deletions](r, DeletionsKey(change.Zone.UID))
	if !ok {
		return false
	}
	bases := stored.at(change.Holding, now)
	if len(bases) == 0 { // nothing says any more why it is held
		h := *change.Holding
		h.Held = nil
		change.Holding = &h
		return true
	}
	r.hold(plan, change, stored, bases, change.Holding.Held.Serial, false, now)
	if z := change.Zone; change.Holding.Held != nil && z.Publish != nil {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("zone %s is still held by a mass deletion: kubi.zone/publish-deletions names serial %d, which is none that the zone had since the deletions began; name %d, which is delivered (S7.5)", z.FQDN(), *z.Publish, change.Holding.Held.Serial))
	}
	return true
}

// withdrawing warns that the records which a changed rule lets go may be too many to be delivered unasked.
func (d *zoneDecision) withdrawing(plan *Plan, z, before *Zone, holding *Holding) bool {
	if before.RRsets < minDeletions || z.MaxDeletePercent >= 100 || !slices.ContainsFunc(before.Rules, func(r Rule) bool {
		return !slices.ContainsFunc(z.Rules, func(s Rule) bool { return reflect.DeepEqual(r, s) })
	}) {
		return true
	}
	stored, ok := get[Deletions](&d.reading, DeletionsKey(z.UID))
	if !ok {
		return false
	}
	base := Former{Serial: before.settledAt(holding), RRsets: before.RRsets}
	if bases := stored.at(holding, d.ask.Now.Unix()); len(bases) > 0 {
		base = bases[0]
	}
	if !z.published(base.Serial) {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("a rule of zone %s went or changed: where more than %d %% of the %d RRsets that the zone has, and at least %d, go with it, "+
			"the zone is delivered as it is now until it has the annotation kubi.zone/publish-deletions: \"%d\", which may be set in the same change (S7.5)", z.FQDN(), z.MaxDeletePercent, base.RRsets, minDeletions, before.settledAt(holding)))
	}
	return true
}

// deletes reports whether what the record has in z and goes is removed by the zone's own namespace. What lies in
// another zone from now on is not. false: facts are needed.
func (d *recordDecision) deletes(z *Zone, gone *Contribution, stays bool) (own, known bool) {
	ask, by := &d.ask, d.ask.Namespace
	if ask.Cascade {
		by = ask.WorkBy
	}
	if gone == nil || by != z.Namespace || ask.Uncounted {
		return false, true
	}
	if ask.After == nil || stays {
		return true, true
	}
	at, err := gone.Owner.In(z.FQDN())
	if err != nil {
		return true, true
	}
	_, h, known := d.longest(z.View, at)
	return h != nil && h.UID == z.UID, known
}
