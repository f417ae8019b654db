// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

// The brake on mass deletion (S7.5). The zone's own namespace is free to remove what it likes, and the API shows
// it at once; but what it removes in a short time is not delivered unasked when it is much of the zone.
//
// The last NS at the apex counts for the whole zone: without it BIND serves nothing of the zone.
//
// What is counted are RRsets: those that the zone had at a *base*, that its own namespace has removed since, and that
// it has not put back: what other namespaces write at these names neither ends nor prolongs a hold. Bases are the
// contents that were settled within the last ten minutes, at most one for each minute in which the zone has not
// doubled, and each decides: however much came since, what is gone of an earlier one stays counted. The counters
// stand in one key of the zone (Deletions), and each RRset that went or came while there were bases in a key of its
// owner (Deleted), so that a removal costs two short values however large the zone is, and a write that puts an RRset
// back finds out by one key which bases had it. An RRset without such a mark was in every base: how old a record is
// does not tell how old its RRset is.

const (
	// baseAge is the number of seconds for which a content counts after it was changed, and baseEvery the number
	// between two bases.
	baseAge   = 600
	baseEvery = 60
	// minDeletions is how many RRsets have to go at least.
	minDeletions = 10
)

// Deletions counts what the zone's own namespace has removed from earlier contents of the zone.
type Deletions struct {
	Bases []PastContent `json:"b,omitempty"`
}

// PastContent is a base: a settled content that the zone had, of which removals are counted.
type PastContent struct {
	Serial serial.Serial `json:"s"`
	// N is its journal count, and RRsets its number of RRsets.
	N      uint64 `json:"n"`
	RRsets int    `json:"r"`
	// Gone is the number of RRsets that the zone's own namespace has removed since and that are not put back.
	Gone int `json:"g,omitempty"`
	// Last is the time until which the zone had this content, unix seconds.
	Last int64 `json:"t"`
}

// Deleted lists the RRsets at one owner that the zone's own namespace has removed, or that came after a base.
type Deleted struct {
	RRsets []DeletedRRset `json:"d,omitempty"`
}

// DeletedRRset is one such RRset. Once the last of its steps is not behind the zone's oldest base it says nothing:
// every base had it, or none.
type DeletedRRset struct {
	Type rdata.Type `json:"t"`
	// Spans are the times at which the zone had it, in order, so far as they tell bases apart.
	Spans []Span `json:"p,omitempty"`
	// At is the journal count at which the zone's own namespace removed it. It is gone from the bases before that
	// which had it. 0: it was not removed, or is put back.
	At uint64 `json:"n,omitempty"`
	// Of is the namespace of its record, where that went with a rule that was withdrawn; "": the zone's own.
	Of string `json:"o,omitempty"`
}

// Span is from the step (a journal count) at which an RRset came, 0 where every base had it, to the one at which it
// went, 0 where it is there.
type Span struct {
	From uint64 `json:"f,omitempty"`
	To   uint64 `json:"t,omitempty"`
}

// Held says why and since when a zone is not delivered: its own namespace removed too much (S7.5).
type Held struct {
	// Serial is what is delivered meanwhile.
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	// Cut is what the last parent counted for the zone, with owners relative to the root. Another parent counts it
	// too (Holding.Counts).
	Cut *CountedCut `json:"cut,omitempty"`
}

// Excess is why a zone is held, as it was last counted. It is no part of Held, since then each removal would write
// the holding, and none could share a transaction.
type Excess struct {
	// Gone of RRsets are removed; Percent of them may be.
	Gone, RRsets int
	Percent      int64
	// NameServers says that the last NS at the apex is among them.
	NameServers bool
}

// Allowed is how many RRsets may be missing.
func (e *Excess) Allowed() int { return max(minDeletions-1, int(e.Percent*int64(e.RRsets)/100)) }

// TooMany reports whether more are gone than Allowed.
func (e *Excess) TooMany() bool { return e.Gone > e.Allowed() }

// Holds reports whether what is gone is not delivered unasked.
func (e *Excess) Holds() bool {
	return e.TooMany() || e.NameServers && e.RRsets >= minDeletions && e.Percent < 100
}

// String is what is gone.
func (e *Excess) String() string {
	var parts []string
	if e.NameServers {
		parts = append(parts, "the last NS record at the apex")
	}
	if e.TooMany() {
		parts = append(parts, fmt.Sprintf("%d of its %d RRsets, more than %d %%", e.Gone, e.RRsets, e.Percent))
	}
	return strings.Join(parts, ", and ")
}

// DeletionsKey asks for the bases of a zone, and DeletedKey for the marks at one owner.
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

// Stale reports whether nothing in d counted any more at then, so that the marks of the zone may be removed. A
// cascade or a hold keeps them.
func (d *Deletions) Stale(h *Holding, then int64) bool {
	return h.Held == nil && len(h.Works) == 0 && !slices.ContainsFunc(d.Bases, func(b PastContent) bool { return then-b.Last < baseAge })
}

// countingBases returns the bases that count at now. While cascades or a hold keep the zone unsettled it has no later
// settled content, so the bases of that moment count on.
func (d *Deletions) countingBases(h *Holding, now int64) []PastContent {
	if d == nil {
		return nil
	}
	bases := slices.Clone(d.Bases)
	if h.Held != nil {
		return bases
	}
	since := now
	if len(h.Works) > 0 && !h.Overdue {
		since = min(now, h.Unsettled)
	}
	return slices.DeleteFunc(bases, func(b PastContent) bool {
		return since-b.Last >= baseAge || b.Last-now >= baseAge // the latter by a clock that was ahead
	})
}

// addBase adds the content that z has and is about to lose RRsets of. Content that is not delivered is no base: that
// of a zone which is held, or was never settled.
func addBase(bases []PastContent, z *Zone, h *Holding, now int64) []PastContent {
	if h.Held != nil || z.settledAt(h) == 0 {
		return bases
	}
	for len(bases) > 0 {
		last := bases[len(bases)-1]
		if last.Gone > 0 || last.RRsets > z.RRsets {
			break
		}
		bases = bases[:len(bases)-1] // z has all that this base had, and counts for longer
	}
	if n := len(bases); n > 0 && now-bases[n-1].Last < baseEvery && z.RRsets < 2*bases[n-1].RRsets {
		return bases
	}
	return append(bases, PastContent{Serial: z.settledAt(h), N: z.N, RRsets: z.RRsets, Last: now})
}

// countExcess returns what of z is gone since b. ns is the mark of the NS RRset at the apex, nil where that stands or
// is not looked at.
func (b PastContent) countExcess(z *Zone, ns *DeletedRRset) *Excess {
	return &Excess{Gone: b.Gone, RRsets: b.RRsets, Percent: z.MaxDeletePercent, NameServers: ns != nil && ns.GoneFrom(b.N) && len(z.Header.NameServers) == 0}
}

// deletionsPublished reports whether all that the zone's own namespace removes at now is delivered: the annotation
// changed to one that says so less than ten minutes ago, or while a cascade of that namespace stood that still
// stands.
func (h *Holding) deletionsPublished(now int64) bool {
	if h.Published == 0 {
		return false
	}
	return now-h.Published < baseAge && h.Published-now < baseAge || // the latter by a clock that was ahead
		slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own && w.Since <= h.Published })
}

// publishDeletions lets through what the zone's own namespace has removed, where the annotation changes and names a
// serial that the zone has had since then. Nothing of it counts any more. false: facts are needed.
func (d *zoneDecision) publishDeletions(plan *Plan, change *ZoneChange, before *Zone) bool {
	z, now := change.Zone, d.ask.Now.Unix()
	if reflect.DeepEqual(before.Publish, z.Publish) {
		return true
	}
	h := *change.Holding
	h.Published = 0
	if z.Publish != nil {
		stored, ok := get[Deletions](&d.reading, DeletionsKey(z.UID))
		if !ok {
			return false
		}
		since, at := before.settledAt(&h), serial.Serial(*z.Publish)
		if bases := stored.countingBases(&h, now); len(bases) > 0 {
			since = bases[0].Serial
		}
		if at != 0 && !since.Ahead(at) && !at.Ahead(ToPublish(before.Serial, before.Publish)) || h.Held != nil && at == h.Held.Serial {
			h.Published = now
			if stored != nil && len(stored.Bases) > 0 {
				(*keys)(&plan.Writes).put(DeletionsKey(z.UID), &Deletions{})
			}
		}
	}
	change.Holding = &h
	if h.Published != 0 && h.Held != nil {
		change.endHold(plan)
	}
	return true
}

// ToPublish is the serial for the annotation that lets a zone through, of which settled is delivered. It differs from
// the serial that the annotation has, since only a change counts.
func ToPublish(settled serial.Serial, annotation *uint32) serial.Serial {
	if annotation != nil && serial.Serial(*annotation) == settled {
		return settled.Next()
	}
	return settled
}

// rrset names an RRset of a zone.
type rrset struct {
	owner name.Rel
	t     rdata.Type
}

// moved is what a step takes from a zone and gives it.
type moved struct {
	// of is the namespace of the record or the child zone that changes, and put are the RRsets that the zone gets
	// from it.
	of  string
	put []rrset
	// edited is the RRset that the record gave at the owner of put until now, where it gives one of another type
	// there; nil: it is no such edit.
	edited *rrset
	// own says that the zone's own namespace removes what goes, and cascade that a cascade does it.
	own, cascade bool
}

// countDeletions counts what the step removes from z and puts back, and begins or ends the hold. false: facts are
// needed.
func (r *reading) countDeletions(plan *Plan, change *ZoneChange, z *Zone, m moved, now int64) bool {
	var ttls []content.TTLChange
	n := change.Zone.N
	if change.Step != nil {
		ttls = change.Step.TTLs
	}
	leaves := slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.After == nil })
	comes := len(m.put) > 0 || slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.Before == nil })
	if !leaves && !comes && change.Holding.Held == nil {
		return true
	}
	stored, ok := get[Deletions](r, DeletionsKey(z.UID))
	if !ok {
		return false
	}
	bases := stored.countingBases(change.Holding, now)
	replaced, known := r.replacedRRset(z, m, ttls, bases)
	if !known {
		return false
	}
	goes := m.own && leaves && replaced == nil && !change.Holding.deletionsPublished(now)
	if goes {
		bases = addBase(bases, z, change.Holding, now)
	}
	if len(bases) == 0 {
		if stored != nil && len(stored.Bases) > 0 { // a clock that is behind would count by them, and not know what comes and goes now
			(*keys)(&plan.Writes).put(DeletionsKey(z.UID), &Deletions{})
		}
		return r.releaseHold(plan, change, now)
	}
	if goes && m.cascade {
		bases[len(bases)-1].Last = now // however long it takes, it was asked for at once
	}
	of := m.of
	if of == z.Namespace {
		of = ""
	}
	deleted, changed := map[name.Rel]*Deleted{}, []name.Rel(nil)
	mark := func(owner name.Rel, change func(*Deleted) bool) {
		d := deleted[owner]
		if d == nil {
			fact, ok := get[Deleted](r, DeletedKey(z.UID, owner))
			if !ok {
				return
			}
			d = fact.countedSince(bases[0].N)
			deleted[owner] = d
		}
		if change(d) && !slices.Contains(changed, owner) {
			changed = append(changed, owner)
		}
	}
	for _, t := range ttls {
		switch {
		case replaced != nil && t.After == nil:
			mark(t.Owner, func(d *Deleted) bool { return d.replaceRRset(t.Type, m.put[0].t) })
		case replaced != nil && t.Before == nil: // it has the mark of the other one
		case t.After == nil && goes:
			mark(t.Owner, func(d *Deleted) bool { return d.countRemoved(bases, t.Type, n, of) })
		case t.After == nil:
			mark(t.Owner, func(d *Deleted) bool { return d.noteUncounted(t.Type) })
		case t.Before == nil:
			mark(t.Owner, func(d *Deleted) bool { return d.noteComing(t.Type, n) })
		}
	}
	for _, x := range m.put {
		mark(x.owner, func(d *Deleted) bool { return d.restoreRRset(bases, x.t, of) })
	}
	var ns *DeletedRRset
	if change.Holding.Held != nil || goes && slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.After == nil && t.Owner.IsApex() && t.Type == rdata.NS }) {
		mark(name.Apex, func(d *Deleted) bool { ns = d.findRRset(rdata.NS); return false })
	}
	if len(r.needs) > 0 {
		return false
	}
	for _, owner := range changed {
		(*keys)(&plan.Writes).put(DeletedKey(z.UID, owner), deletedFact(deleted[owner]))
	}
	updateHold(plan, change, stored, bases, ns, z.settledAt(change.Holding), goes, now)
	return true
}

// replacedRRset is the RRset that goes by an edit of a record to another type at its name, where the one that comes
// takes its place: it counts in the bases that had the other, and nothing is removed (S7.5). nil: there is none. The
// bases have both where the one that comes was there before, or was removed. NS at the apex count by themselves. known
// false: facts are needed.
func (r *reading) replacedRRset(z *Zone, m moved, ttls []content.TTLChange, bases []PastContent) (replaced *rrset, known bool) {
	was := m.edited
	if was == nil || was.owner.IsApex() && (was.t == rdata.NS || m.put[0].t == rdata.NS) {
		return nil, true
	}
	if !slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.Type == was.t && t.After == nil }) {
		return nil, true
	}
	comes := slices.ContainsFunc(ttls, func(t content.TTLChange) bool { return t.Type == m.put[0].t && t.Before == nil })
	if len(bases) > 0 {
		fact, known := get[Deleted](r, DeletedKey(z.UID, was.owner))
		if !known {
			return nil, false
		}
		if x := fact.countedSince(bases[0].N).findRRset(m.put[0].t); x != nil {
			comes = x.At == 0 && x.Spans[0].From > bases[len(bases)-1].N
		}
	}
	if !comes {
		return nil, true
	}
	return was, true
}

// updateHold begins or ends the hold by what is counted, and writes the count. ns is the mark of the NS RRset at the
// apex, where the zone is held or this step removes it. goes says that the zone's own namespace removes something in
// this step. settled is the serial that was delivered until now.
func updateHold(plan *Plan, change *ZoneChange, stored *Deletions, bases []PastContent, ns *DeletedRRset, settled serial.Serial, goes bool, now int64) {
	z, held := change.Zone, change.Holding.Held != nil
	first := slices.IndexFunc(bases, func(b PastContent) bool { return b.countExcess(z, ns).Holds() })
	switch {
	case first >= 0 && (held || goes):
		change.Excess = bases[first].countExcess(z, ns)
		if !held {
			h := *change.Holding
			h.Held = &Held{Serial: settled, Since: now}
			change.Holding, change.Held = &h, true
			bases = []PastContent{bases[first]}
		}
	case held:
		change.endHold(plan)
		bases[0].Last = now // until now it was what was delivered
	}
	if stored == nil || !reflect.DeepEqual(stored.Bases, bases) {
		(*keys)(&plan.Writes).put(DeletionsKey(z.UID), &Deletions{Bases: bases})
	}
}

// endHold ends the hold, and has the parent count the zone's name servers anew, which it has kept (Holding.Counts).
func (c *ZoneChange) endHold(plan *Plan) {
	h := *c.Holding
	h.Held = nil
	c.Holding = &h
	plan.oweCut(h.Parent, c.Zone.Ref, c.Zone.View, c.Zone.FQDN())
}

// Counts reports whether a decision may look at anything of d, where oldest is the step of the oldest base.
func (d *Deleted) Counts(oldest uint64) bool { return len(d.countedSince(oldest).RRsets) > 0 }

// countedSince returns a copy of what counts of d since the oldest base, which stands at step oldest.
func (d *Deleted) countedSince(oldest uint64) *Deleted {
	if d == nil {
		return &Deleted{}
	}
	out := *d
	out.RRsets = slices.DeleteFunc(slices.Clone(d.RRsets), func(x DeletedRRset) bool { return x.lastStep() <= oldest })
	for i := range out.RRsets {
		out.RRsets[i].Spans = slices.Clone(out.RRsets[i].Spans)
	}
	return &out
}

func deletedFact(d *Deleted) any {
	if len(d.RRsets) == 0 {
		return nil
	}
	return d
}

func (d *Deleted) findRRset(t rdata.Type) *DeletedRRset {
	for i := range d.RRsets {
		if d.RRsets[i].Type == t {
			return &d.RRsets[i]
		}
	}
	return nil
}

// In reports whether the content after step n had the RRset.
func (x *DeletedRRset) In(n uint64) bool {
	return slices.ContainsFunc(x.Spans, func(s Span) bool { return s.From <= n && (s.To == 0 || n < s.To) })
}

// GoneFrom reports whether the RRset is counted in the base that stands at step n.
func (x *DeletedRRset) GoneFrom(n uint64) bool { return n < x.At && x.In(n) }

// lastStep is the last step at which something happened to the RRset.
func (x *DeletedRRset) lastStep() uint64 {
	last := x.At
	for _, s := range x.Spans {
		last = max(last, s.From, s.To)
	}
	return last
}

// countRemoved counts an RRset that goes at step n in the bases that had it, unless they count it already. of is the
// namespace that had it. An RRset that was in no base leaves no mark.
func (d *Deleted) countRemoved(bases []PastContent, t rdata.Type, n uint64, of string) bool {
	x := d.findRRset(t)
	if x == nil {
		d.RRsets = append(d.RRsets, DeletedRRset{Type: t, Spans: []Span{{}}})
		x = &d.RRsets[len(d.RRsets)-1]
	}
	if last := len(x.Spans) - 1; last >= 0 && x.Spans[last].To == 0 {
		x.Spans[last].To = n
	}
	x.Spans = slices.DeleteFunc(x.Spans, func(s Span) bool {
		return !slices.ContainsFunc(bases, func(b PastContent) bool { return s.From <= b.N && b.N < s.To })
	})
	for i := range bases {
		if b := &bases[i]; b.N >= x.At && x.In(b.N) {
			b.Gone++
		}
	}
	if len(x.Spans) == 0 {
		d.dropRRset(t)
		return true
	}
	if x.At == 0 {
		x.Of = of // else an RRset of another namespace stood there meanwhile, and the earlier one is still to be put back
	}
	x.At = n
	return true
}

// noteUncounted notes an RRset that goes and is not counted. If the zone's own namespace puts one there and removes
// it later, that is another RRset, which the bases until now did not have.
func (d *Deleted) noteUncounted(t rdata.Type) bool {
	x := d.findRRset(t)
	if x == nil {
		return false
	}
	x.Spans = slices.DeleteFunc(x.Spans, func(s Span) bool { return s.From >= x.At })
	if len(x.Spans) == 0 {
		d.dropRRset(t)
	}
	return true
}

// replaceRRset gives the RRset to the place that the RRset from has in the bases, as from goes.
func (d *Deleted) replaceRRset(from, to rdata.Type) bool {
	changed := d.findRRset(to) != nil
	d.dropRRset(to)
	x := d.findRRset(from)
	if x == nil {
		return changed // every base had it
	}
	if x.At == 0 {
		x.Type = to
		return true
	}
	i := slices.IndexFunc(x.Spans, func(s Span) bool { return s.To == 0 })
	if i < 0 {
		return changed
	}
	stands := x.Spans[i] // the earlier ones are still to be put back
	x.Spans = slices.Delete(x.Spans, i, i+1)
	d.RRsets = append(d.RRsets, DeletedRRset{Type: to, Spans: []Span{stands}})
	return true
}

// noteComing notes an RRset that comes at step n.
func (d *Deleted) noteComing(t rdata.Type, n uint64) bool {
	x := d.findRRset(t)
	if x == nil {
		d.RRsets = append(d.RRsets, DeletedRRset{Type: t})
		x = &d.RRsets[len(d.RRsets)-1]
	}
	x.Spans = append(x.Spans, Span{From: n})
	return true
}

// restoreRRset takes an RRset out of the bases that count it, where the namespace of gives it and may do so.
func (d *Deleted) restoreRRset(bases []PastContent, t rdata.Type, of string) bool {
	x := d.findRRset(t)
	if x == nil || x.At == 0 || of != "" && of != x.Of {
		return false
	}
	for i := range bases {
		if b := &bases[i]; x.GoneFrom(b.N) {
			b.Gone--
		}
	}
	x.At, x.Of = 0, ""
	return true
}

func (d *Deleted) dropRRset(t rdata.Type) {
	d.RRsets = slices.DeleteFunc(d.RRsets, func(x DeletedRRset) bool { return x.Type == t })
}

// releaseHold ends the hold of a zone whose annotation or limit has changed. false: facts are needed.
func (r *reading) releaseHold(plan *Plan, change *ZoneChange, now int64) bool {
	if change.Holding.Held == nil {
		return true
	}
	stored, ok := get[Deletions](r, DeletionsKey(change.Zone.UID))
	if !ok {
		return false
	}
	bases := stored.countingBases(change.Holding, now)
	if len(bases) == 0 { // nothing says any more why it is held
		change.endHold(plan)
		return true
	}
	marks, ok := get[Deleted](r, DeletedKey(change.Zone.UID, name.Apex))
	if !ok {
		return false
	}
	updateHold(plan, change, stored, bases, marks.countedSince(bases[0].N).findRRset(rdata.NS), change.Holding.Held.Serial, false, now)
	if z := change.Zone; change.Holding.Held != nil && z.Publish != nil {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("zone %s is still held by a mass deletion, which kubi.zone/publish-deletions: \"%d\" does not let through: it is older than the deletions, or names none of the serials since they began; "+
			"name %d (S7.5)", z.FQDN(), *z.Publish, ToPublish(change.Holding.Held.Serial, z.Publish)))
	}
	return true
}

// warnOfWithdrawnRules warns that the records which a changed rule lets go may be too many to be delivered unasked.
func (d *zoneDecision) warnOfWithdrawnRules(plan *Plan, change *ZoneChange, before *Zone) {
	z := change.Zone
	if !slices.ContainsFunc(before.Rules, func(r Rule) bool {
		return !slices.ContainsFunc(z.Rules, func(s Rule) bool { return reflect.DeepEqual(r, s) })
	}) {
		return
	}
	warnOfMassDeletion(plan, z, change.Holding, d.ask.Now.Unix(), before)
}

// isOwnDeletion reports whether the zone's own namespace removes the contribution of the record that goes. A record
// that lies in another zone from now on does not count. known false: facts are needed.
func (d *recordDecision) isOwnDeletion(z *Zone, gone *Contribution, stays bool) (own, known bool) {
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
	_, h, known := d.findEnclosing(z.View, at)
	return h != nil && h.UID == z.UID, known
}
