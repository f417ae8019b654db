// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/law"
)

// checkWaiting asks the law, with facts from the objects alone, whether the next round takes in what waits (S2.7). It
// is the only question here whose answer comes from the law, and no answer to it is damage: what waits too long serves
// nothing wrong.
func (c *check) checkWaiting() error {
	for i, r := range c.records {
		if i%page == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if r.adopted == nil {
			c.checkWaitingRecord(r)
		}
	}
	for _, z := range c.zones {
		if z.Pending && !z.deleting {
			c.checkPending(z)
		}
	}
	return nil
}

// runLaw runs the law on the model; ok is false where it finds the facts at odds.
func (c *check) runLaw(decide func(*law.Seen) law.Outcome) (out law.Outcome, ok bool) {
	seen := law.NewSeen()
	for {
		out = decide(seen)
		if len(out.Need) == 0 {
			return out, true
		}
		for _, k := range out.Need {
			if _, known := seen.Get(k); known {
				return out, false
			}
		}
		for _, k := range out.Need {
			seen.Put(k, c.lookUpFact(k))
		}
	}
}

func (c *check) checkWaitingRecord(r *record) {
	ask := law.RecordAsk{Namespace: r.Namespace, Name: r.Name, UID: r.UID, Waits: r.waiting(), After: r.Record, Cascade: true,
		Now: time.Unix(r.Created, 0), WorkID: "fsck"}
	out, ok := c.runLaw(func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) })
	var p *law.Placement
	if out.Plan != nil {
		p = out.Plan.Record
	}
	switch {
	case !ok || p == nil:
		c.reportDifference(c.isCovered(r), r.key, "I5", "not adopted", "facts that fit each other")
	case p.Zone != nil:
		c.reportOwed(r.key, "S2.7", "not adopted", "adopted by zone %s/%s, which allows it", p.Zone.Namespace, p.Zone.Name)
	case p.FQDN != r.fqdn || p.View != r.view:
		c.reportDifference(c.isCovered(r), r.key, "S2.3", fmt.Sprintf("waits at %q %q", r.view, r.fqdn), "%q %q, where its zone would "+
			"look for it", p.View, p.FQDN)
	}
}

func (c *check) checkPending(z *zone) {
	spec := &law.ZoneSpec{Ref: z.Ref, DomainName: z.spec.DomainName, View: z.spec.View, ZoneRef: z.targetZone(), Header: z.Header,
		ZoneSettings: z.ZoneSettings}
	ask := law.ZoneAsk{Before: z.Zone, After: spec, Cascade: true, Now: time.Unix(z.created, 0), WorkID: "fsck"}
	out, ok := c.runLaw(func(seen *law.Seen) law.Outcome { return law.DecideZone(seen, ask) })
	if !ok || out.Plan == nil || out.Plan.Zone == nil || !out.Plan.Zone.Zone.Pending {
		c.reportOwed(z.key, "S2.7", "pending", "standing: its name is free, and a rule delegates it")
	}
}

// isCovered reports whether a standing work decides this record anew.
func (c *check) isCovered(r *record) bool {
	return c.isScanned(func(s *law.Scan) bool {
		switch s.Kind {
		case law.ScanNamespaces:
			return s.Of(r.Namespace) && (r.adopted != nil && string(r.adopted.UID) == s.Zone || r.adopted == nil && r.waiting().For(s))
		case law.ScanMembers:
			return r.adopted != nil && string(r.adopted.UID) == s.Zone && (r.zone == nil || strings.HasPrefix(r.owner.Key(), s.Owner.Key()))
		case law.ScanWaiting:
			return r.adopted == nil && !r.fqdn.IsZero() && r.view == s.View && (r.fqdn == s.Name || !s.Exact && s.Name.Encloses(r.fqdn))
		case law.ScanReferring:
			return r.adopted == nil && r.ZoneRef != nil && s.Target != nil && r.ZoneRef.Namespace == s.Target.Namespace &&
				r.ZoneRef.Name == s.Target.Name
		}
		return false
	})
}

func (c *check) isScanned(by func(*law.Scan) bool) bool {
	for _, w := range c.works {
		for i := range w.Scans {
			if by(&w.Scans[i]) {
				return true
			}
		}
	}
	return false
}

// lookUpFact returns a fact from the model. A nil pointer is one, too: nothing stands there.
func (c *check) lookUpFact(k law.Key) any {
	z := c.zones[k.Zone]
	switch k.Kind {
	case law.KindZonesBelow:
		return c.zonesBelow(k)
	case law.KindHolding:
		z = c.names[place{k.View, k.Name}]
	case law.KindZone:
		z = c.objects[law.Ref{Namespace: k.Namespace, Name: k.Object}]
	}
	if z == nil {
		return nil
	}
	switch k.Kind {
	case law.KindHolding:
		return z.holding
	case law.KindZone:
		return z.Zone
	case law.KindOwner:
		return z.owners[k.Owner]
	case law.KindCount:
		return &law.Count{Records: z.counts[k.Namespace]}
	case law.KindRules:
		return &law.NamespaceRules{List: z.given[k.Namespace]}
	case law.KindOwnersBelow:
		out := &law.OwnersBelow{}
		for _, o := range z.ownersBelow(k.Owner) {
			out.Add(z.owners[o])
		}
		return out
	}
	return nil
}

func (c *check) zonesBelow(k law.Key) *law.ZonesBelow {
	out := &law.ZonesBelow{}
	i, _ := slices.BinarySearchFunc(c.below, place{k.View, k.Name}, comparePlaces)
	for ; i < len(c.below) && c.below[i].view == k.View && k.Name.Encloses(c.below[i].fqdn); i++ {
		out.Zones = append(out.Zones, law.ZoneBelow{FQDN: c.below[i].fqdn, Holding: *c.names[c.below[i]].holding})
	}
	return out
}
