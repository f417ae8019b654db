// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"time"
)

// A zone stands for the withdrawalGracePeriod of the zone that delegated it after the rule went, and then ends: its
// name and its records are released as those of a removed zone are, and its object stays, pending (S3.4). The time
// that servers ran is counted. The clock gives only an estimate of the end.
//
// The zone keeps its uid at the end, by which the internal keys of what it had are found. So it is not made anew,
// whatever rule comes, until the cascade has purged them; and the owners and the journal stay until Delivery has
// withdrawn the zone.

// endsAt is an estimate of the end of the withdrawal, unix seconds; 0 for no withdrawal.
func (w *Withdrawal) endsAt(now time.Time) int64 {
	if w == nil {
		return 0
	}
	return now.Unix() + max(0, w.Grace-w.Passed)
}

// EndAsk is the request of a server to note how long it ran since a rule went, and to end the zone when its time is
// over.
type EndAsk struct {
	Zone *Zone
	Spec *ZoneSpec
	// Counted is the withdrawal in the holding when the server began to count. Passed is the number of seconds since
	// then.
	Counted Withdrawal
	Passed  int64
	Now     time.Time
	WorkID  string
}

// DecideEnd decides on the present state of a withdrawal. Plan.Zone is nil where there is nothing to write, because
// it was cancelled or another server has noted it.
func DecideEnd(seen *Seen, ask EndAsk) Outcome {
	d := &zoneDecision{reading: beginReading(seen), ask: ZoneAsk{Before: ask.Zone, After: ask.Spec, Cascade: true, Now: ask.Now, WorkID: ask.WorkID}}
	plan := d.endZone(ask)
	return d.outcome(plan, nil)
}

func (d *zoneDecision) endZone(ask EndAsk) *Plan {
	z, plan := ask.Zone, &Plan{}
	holding, ok := get[Holding](&d.reading, HoldingKey(z.View, z.FQDN()))
	if !ok {
		return nil
	}
	if holding == nil || holding.UID != z.UID || holding.Withdrawn == nil {
		return plan
	}
	w := *holding.Withdrawn
	if w.By != ask.Counted.By || w.Since != ask.Counted.Since || w.Passed != ask.Counted.Passed {
		return plan
	}
	_, above, known := d.findAbove(z.View, z.FQDN())
	if !known {
		return nil
	}
	if above == nil {
		return plan // a cascade is about to say so
	}
	p, ok := d.zoneOf(above)
	if !ok {
		return nil
	}
	if p, known = d.ruledFor(p, z.Namespace); !known {
		return nil
	}
	if p.DelegatesZone(z.FQDN(), z.Namespace) {
		return plan // it is back, and a cascade is about to say so
	}
	from, known := d.findRevoked(z.View, z.FQDN(), z.Namespace, holding.Lineage)
	if !known {
		return nil
	}
	if from == nil || from.UID != w.By {
		return plan // likewise
	}
	w.Passed, w.Grace = w.Passed+ask.Passed, from.Grace
	if w.Passed < w.Grace {
		h := *holding
		h.Withdrawn = &w
		plan.Zone = &ZoneChange{Zone: z, Holding: &h, EndsAt: w.endsAt(ask.Now)}
		plan.Writes = []Write{{Key: HoldingKey(z.View, z.FQDN()), Value: &h}}
		return plan
	}
	h := *holding
	h.Withdrawn = &w
	plan, refusal := d.vacateName(plan, &h, fmt.Sprintf("zone %s ended", z.FQDN()), maxEnds)
	if refusal != nil {
		return &Plan{} // too many go at once: it ends when others are through
	}
	if plan == nil {
		return nil
	}
	// The namespace of the zone that withdrew the rule pays. The mark in the zone above is of the child's namespace:
	// how long that zone waits must not depend on how much another namespace has put there (S7.2).
	plan.Work.By = from.Namespace
	plan.Work.Ended, plan.Work.Had = &Place{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}, &z.Header
	plan = d.stayPending(plan, ReasonDelegationWithdrawn, fmt.Sprintf("zone %s took its rule for it back, and the time it had after that is over: it holds no name and is not served (S3.4; its owner can add a delegation with zones)", from.FQDN()))
	plan.Zone.Ended, plan.Zone.Zone.Ending = z, true
	return plan
}

// DecideEnded decides that what an ended zone had is released: from now on a rule may make it anew. now is in unix
// seconds.
func DecideEnded(seen *Seen, work *Work, now int64) Outcome {
	d := new(beginReading(seen))
	plan := &Plan{}
	place := work.Ended
	z, ok := get[Zone](d, ZoneKey(place.Namespace, place.Name))
	last, ok1 := get[LastSerial](d, Key{Kind: KindLastSerial, View: place.View, Name: place.FQDN})
	if !ok || !ok1 || z == nil || z.UID != place.UID || !z.Pending || !z.Ending {
		return d.outcome(plan, nil) // it was deleted, or facts are needed
	}
	after := *z
	after.Ending = false
	plan.Zone = &ZoneChange{Zone: &after}
	if last != nil && last.Zone == z.UID {
		kept := *last
		kept.Zone, kept.Withdrawn = "", nil
		plan.Writes = []Write{{Key: Key{Kind: KindLastSerial, View: place.View, Name: place.FQDN}, Value: &kept}}
	}
	scan := Scan{Kind: ScanPending, Target: z.ZoneRef}
	if z.ZoneRef == nil {
		scan = Scan{Kind: ScanWaiting, View: z.View, Name: z.Wanted, Exact: true}
	}
	plan.Work = &Work{ID: work.ID + "-after", Reason: fmt.Sprintf("what zone %s had is let go", place.FQDN), View: place.View, By: work.By, Since: now, Scans: []Scan{scan}}
	return Outcome{Plan: plan}
}
