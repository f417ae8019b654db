// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// askPending returns the decision to establish a pending zone as a new child, or nil if there is nothing to decide. No
// zone adopts a terminating object.
func (ob *Outbox) askPending(o *v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
	if o.Status.FQDN != "" || o.DeletionTimestamp != nil || ob.IsTerminating(o.Namespace) {
		return nil, nil
	}
	ask, err := objects.ZoneAsk(o, o)
	ask.Cascade, ask.Now, ask.WorkID = true, ob.Mem.Now(), etcd.NewID()
	return func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) }, err
}

// RaiseSerial commits the step of a Zone to a serial past that of a secondary, if zones.Repair allows this (S6.11).
func (ob *Outbox) RaiseSerial(ctx context.Context, zone law.Ref, past zones.Ahead) (raised bool, err error) {
	for {
		o, revision, err := ob.Mem.ReadZone(ctx, zone.Namespace, zone.Name)
		if err != nil || o == nil || string(o.UID) != zone.UID {
			return false, err
		}
		ask, err := objects.ZoneAsk(o, o)
		if err != nil {
			return false, err
		}
		ask.Ahead, ask.Now, ask.WorkID = &past, ob.Mem.Now(), etcd.NewID()
		// No cascade, so no outbox item.
		w := ob.newZoneWrite(nil, o, revision, func(seen *law.Facts) law.Outcome {
			out := zones.DecideZone(seen, ask)
			raised = out.Plan != nil && out.Plan.Zone != nil && out.Plan.Zone.Step != nil
			return out
		})
		w.Origin.Cause = causeSecondary
		out, err := ob.Committer.Commit(ctx, w)
		if err != nil || out.OK {
			return raised && err == nil, err
		}
	}
}

// causeSecondary is the cause of a step in a zone's history.
const causeSecondary = "a secondary transfers the zone only at a later serial"

// reparentZones decides again the zones that a work's scans find: whether the zone above delegates each, which zone
// that is, and whether a zone without a rule ends. Zones above come first.
func (ob *Outbox) reparentZones(ctx context.Context, s *workState) error {
	for _, scan := range s.Work.Scans {
		decided := map[string]bool{}
		for again := true; again; { // a zone created meanwhile may have been decided on an earlier state of a zone above
			found, err := ob.findZones(ctx, &scan)
			if err != nil {
				return err
			}
			again = false
			for _, h := range found {
				if decided[h.UID] {
					// Decided in the pass before. A pass without a new zone is the last.
					continue
				}
				if err := ob.reparentZone(ctx, s, h.Ref); err != nil {
					return err
				}
				decided[h.UID], again = true, true
				if _, err := ob.yieldBetweenSteps(ctx, s, time.Now(), ob.Committer.Clients.Load()); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// findZones returns the holdings of the zones that a scan concerns, parents first. Other kinds of scans find none.
func (ob *Outbox) findZones(ctx context.Context, scan *law.Scan) (found []*law.Holding, err error) {
	if scan.Kind == law.ScanReferring {
		return ob.Mem.ZonesReferring(scan), nil
	} else if scan.Kind != law.ScanZones {
		return nil, nil
	}

	k := law.Key{Kind: law.KindZonesBelow, View: scan.View, Name: scan.Name}
	r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Key(k), clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	v, err := ob.Mem.DecodeRange(k, r.Kvs)
	if err != nil {
		return nil, err
	}

	// The zones come in the order of their names, so a stack has the zones above the present one.
	above := []*law.ZoneBelow{nil} // zones that enclose the last, the nearest last
	for i := range v.(*law.ZonesBelow).Zones {
		below := &v.(*law.ZonesBelow).Zones[i]
		if below.FQDN == scan.Name && !scan.At {
			continue
		}
		// Example: the order is apps.example.org., dev.apps.example.org., db.example.org., and the last pops two.
		nearest := above[len(above)-1]
		for ; nearest != nil && !nearest.FQDN.Encloses(below.FQDN); nearest = above[len(above)-1] {
			above = above[:len(above)-1]
		}
		if above = append(above, below); scan.Concerns(below, nearest) {
			found = append(found, &below.Holding)
		}
	}

	return found, nil
}

// reparentZone decides again which zone is above the zone of ref, and whether a rule there delegates the zone of ref. A
// pending zone is left out.
func (ob *Outbox) reparentZone(ctx context.Context, s *workState, ref law.Ref) error {
	return ob.decideZone(ctx, &s.Item, ref, func(o *v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
		if o.Status.FQDN == "" {
			return nil, nil
		}
		z, err := lawform.Zone(o)
		if err != nil {
			return nil, err
		}
		spec, err := lawform.ZoneSpec(o)
		if err != nil {
			return nil, err
		}
		ask := zones.ParentInput{Zone: z, Spec: spec, Work: &s.Work, Now: ob.Mem.Now(), WorkID: etcd.NewID()}
		if cond := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDelegated); cond != nil {
			ask.Message = cond.Message
		}
		return func(seen *law.Facts) law.Outcome { return zones.DecideParent(seen, ask) }, nil
	})
}
