// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// The brake on mass deletion (S7.5). The zone's own namespace is free to remove what it likes, and the API shows it at
// once; but what it takes from the zone in a short time is not delivered unasked when it is much of the zone.
//
// What is counted is one number, which stands in the Zone: the RRsets that the acts of that namespace have put into the
// zone, less those that they have taken. It is held against the least numbers of earlier periods of ten minutes: what
// stood throughout one. So nothing that other namespaces write or remove begins a hold or ends one, and what is
// younger than a period is nowhere counted. Each of the numbers changes with the Zone's object alone.

const (
	// periodSeconds is the length of a period.
	periodSeconds = 600
	// minRRsets is how many RRsets a zone has at least that is held.
	minRRsets = 10
)

// Deletions are the numbers by which a mass deletion is found.
type Deletions struct {
	// Own is the number of RRsets that the zone's own namespace has put since the zone was made, less those that it
	// has taken. Only differences of it mean something.
	Own int
	// Since is when the present period began, unix seconds.
	Since int64
	// Least has the least numbers of the present period, of the one before, and of the one before that. It lacks the
	// content since the last write, which the next write adds.
	Least [3]Stock
}

// Stock is what a zone had: RRsets, and Own as in Deletions.
type Stock struct {
	RRsets int `json:"rrsets"`
	Own    int `json:"own"`
}

// Held says why and since when a zone is not delivered: its own namespace removed too much (S7.5).
type Held struct {
	// Serial is what is delivered meanwhile.
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	// Had is what stood throughout the period against which is counted.
	Had Stock `json:"had"`
	// NameServers says that the zone's own namespace took the last NS at the apex, and has not put any back.
	NameServers bool `json:"nameServers,omitempty"`
}

// Excess is what the zone's own namespace has taken, and may take.
type Excess struct {
	// Gone of RRsets are removed; Percent of them may be.
	Gone, RRsets int
	Percent      int64
	// NameServers says that the last NS at the apex is among them.
	NameServers bool
}

// ExcessOf compares what z has now with what it had.
func (z *Zone) ExcessOf(h *Held) *Excess {
	return &Excess{Gone: h.Had.Own - z.Deletions.Own, RRsets: h.Had.RRsets, Percent: z.MaxDeletePercent,
		NameServers: h.NameServers && len(z.Header.NameServers) == 0}
}

// Allowed is how many RRsets may be missing.
func (e *Excess) Allowed() int { return int(e.Percent * int64(e.RRsets) / 100) }

// TooMany reports whether more are gone than Allowed.
func (e *Excess) TooMany() bool { return e.Gone > e.Allowed() }

// Holds reports whether what is gone is not delivered unasked.
func (e *Excess) Holds() bool {
	return e.RRsets >= minRRsets && e.Percent < 100 && (e.NameServers || e.TooMany())
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

// settledAt is the serial that is delivered of z.
func (z *Zone) settledAt(h *Holding) serial.Serial {
	if h.Settled() {
		return z.Serial
	}
	return z.SettledSerial
}

// advanceTo returns d at now, where the zone has stood at last since the last write. A clock that went back begins the
// period anew, with all that is known of it.
func (d Deletions) advanceTo(now int64, last Stock) Deletions {
	d.Least[0] = Stock{min(d.Least[0].RRsets, last.RRsets), min(d.Least[0].Own, last.Own)}
	if now < d.Since {
		d.Since = now
		return d
	}
	passed := (now - d.Since) / periodSeconds
	for range min(passed, int64(len(d.Least))) {
		d.Least = [...]Stock{last, d.Least[0], d.Least[1]}
	}
	d.Since += passed * periodSeconds
	return d
}

// restart begins the periods anew: z had what is given until now.
func (d *Deletions) restart(now int64, z *Zone, had Stock) {
	d.Since, d.Least = now, [...]Stock{{z.RRsets, d.Own}, had, had}
}

// stock is what z has.
func (z *Zone) stock() Stock { return Stock{z.RRsets, z.Deletions.Own} }

// taken is what a step counts for.
type taken struct {
	// own says that the step is an act of the zone's own namespace, which counts.
	own bool
	// nameServers says that the last NS at the apex goes by it, and backNameServers that it gives one.
	nameServers, backNameServers bool
}

// countDeletions counts what the step changes in z, and begins or ends the hold. last is the zone that was delivered
// before the step, which is z where the step has no earlier writes.
func (c *ZoneChange) countDeletions(plan *Plan, z, last *Zone, t taken, now int64) {
	after, holding := *c.Zone, *c.Holding
	grown := after.RRsets - z.RRsets
	if grown == 0 && holding.Held == nil && !t.nameServers {
		return
	}
	d := &after.Deletions
	if holding.Held == nil {
		*d = d.advanceTo(now, last.stock())
	}
	if t.own {
		d.Own += grown
	}
	c.Zone = &after
	switch settled := last.settledAt(&holding); {
	case !t.own:
		return
	case holding.Held != nil:
		held := *holding.Held
		held.NameServers = (held.NameServers || t.nameServers) && !t.backNameServers
		holding.Held, c.Holding = &held, &holding
		c.updateHold(plan, now)
	case settled != 0 && (grown < 0 || t.nameServers): // content that was never delivered is not held back
		for _, had := range d.Least[1:] {
			held := &Held{Serial: settled, Since: now, Had: had, NameServers: t.nameServers}
			if after.ExcessOf(held).Holds() {
				holding.Held, c.Holding, c.Held = held, &holding, true
				return
			}
		}
	}
}

// updateHold ends the hold of a zone where nothing is the reason for it any more.
func (c *ZoneChange) updateHold(plan *Plan, now int64) {
	if held := c.Holding.Held; held != nil && !c.Zone.ExcessOf(held).Holds() {
		c.endHold(plan, now, held.Had) // until now that was what was delivered
	}
}

// endHold ends the hold, and has the parent count the zone's name servers anew, which waited for that (S6.1).
func (c *ZoneChange) endHold(plan *Plan, now int64, had Stock) {
	z, h := *c.Zone, *c.Holding
	z.Deletions.restart(now, &z, had)
	h.Held = nil
	c.Zone, c.Holding = &z, &h
	plan.oweCut(h.Parent, z.Ref, z.View, z.FQDN())
}

// publishDeletions lets through what the zone's own namespace has removed, where the annotation changes and names the
// serial that is delivered or one that the zone has had since. Nothing that it removes in the next ten minutes counts.
func (d *zoneDecision) publishDeletions(plan *Plan, change *ZoneChange, before *Zone) {
	z, h, now := change.Zone, change.Holding, d.ask.Now.Unix()
	if reflect.DeepEqual(before.Publish, z.Publish) || z.Publish == nil {
		return
	}
	at := serial.Serial(*z.Publish)
	known := at != 0 && !before.settledAt(h).Ahead(at) && !at.Ahead(ToPublish(before.Serial, before.Publish))
	switch {
	case h.Held == nil && known:
		z.Deletions.restart(now, z, Stock{})
	case h.Held != nil && (known || at == h.Held.Serial):
		change.endHold(plan, now, Stock{})
	}
}

// ToPublish is the serial for the annotation that lets a zone through, of which settled is delivered. It differs from
// the serial that the annotation has, since only a change counts.
func ToPublish(settled serial.Serial, annotation *uint32) serial.Serial {
	if annotation != nil && serial.Serial(*annotation) == settled {
		return settled.Next()
	}
	return settled
}

// releaseHold ends the hold of a zone whose limit or name servers have changed, and says where the annotation does
// not.
func (c *ZoneChange) releaseHold(plan *Plan, now int64) {
	c.updateHold(plan, now)
	if z, held := c.Zone, c.Holding.Held; held != nil && z.Publish != nil {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("zone %s is still held by a mass deletion, "+
			"which kubi.zone/publish-deletions: \"%d\" "+
			"does not let through: it is older than the deletions, or names none of the serials since they began; name %d (S7.9)",
			z.FQDN(), *z.Publish, ToPublish(held.Serial, z.Publish)))
	}
}

// ownStep says what the step of a record counts for.
func (x *delta) ownStep(h *Holding) (t taken) {
	if t.own = x.isOwnStep(); t.own {
		t.nameServers = len(x.holding.ApexNS) > 0 && len(h.ApexNS) == 0
		t.backNameServers = x.come != nil && x.come.Owner.IsApex() && x.come.Type == rdata.NS
	}
	return t
}

// isOwnStep reports whether the step is an act of the zone's own namespace: its client's, or of a cascade that it
// caused. Such a cascade also brings what is no act of that namespace: records that come from another zone, and those
// of others that waited until a name was free. Only what a rule lets in or out counts, and what lies in another zone
// from now on does not go.
func (x *delta) isOwnStep() bool {
	ask, z := &x.ask, x.zone
	switch {
	case ask.Uncounted:
		return false
	case !ask.Cascade:
		return ask.Namespace == z.Namespace
	case ask.WorkBy != z.Namespace:
		return false
	case x.gone == nil:
		return !ask.Stood && (ask.Namespace == z.Namespace || ask.ByRules)
	case ask.After == nil || x.come != nil:
		return true
	}
	at, err := x.gone.Owner.In(z.FQDN())
	if err != nil {
		return true
	}
	_, h := x.findEnclosing(z.View, at)
	return h != nil && h.UID == z.UID
}

// RulesChanged reports whether the work decides anew what stands in a zone whose rules changed.
func (w *Work) RulesChanged() bool {
	return w.Purge == "" && slices.ContainsFunc(w.Scans, func(s Scan) bool { return s.Kind == ScanMembers || s.Kind == ScanNamespaces })
}
