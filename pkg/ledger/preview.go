// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// PreviewRecord runs the whole decision of a Record write without writing:
// after.Status says what would be (S7.3). before nil: create; after nil: delete.
// Errors are those of the write itself.
func (l *Ledger) PreviewRecord(ctx context.Context, before, after *v1alpha1.Record) error {
	if set, index := setOf(ctx); set != nil {
		return l.previewInSet(ctx, set, index, before, after)
	}
	if after != nil && sameContent(before, after) {
		if after.Generation != before.Generation {
			after.Status.ObservedGeneration = after.Generation
		}
		return nil
	}
	ask, _, err := l.recordAsk(ctx, before, after)
	if err != nil {
		return err
	}
	w := &write{resource: "records", name: ask.Name, key: l.layout.Record(ask.Namespace, ask.Name), ask: func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }}
	out, err := l.preview(paidBy(ctx, payer{ask.Namespace, 1}), w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("records", ask.Name, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		place := out.Plan.Record
		if out.Plan.Arrival != nil { // it moves, and that is where it ends
			place = out.Plan.Arrival
		}
		l.placeRecord(after, place)
	}
	return nil
}

// PreviewZone is PreviewRecord for a Zone.
func (l *Ledger) PreviewZone(ctx context.Context, before, after *v1alpha1.Zone) error {
	if before != nil && after != nil && zoneUnchanged(before, after) {
		return nil
	}
	if after != nil && after.UID == "" {
		after.UID = types.UID(newID()) // a dry run has not given it one; the law tells zones apart by it
		defer func() { after.UID = "" }()
	}
	ask, err := l.zoneAsk(ctx, before, after)
	if err != nil {
		return err
	}
	object := after
	if object == nil {
		object = before
	}
	w := &write{resource: "zones", name: object.Name, key: l.layout.Zone(object.Namespace, object.Name), ask: func(seen *law.Seen) law.Outcome { return law.DecideZone(seen, ask) }}
	out, err := l.preview(ctx, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("zones", object.Name, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		after.Status.ObservedGeneration = after.Generation
		l.placeZone(after, out.Plan.Zone)
	}
	return nil
}

// preview decides what a write would, and proves it as a refusal is proved: by its
// compares, with nothing to put. What was stale is read, and the decision made anew.
// The object itself is not compared: it is the caller's, read just before.
func (l *Ledger) preview(ctx context.Context, w *write) (law.Outcome, error) {
	for s := l.session(false); ; s.reset() {
		out, err := s.decide(ctx, w.ask)
		if errors.Is(err, errMoved) {
			return out, tooBusy(w.resource, w.name, err)
		}
		if err != nil {
			return out, l.late(w, err)
		}
		cmps := s.guards()
		if len(cmps) > maxCompares && s.depth > flatName {
			s.depth = flatName
			continue
		}
		if len(cmps) > maxCompares {
			return out, tooManyFacts(w, s.seen, len(cmps))
		}
		var orelse []clientv3.Op
		for _, z := range s.zones {
			orelse = append(orelse, clientv3.OpGet(z.key))
		}
		l.stats.Transactions.Add(1)
		r, err := l.config.Client.Txn(ctx).If(cmps...).Else(orelse...).Commit()
		if err != nil || r.Succeeded {
			return out, l.late(w, err)
		}
		moved := false
		for i, z := range s.zones {
			kv := one(r.Responses[i])
			moved = moved || modRevision(kv) != z.mod
			l.mu.Lock()
			h := l.head(z.key)
			l.mu.Unlock()
			if err := l.reload(ctx, h, kv, r.Header.Revision); err != nil {
				return out, err
			}
		}
		if !moved {
			l.mu.Lock()
			l.suspect(s)
			l.mu.Unlock()
		}
	}
}
