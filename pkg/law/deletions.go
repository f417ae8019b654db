// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"strings"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// The brake on mass deletion (S7.5). The zone's own namespace is free to remove what it likes, and the API shows it at
// once; but what it takes from the zone in a short time is not delivered unasked when it is much of the zone.
//
// The brake counts one number, which stands in the Zone: the RRsets that the acts of that namespace have put into the
// zone, less those that they have taken. It compares that with the least numbers of earlier periods of ten minutes, the
// RRsets that stood throughout one. So nothing that other namespaces write or remove begins a hold or ends one. RRsets
// younger than a period do not count, because challenges, and names that a tool adds before it removes the old ones,
// come and go in minutes, and a hold stops the zone for all its namespaces. The client that removes so many of them is
// told (Young).
//
// The last NS at the apex counts at any age and in a zone of any size (S7.6): name servers refuse the zone without it,
// so no delivery is better than one. Each of the numbers changes with the Zone's object alone.

const (
	// periodSeconds is the length of a period.
	periodSeconds = 600
	// minRRsets is the number of RRsets from which on a zone is held for its share.
	minRRsets = 10
)

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

// TooMany reports whether more are gone than Allowed, from a zone of ten RRsets or more.
func (e *Excess) TooMany() bool { return e.RRsets >= minRRsets && e.Gone > e.Allowed() }

// Holds reports whether the removals wait for a person before they are delivered.
func (e *Excess) Holds() bool { return e.Percent < 100 && (e.NameServers || e.TooMany()) }

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

// ForeseeHold returns why the zone would be held, if its own namespace took that many RRsets more, later than in a
// period from now, or the last NS at the apex; nil: it would not.
func (z *Zone) ForeseeHold(taken int, nameServers bool) *Excess {
	after := *z
	if after.Deletions.Own -= taken; nameServers {
		after.Header.NameServers = nil
	}
	held := after.heldAgainst(append(z.Deletions.Least[1:], z.stock()), nameServers)
	if held == nil || taken <= 0 && !nameServers {
		return nil
	}
	return after.ExcessOf(held)
}

// heldAgainst returns a hold of the zone with the first stock of which too much is gone, else for the last NS at the
// apex alone, if its own namespace took that; nil: the zone is not held.
func (z *Zone) heldAgainst(stocks []Stock, nameServers bool) (held *Held) {
	for _, had := range stocks {
		against := &Held{Had: had, NameServers: nameServers}
		excess := z.ExcessOf(against)
		if excess.Holds() && excess.TooMany() {
			return against
		}
		if held == nil && excess.Holds() {
			held = against
		}
	}
	return held
}

// YoungSince returns the removals since before that would hold the zone if all RRsets of the present period had stood
// for a whole one; nil: none, or removals were let through beforehand (S7.9).
func (z *Zone) YoungSince(before *Zone) *Excess {
	if z.Deletions.Most == nil {
		return nil
	}
	had := &Held{Had: *z.Deletions.Most}
	if excess := z.ExcessOf(had); excess.Holds() && !before.ExcessOf(had).Holds() {
		return excess
	}
	return nil
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
		d.Least, d.Most = [...]Stock{last, d.Least[0], d.Least[1]}, &last
	}
	d.Since += passed * periodSeconds
	return d
}

// restart begins the periods anew: z had what is given until now; nil: nothing counts in the first period.
func (d *Deletions) restart(now int64, z *Zone, had *Stock) {
	has := Stock{z.RRsets, d.Own}
	d.Since, d.Least, d.Most = now, [3]Stock{has}, nil
	if had != nil {
		d.Least[1], d.Least[2], d.Most = *had, *had, &has
	}
}

// stock is what z has.
func (z *Zone) stock() Stock { return Stock{z.RRsets, z.Deletions.Own} }

// updateHold ends the hold of a zone where nothing is the reason for it any more.
func (c *ZoneChange) updateHold(plan *Plan, now int64) {
	if held := c.Holding.Held; held != nil && !c.Zone.ExcessOf(held).Holds() {
		c.endHold(plan, now, &held.Had) // until now that was what was delivered
	}
}

// endHold ends the hold, and has the parent count the zone's name servers anew, which waited for that (S6.1).
func (c *ZoneChange) endHold(plan *Plan, now int64, had *Stock) {
	z, h := *c.Zone, *c.Holding
	z.Deletions.restart(now, &z, had)
	h.Held = nil
	c.Zone, c.Holding = &z, &h
	plan.OweCut(h.Parent, z.Ref, z.View, z.FQDN())
}

// PublishDeletions lets through what the zone's own namespace has removed, where the annotation changes and names the
// serial that is delivered or one that the zone has had since. Nothing that it removes in the next ten minutes counts.
func (c *ZoneChange) PublishDeletions(plan *Plan, before *Zone, now int64) {
	z, h := c.Zone, c.Holding
	if reflect.DeepEqual(before.Publish, z.Publish) || z.Publish == nil {
		return
	}
	at := serial.Serial(*z.Publish)
	known := at != 0 && !before.settledAt(h).Ahead(at) && !at.Ahead(ToPublish(before.Serial, before.Publish))
	switch {
	case h.Held == nil && known:
		z.Deletions.restart(now, z, nil)
	case h.Held != nil && (known || at == h.Held.Serial):
		c.endHold(plan, now, nil)
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

// ReleaseHold ends the hold of a zone whose limit or name servers have changed, and says where the annotation does
// not.
func (c *ZoneChange) ReleaseHold(plan *Plan, now int64) {
	c.updateHold(plan, now)
	if z, held := c.Zone, c.Holding.Held; held != nil && z.Publish != nil {
		plan.Warn("zone %s is still held by a mass deletion, which kubi.zone/publish-deletions: \"%d\" does not let through: it is older "+
			"than the deletions, or names none of the serials since they began; name %d (S7.9)", z.FQDN(), *z.Publish,
			ToPublish(held.Serial, z.Publish))
	}
}

// Taken is what a step counts for.
type Taken struct {
	// Own says that the step is an act of the zone's own namespace, which counts.
	Own bool
	// NameServers says that the last NS at the apex goes by it, and BackNameServers that it gives one.
	NameServers, BackNameServers bool
}

// CountDeletions counts what the step changes in z, and begins or ends the hold. last is the zone that was delivered
// before the step, which is z where the step has no earlier writes.
func (c *ZoneChange) CountDeletions(plan *Plan, z, last *Zone, t Taken, now int64) {
	after, holding := *c.Zone, *c.Holding
	t.NameServers = t.NameServers && !z.ClassNameServers
	grown := after.RRsets - z.RRsets
	if grown == 0 && holding.Held == nil && !t.NameServers {
		return
	}
	d := &after.Deletions
	if holding.Held == nil {
		*d = d.advanceTo(now, last.stock())
	}
	if t.Own {
		d.Own += grown
	}
	if d.Most != nil && d.Own >= d.Most.Own {
		d.Most = &Stock{after.RRsets, d.Own}
	}
	c.Zone = &after
	switch settled := last.settledAt(&holding); {
	case !t.Own:
		return
	case holding.Held != nil:
		held := *holding.Held
		held.NameServers = (held.NameServers || t.NameServers) && !t.BackNameServers
		holding.Held, c.Holding = &held, &holding
		c.updateHold(plan, now)
	case settled == 0 || d.Most == nil: // content that was never delivered, or may go, is not held back
	case grown < 0 || t.NameServers:
		if held := after.heldAgainst(d.Least[1:], t.NameServers); held != nil {
			held.Serial, held.Since = settled, now
			holding.Held, c.Holding, c.Held = held, &holding, true
			return
		}
		c.Young = after.YoungSince(z)
	}
}
