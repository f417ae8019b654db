// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// checkDecisions asks the law again, with facts from the objects alone: a record
// in a zone would be let in, one that waits would not, and each zone has the
// parent it has (I5). The decisions of a running cascade are owed.
func (c *check) checkDecisions() error {
	for i, r := range c.records {
		if i%page == 0 {
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		if r.adopted != nil && r.zone == nil {
			continue // a removed zone's is owed already
		}
		if r.zone != nil {
			c.checkAdopted(r)
		} else {
			c.checkWaiting(r)
		}
	}
	for _, z := range c.zones {
		if z.Pending {
			c.checkPending(z)
		} else if c.names[place{z.View, z.FQDN()}] == z {
			c.checkParent(z)
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

func (c *check) recordAsk(r *record) law.RecordAsk {
	return law.RecordAsk{Namespace: r.Namespace, Name: r.Name, UID: r.UID, After: r.Record, Cascade: true, Now: time.Unix(r.Created, 0),
		WorkID: "fsck"}
}

// orderly are the reasons that depend on the order in which records came: they refuse a newcomer and say nothing
// against a record that stands.
var orderly = []string{law.ReasonNameHeld, law.ReasonLimitExceeded}

func (c *check) checkAdopted(r *record) {
	ask := c.recordAsk(r)
	ask.Before = &law.Adopted{Zone: r.zone.Ref, FQDN: r.fqdn, EndsAt: r.endsAt, Contribution: r.ContributionAt(r.owner)}
	out, ok := c.runLaw(func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) })
	p := placement(out)
	if ok && p != nil && p.Zone != nil && p.Zone.UID == r.zone.UID {
		// Of a zone that is being deleted a Delegation that goes withdraws nothing (S8.2).
		if !r.zone.Terminating && ((p.EndsAt != 0) != (r.endsAt != 0) || p.EndsAt != 0 && len(out.Plan.Writes) > 0) {
			c.reportDifference(c.isCovered(r), r.key, "S2.5", fmt.Sprintf("endsAt %d", r.endsAt), "%s: %s", p.Reason, p.Message)
		}
		return
	}
	if p != nil && p.Zone == nil && slices.Contains(orderly, p.Reason) {
		return
	}
	if p != nil && p.Zone == nil && p.Reason == law.ReasonDelegationWithdrawn && r.zone.Terminating {
		return // of a zone that is being deleted a Delegation that goes releases nothing (S8.2)
	}
	want := "facts that fit each other"
	if p != nil {
		want = fmt.Sprintf("%s: %s", p.Reason, p.Message)
	} else if out.Refusal != nil {
		want = out.Refusal.Message
	}
	c.reportDifference(c.isCovered(r), r.key, "I5", "adopted by zone "+r.zone.FQDN().String(), "%s", want)
}

func placement(out law.Outcome) *law.Placement {
	if out.Plan == nil {
		return nil
	}
	return out.Plan.Record
}

func (c *check) checkWaiting(r *record) {
	ask := c.recordAsk(r)
	ask.Waits = &law.Waiting{View: r.view, FQDN: r.fqdn, Zone: r.ZoneRef, KeptOut: r.keptOut}
	decide := func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }
	out, ok := c.runLaw(decide)
	p := placement(out)
	switch {
	case !ok || p == nil:
		c.reportDifference(c.isCovered(r), r.key, "I5", "not adopted", "facts that fit each other")
	case p.Zone != nil: // the next round takes it in
		c.reportOwed(r.key, "S2.7", "not adopted", "adopted by zone %s/%s, which allows it", p.Zone.Namespace, p.Zone.Name)
	case p.FQDN != r.fqdn || p.View != r.view:
		c.reportDifference(c.isCovered(r), r.key, "S2.3", fmt.Sprintf("waits at %q %q", r.view, r.fqdn), "%q %q, where its zone would "+
			"look for it", p.View, p.FQDN)
	}
}

func (c *check) checkPending(z *zone) {
	if z.deleting {
		return
	}
	spec := z.lawSpec()
	ask := law.ZoneAsk{Before: z.Zone, After: spec, Cascade: true, Now: time.Unix(z.created, 0), WorkID: "fsck"}
	out, ok := c.runLaw(func(seen *law.Seen) law.Outcome { return law.DecideZone(seen, ask) })
	if !ok || out.Plan == nil || out.Plan.Zone == nil || !out.Plan.Zone.Zone.Pending { // the next round makes it
		c.reportOwed(z.key, "S2.7", "pending", "standing: its name is free, and a rule delegates it")
	}
}

// lawSpec is what the object of the zone asks for.
func (z *zone) lawSpec() *law.ZoneSpec {
	return &law.ZoneSpec{Ref: z.Ref, DomainName: z.spec.DomainName, View: z.spec.View, ZoneRef: z.targetZone(), Header: z.Header,
		ZoneSettings: z.ZoneSettings}
}

func (c *check) checkParent(z *zone) {
	cond := meta.FindStatusCondition(z.status.Conditions, v1alpha1.ConditionDelegated)
	out, ok := c.runLaw(func(seen *law.Seen) law.Outcome {
		return law.DecideParent(seen, law.ParentAsk{Zone: z.Zone, Spec: z.lawSpec(), Work: &law.Work{}})
	})
	if ok && out.Plan != nil {
		n := out.Plan.Zone
		if n == nil || len(out.Plan.Writes) == 0 && cond != nil && n.Delegated.Status == string(cond.Status) {
			return
		}
	}
	rule, want := Rule("S3.3"), "facts that fit each other"
	text := func(h *law.Holding) string {
		return fmt.Sprintf("parent %s, withdrawn %q, enclosed %s, ds %t", refText(h.Parent), h.Withdrawn, encodeText(h.Enclosed), h.DS)
	}
	if ok && out.Plan != nil {
		h := out.Plan.Zone.Holding
		if h == nil { // it ends
			h = &law.Holding{}
			rule = "S3.4"
		}
		switch {
		case rule == "S3.4":
		case refText(h.Parent) != refText(z.holding.Parent):
		case h.DS != z.holding.DS:
			rule = "S4.9"
		default:
			rule = "S3.4"
		}
		want = text(h)
		if d := out.Plan.Zone.Delegated; d != nil {
			want += ", " + d.Reason
		}
	}
	excused := c.isScanned(func(s *law.Scan) bool {
		return s.Kind == law.ScanZones && s.View == z.View && s.Name.Encloses(z.FQDN())
	})
	c.reportDifference(excused, z.key, rule, text(z.holding), "%s", want)
}

// isCovered reports whether a standing work decides this record anew.
func (c *check) isCovered(r *record) bool {
	return c.isScanned(func(s *law.Scan) bool {
		switch s.Kind {
		case law.ScanNamespaces:
			return s.Of(r.Namespace) && (r.adopted != nil && string(r.adopted.UID) == s.Zone || r.adopted == nil &&
				(&law.Waiting{View: r.view, FQDN: r.fqdn, Zone: r.ZoneRef}).For(s))
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

// lookUpFact returns a fact from the model.
func (c *check) lookUpFact(k law.Key) any {
	switch k.Kind {
	case law.KindHolding:
		if z := c.names[place{k.View, k.Name}]; z != nil {
			return z.holding
		}
		return nil
	case law.KindZone:
		if z := c.objects[law.Ref{Namespace: k.Namespace, Name: k.Object}]; z != nil {
			return z.Zone
		}
		return nil
	case law.KindZonesBelow:
		return c.zonesBelow(k)
	case law.KindWithdrawal:
		if w := c.withdrawn[k]; w != nil {
			return w
		}
		return nil
	}
	z := c.zones[k.Zone]
	if z == nil {
		return nil
	}
	switch k.Kind {
	case law.KindOwner:
		if o := z.owners[k.Owner]; o != nil {
			return o
		}
	case law.KindCount:
		if n := z.counts[k.Namespace]; n > 0 {
			return &law.Count{Records: n}
		}
	case law.KindMember:
		for _, r := range z.recordsAt(k.Owner) {
			if r.Namespace == k.Namespace && r.Name == k.Object {
				return r.member
			}
		}
	case law.KindOwnersBelow:
		out := &law.OwnersBelow{}
		for _, o := range z.ownersBelow(k.Owner) {
			if o != k.Owner {
				out.Add(z.owners[o])
			}
		}
		return out
	}
	return z.lookUpRules(k)
}

func (c *check) zonesBelow(k law.Key) *law.ZonesBelow {
	out := &law.ZonesBelow{}
	i, _ := slices.BinarySearchFunc(c.below, place{k.View, k.Name}, comparePlaces)
	for ; i < len(c.below) && c.below[i].view == k.View && k.Name.Encloses(c.below[i].fqdn); i++ {
		out.Zones = append(out.Zones, law.ZoneBelow{FQDN: c.below[i].fqdn, Holding: *c.names[c.below[i]].holding})
	}
	return out
}
