// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// ZoneAsk makes the request to the law for a write of a zone.
func (box *Outbox) ZoneAsk(ctx context.Context, mayEstablish bool, before, after *v1alpha1.Zone) (zones.ZoneAsk, error) {
	ask := zones.ZoneAsk{MayEstablish: mayEstablish, Now: box.mem.Now(), By: commit.User(ctx), WorkID: etcd.NewID()}
	if before != nil {
		z, err := objects.LawZone(before)
		if err != nil {
			return ask, err
		}
		ask.Before, ask.Annotated = z, before.Annotations[v1alpha1.AnnotationDelete] == string(before.UID)
		if z.Pending {
			spec, err := objects.ZoneSpec(before)
			if err != nil {
				return ask, err
			}
			ask.Waits = spec.Waiting()
		}
	}
	if after != nil {
		spec, err := objects.ZoneSpec(after)
		if err != nil {
			return ask, commit.Status("zones", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.After = spec
		ask.Behind = behindOf(before, after)
		if before != nil {
			ask.Renames = objects.Renames(before, after)
		}
	}
	return ask, nil
}

// behindOf returns what a write of status says of a secondary (S6.11): a serial in the place of the zone's own, which
// the API lets through for that purpose alone.
func behindOf(before, after *v1alpha1.Zone) *zones.Behind {
	if before == nil || after == nil || before.Status.Serial == after.Status.Serial {
		return nil
	}
	b := &zones.Behind{Serial: serial.Serial(after.Status.Serial)}
	if accepted, err := strconv.ParseUint(after.Annotations[v1alpha1.AnnotationAcceptSerial], 10, 32); err == nil {
		b.Accepted = serial.Serial(accepted)
	}
	return b
}

// askPending makes the question whether a pending zone may stand, as a new child (S3.2); nil: it is not to be decided.
// No zone takes in what terminates (S2.6).
func (box *Outbox) askPending(ctx context.Context, o *v1alpha1.Zone) (func(*law.Seen) law.Outcome, *zones.ZoneAsk, error) {
	if o.Status.FQDN != "" || o.DeletionTimestamp != nil || box.Terminates(o.Namespace) {
		return nil, nil, nil
	}
	ask, err := box.ZoneAsk(ctx, false, o, o)
	ask.Cascade = true
	return func(seen *law.Seen) law.Outcome { return zones.DecideZone(seen, ask) }, &ask, err
}

// reparentZones decides anew which zone is the parent of each zone that the scans of a work go through: of those below
// a name (S3.4–S3.11), and of those that are to say that the zone to which they refer has another name, or no longer
// (S1.6).
func (box *Outbox) reparentZones(ctx context.Context, s *standing) error {
	for _, scan := range s.Work.Scans {
		decided := map[string]bool{}
		for again := true; again; { // a zone made meanwhile may have come by what one above it said before
			found, err := box.findZones(ctx, &scan)
			if err != nil {
				return err
			}
			again = false
			for _, h := range found {
				if decided[h.UID] {
					continue
				}
				if err := box.reparentZone(ctx, s, h.Ref); err != nil {
					return err
				}
				decided[h.UID], again = true, true
				if _, err := box.betweenGoes(ctx, s, time.Now(), box.com.Clients.Load()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findZones returns the standing zones that a scan goes through, those above others first.
func (box *Outbox) findZones(ctx context.Context, scan *law.Scan) (found []*law.Holding, err error) {
	if scan.Kind == law.ScanReferring {
		return box.mem.ZonesReferring(scan), nil
	} else if scan.Kind != law.ScanZones {
		return nil, nil
	}
	k := law.Key{Kind: law.KindZonesBelow, View: scan.View, Name: scan.Name}
	r, err := box.mem.Client.Get(ctx, box.mem.Layout.Key(k), clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	v, err := box.mem.DecodeRange(k, r.Kvs)
	if err != nil {
		return nil, err
	}
	var above []*law.ZoneBelow
	for i := range v.(*law.ZonesBelow).Zones {
		below := &v.(*law.ZonesBelow).Zones[i]
		if below.FQDN == scan.Name {
			continue
		}
		for len(above) > 0 && !above[len(above)-1].FQDN.Encloses(below.FQDN) {
			above = above[:len(above)-1]
		}
		var nearest *law.ZoneBelow
		if len(above) > 0 {
			nearest = above[len(above)-1]
		}
		if above = append(above, below); scan.Concerns(below, nearest) {
			found = append(found, &below.Holding)
		}
	}
	return found, nil
}

// reparentZone decides anew which zone is the parent of a zone, and what its holding says.
func (box *Outbox) reparentZone(ctx context.Context, s *standing, ref law.Ref) error {
	_, err := box.decideZone(ctx, &s.Item, ref, func(o *v1alpha1.Zone) (func(*law.Seen) law.Outcome, error) {
		if o.Status.FQDN == "" {
			return nil, nil
		}
		z, err := objects.LawZone(o)
		if err != nil {
			return nil, err
		}
		spec, err := objects.ZoneSpec(o)
		if err != nil {
			return nil, err
		}
		ask := zones.ParentAsk{Zone: z, Spec: spec, Work: &s.Work, Now: box.mem.Now(), WorkID: etcd.NewID()}
		if cond := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDelegated); cond != nil {
			ask.Says = cond.Message
		}
		return func(seen *law.Seen) law.Outcome { return zones.DecideParent(seen, ask) }, nil
	})
	return err
}

// reconsiderZone decides a pending zone anew.
func (box *Outbox) reconsiderZone(ctx context.Context, s *standing, c candidate) error {
	_, err := box.decideZone(ctx, &s.Item, c.Ref, func(o *v1alpha1.Zone) (func(*law.Seen) law.Outcome, error) {
		decide, _, err := box.askPending(ctx, o)
		return decide, err
	})
	return err
}
