// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"strings"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// RRsets younger than ten minutes, such as ACME challenges, cause no hold: removals are counted from the least number
// of RRsets in earlier periods.

const (
	periodSeconds = 600
	minRRsets     = 10
)

// Excess compares removals by the zone's own namespace with the limit.
type Excess struct {
	// Removed counts the removed RRsets, and RRsets all RRsets before the removal.
	Removed, RRsets int
	Percent         int64 // the limit
	NameServers     bool  // no NS record is left at the apex
}

func (z *Zone) ExcessOf(h *Held) *Excess {
	return &Excess{Removed: h.Had.Own - z.Deletions.Own, RRsets: h.Had.RRsets, Percent: z.MaxDeletePercent,
		NameServers: h.NameServers && len(z.Header.NameServers) == 0}
}

func (e *Excess) Allowed() int { return int(e.Percent * int64(e.RRsets) / 100) }

func (e *Excess) ExceedsPercent() bool { return e.RRsets >= minRRsets && e.Removed > e.Allowed() }

// Holds reports whether the removals stop the zone's deliveries.
func (e *Excess) Holds() bool { return e.Percent < 100 && (e.NameServers || e.ExceedsPercent()) }

func (e *Excess) String() string {
	var parts []string
	if e.NameServers {
		parts = append(parts, "the last NS record at the apex")
	}
	if e.ExceedsPercent() {
		parts = append(parts, fmt.Sprintf("%d of its %d RRsets, more than %d %%", e.Removed, e.RRsets, e.Percent))
	}
	return strings.Join(parts, ", and ")
}

// ForeseeHold predicts whether a deletion by the zone's own namespace would cause a hold, a stop of deliveries to name
// servers. The count removals has only RRsets older than ten minutes. If lastNS is true, the last NS at the apex goes,
// too. The result has the numbers for a message, or is nil without a hold.
func (z *Zone) ForeseeHold(removals int, lastNS bool) *Excess {
	after := *z // with the removals
	if after.Deletions.Own -= removals; lastNS {
		after.Header.NameServers = nil
	}
	held := after.findHold(append(z.Deletions.LeastStocks[1:], z.stock()), lastNS)
	if held == nil || removals <= 0 && !lastNS {
		return nil
	}
	return after.ExcessOf(held)
}

// findHold returns the hold by removals against one of the earlier stocks, or nil. A hold for too many
// RRsets goes before a hold for the last NS alone.
func (z *Zone) findHold(stocks []Stock, nameServers bool) (held *Held) {
	for _, had := range stocks {
		against := &Held{Had: had, NameServers: nameServers}
		excess := z.ExcessOf(against)
		if excess.Holds() && excess.ExceedsPercent() {
			return against
		}
		if held == nil && excess.Holds() {
			held = against
		}
	}
	return held
}

// YoungExcess returns the removals of the present ten minutes for a warning, if this change has made them exceed the
// limit at which deliveries stop (a hold), and nil otherwise. Callers have checked that there is no hold: for a hold,
// removed RRsets younger than ten minutes do not count, and here they do.
func (z *Zone) YoungExcess(before *Zone) *Excess {
	if z.Deletions.PeakStock == nil { // the owner has let removals through
		return nil
	}
	peak := &Held{Had: *z.Deletions.PeakStock}
	if excess := z.ExcessOf(peak); excess.Holds() && !before.ExcessOf(peak).Holds() {
		return excess
	}
	return nil
}

func (z *Zone) settledAt(h *Holding) serial.Serial {
	if h.Settled() {
		return z.Serial
	}
	return z.SettledSerial
}

// advanceTo returns the counts after the passed periods. last is the stock before this write.
func (d Deletions) advanceTo(now int64, last Stock) Deletions {
	d.LeastStocks[0] = Stock{min(d.LeastStocks[0].RRsets, last.RRsets), min(d.LeastStocks[0].Own, last.Own)}
	if now < d.PeriodStart { // a clock was ahead
		d.PeriodStart = now
		return d
	}
	passed := (now - d.PeriodStart) / periodSeconds
	// In a period without a write, the stock stayed as it was.
	for range min(passed, int64(len(d.LeastStocks))) {
		d.LeastStocks, d.PeakStock = [...]Stock{last, d.LeastStocks[0], d.LeastStocks[1]}, &last
	}
	d.PeriodStart += passed * periodSeconds
	return d
}

// notePeak notes the present stock if it is the greatest of these ten minutes, for YoungExcess.
func (d *Deletions) notePeak(rrsets int) {
	if d.PeakStock != nil && d.Own >= d.PeakStock.Own {
		d.PeakStock = &Stock{RRsets: rrsets, Own: d.Own}
	}
}

func (d *Deletions) restart(now int64, z *Zone, had *Stock) {
	has := Stock{z.RRsets, d.Own}
	d.PeriodStart, d.LeastStocks, d.PeakStock = now, [3]Stock{has}, nil
	if had != nil {
		d.LeastStocks[1], d.LeastStocks[2], d.PeakStock = *had, *had, &has
	}
}

func (z *Zone) stock() Stock { return Stock{z.RRsets, z.Deletions.Own} }

func (c *ZoneChange) updateHold(plan *Plan, now int64) {
	if held := c.Holding.Held; held != nil && !c.Zone.ExcessOf(held).Holds() {
		c.endHold(plan, now, &held.Had)
	}
}

func (c *ZoneChange) endHold(plan *Plan, now int64, had *Stock) {
	z, h := *c.Zone, *c.Holding
	z.Deletions.restart(now, &z, had)
	h.Held = nil
	c.Zone, c.Holding = &z, &h
	plan.AddPendingCut(h.Parent, z.Ref, z.View, z.FQDN())
}

// PublishDeletions acts if the annotation kubi.zone/publish-deletions changed to a serial from the delivered serial up
// to ToPublish. It ends a hold (a stop of deliveries after many removals) or, without a hold, allows any removals for
// ten minutes.
func (c *ZoneChange) PublishDeletions(plan *Plan, before *Zone, now int64) {
	z, h := c.Zone, c.Holding
	if z.Publish == nil || reflect.DeepEqual(before.Publish, z.Publish) {
		return
	}
	published := serial.Serial(*z.Publish)
	isOlder := before.settledAt(h).Ahead(published)
	// No content has a serial ahead of the zone's own.
	isFuture := published.Ahead(ToPublish(before.Serial, before.Publish))
	switch {
	case published == 0: // no serial
	case h.Held != nil && published == h.Held.Serial:
		// The serial that ReleaseHold names, wherever settings have moved the zone's own since.
		c.endHold(plan, now, nil)
	case isOlder || isFuture: // without effect, and ReleaseHold warns
	case h.Held == nil:
		z.Deletions.restart(now, z, nil)
	default:
		c.endHold(plan, now, nil)
	}
}

// ToPublish returns the annotation's value that lets removals through: the settled serial or, if set already, the next.
func ToPublish(settled serial.Serial, annotation *uint32) serial.Serial {
	if annotation != nil && serial.Serial(*annotation) == settled {
		return settled.Next()
	}
	return settled
}

// ReleaseHold ends a hold that new settings lift, or warns of an annotation without effect.
func (c *ZoneChange) ReleaseHold(plan *Plan, now int64) {
	c.updateHold(plan, now)
	if z, held := c.Zone, c.Holding.Held; held != nil && z.Publish != nil {
		plan.Warn("S7.9", "zone %s is still held by a mass deletion: kubi.zone/publish-deletions: \"%d\" is older than the deletions, "+
			"or is no serial since they began; set it to %d", z.FQDN(), *z.Publish,
			ToPublish(held.Serial, z.Publish))
	}
}

// CountedStep describes a change for CountDeletions. Own is true if the own namespace made the change.
type CountedStep struct {
	Own bool
	// The NS are at the apex.
	RemovesLastNS, AddsNS bool
}

// CountDeletions counts the RRsets that a change of the zone before to c.Zone adds or removes. If the own namespace
// removes too many, a hold begins in c.Holding: deliveries stop until enough RRsets are back. The zone beforeSet is the
// same as before or, in a change set, the zone before the set.
func (c *ZoneChange) CountDeletions(plan *Plan, before, beforeSet *Zone, step CountedStep, now int64) {
	// Servers with the NS of their class need none at the apex (S6.15).
	step.RemovesLastNS = step.RemovesLastNS && !before.ClassNameServers
	grown := c.Zone.RRsets - before.RRsets
	if grown == 0 && c.Holding.Held == nil && !step.RemovesLastNS {
		return
	}

	after := *c.Zone
	counts := &after.Deletions
	if c.Holding.Held == nil { // a hold stops the periods
		*counts = counts.advanceTo(now, beforeSet.stock())
	}
	if step.Own {
		counts.Own += grown
	}
	counts.notePeak(after.RRsets)
	c.Zone = &after

	switch {
	case !step.Own: // team-b deletes its 200 Records: no hold
	case c.Holding.Held != nil:
		c.continueHold(plan, step, now)
	case grown < 0 || step.RemovesLastNS:
		c.beginHold(before, beforeSet, step, now)
	}
}

// continueHold ends the hold if enough is back.
func (c *ZoneChange) continueHold(plan *Plan, step CountedStep, now int64) {
	holding, held := *c.Holding, *c.Holding.Held
	held.NameServers = (held.NameServers || step.RemovesLastNS) && !step.AddsNS
	holding.Held = &held
	c.Holding = &holding
	c.updateHold(plan, now)
}

// beginHold begins a hold if the removals exceed the limit. Otherwise it notes the removals of young RRsets for a
// Warning. A zone never delivered is not held, as servers have nothing to keep.
func (c *ZoneChange) beginHold(before, beforeSet *Zone, step CountedStep, now int64) {
	settled := beforeSet.settledAt(c.Holding)
	wasDelivered := settled != 0
	ownerAllowsAny := c.Zone.Deletions.PeakStock == nil
	if !wasDelivered || ownerAllowsAny {
		return
	}

	held := c.Zone.findHold(c.Zone.Deletions.LeastStocks[1:], step.RemovesLastNS)
	if held == nil {
		c.YoungExcess = c.Zone.YoungExcess(before)
		return
	}

	held.Serial, held.Since = settled, now
	holding := *c.Holding
	holding.Held = held
	c.Holding, c.BeginsHold = &holding, true
}
