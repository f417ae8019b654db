// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// CountCuts adds a write's pending cuts to the parents before the answer, so the client finds the new name servers
// there, and PTR to the reverse zones. After an error, sweepCuts adds them later.
func (ob *Outbox) CountCuts(ctx context.Context, cuts []law.Derivation) {
	for len(cuts) > 0 {
		d, alike := cuts[0], cuts[:1]
		var err error
		if d.PTR {
			alike = slices.DeleteFunc(slices.Clone(cuts), func(x law.Derivation) bool { return !x.DerivesWith(d) })
			err = ob.countPTR(ctx, alike, false)
		} else {
			err = ob.countCut(ctx, d)
		}
		if err != nil {
			klog.FromContext(ctx).V(2).Info("the name servers of a child zone, or PTR, are counted later",
				"into", d.Into.Namespace+"/"+d.Into.Name, "from", d.From.Namespace+"/"+d.From.Name, "why", err.Error())
		}
		cuts = slices.DeleteFunc(slices.Clone(cuts), func(x law.Derivation) bool { return slices.ContainsFunc(alike, x.Same) })
	}
}

// countCut adds the NS and glue of a child zone to its parent. Each change of the child puts the pending cut again, so
// the transaction compares the revision, and countCut retries after a change.
func (ob *Outbox) countCut(ctx context.Context, d law.Derivation) (err error) {
	defer ob.Committer.Recover(ctx, nil, &err)
	cutKey := ob.Mem.Layout.Derivation(d)

	// Lock before reading. Otherwise several callers would read the same pending cut, and all but the first would fail.
	unlock, err := ob.Committer.LockKey(ctx, cutKey)
	if err != nil {
		return err
	}
	defer unlock()

	for {
		// An absent key means that another caller has counted the cut.
		r, err := ob.Mem.Client.Get(ctx, cutKey)
		if err != nil || len(r.Kvs) == 0 {
			return err
		}

		// If a cascade moves Records to the child, the write is a part of the cascade.
		item, err := ob.findGaining(ctx, d)
		if err != nil {
			return err
		}

		ask := records.CutInput{Pending: d, Now: ob.Mem.Now(), By: commit.User(ctx)}
		if item != nil {
			ask.MarkID, ask.CausedBy = item.Work.ID, item.Work.By
		}

		parent, kept, err := ob.readCut(ctx, &ask)
		if err != nil || kept {
			return err
		}

		ask.Own = ask.Own || d.Own
		w := ob.cutWrite(ask, parent)
		w.Key, w.Expected, w.OutboxItem = cutKey, r.Kvs[0].ModRevision, item
		w.Origin = content.Origin{Cause: fmt.Sprintf("zone %s has other name servers, glue or DS", d.FQDN), CausedBy: d.From.Namespace}

		// If out.OK is false, a compare has failed.
		switch out, err := ob.Committer.Commit(ctx, w); {
		case errors.Is(err, commit.ErrCascadeEnded): // the child's cascade has ended, or the parent has another name
		case err != nil:
			return err
		case out.OK:
			ob.CountCuts(ctx, w.Plan.Derivations)
			return nil
		}
	}
}

// cutWrite returns the parent's write. The write fails with commit.ErrCascadeEnded if the parent's name has changed.
func (ob *Outbox) cutWrite(ask records.CutInput, parent *law.Zone) *commit.Write {
	d := ask.Pending
	w := &commit.Write{Object: commit.Object{Resource: "zones", Namespace: d.Into.Namespace, Name: d.Into.Name},
		LikelyZone: ob.Mem.Layout.Zone(d.Into.Namespace, d.Into.Name)}
	w.Decide = func(seen *law.Facts) law.Outcome {
		key := law.ZoneKey(d.Into.Namespace, d.Into.Name)
		p, ok := seen.Get(key)
		if !ok {
			return law.Outcome{Need: []law.Key{key, law.CutKey(d.Into.UID, d.From.UID)}}
		}
		if ask.Parent, _ = p.(*law.Zone); !parentExists(ask.Parent, d) {
			// The parent is gone, so the pending cut is deleted without a change.
			return law.Outcome{Plan: &law.Plan{}}
		}
		return records.DecideCut(seen, ask)
	}

	w.ObjectOp = func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if parentExists(ask.Parent, d) && (parent == nil || parent.FQDN() != ask.Parent.FQDN()) {
			// The cut was derived for another name of the parent, or for none.
			return nil, nil, commit.ErrCascadeEnded
		}
		op := clientv3.OpDelete(w.Key)
		return &op, nil, nil
	}

	return w
}

func parentExists(parent *law.Zone, d law.Derivation) bool {
	return parent != nil && parent.UID == d.Into.UID && !parent.Pending
}

// findGaining returns the cascade that moves Records from the parent to the child of d, or nil. The cut is then a part
// of this cascade.
func (ob *Outbox) findGaining(ctx context.Context, d law.Derivation) (*commit.Item, error) {
	h := ob.Mem.HoldingOf(law.HoldingKey(d.View, d.FQDN))
	if h == nil || h.UID != d.From.UID {
		return nil, nil
	}
	for _, w := range h.Works {
		item := &commit.Item{Work: law.Work{ID: w.ID}}
		if w.Losing != d.Into.UID {
			continue
		}
		if err := item.Refresh(ctx, ob.Mem); !errors.Is(err, commit.ErrCascadeEnded) {
			return item, err
		}
	}
	return nil, nil
}

// readCut reads a child zone's cut (NS, glue and DS) into ask, proved by the revision of the pending cut. It returns
// the parent zone, or nil if the parent is gone. If kept is true, the parent keeps the former cut until the child's
// hold (a stop of delivery) ends.
func (ob *Outbox) readCut(ctx context.Context, ask *records.CutInput) (parent *law.Zone, kept bool, err error) {
	parent, err = ob.Mem.ZoneAt(ctx, ob.Mem.Layout.Zone(ask.Pending.Into.Namespace, ask.Pending.Into.Name))
	if err != nil || !parentExists(parent, ask.Pending) {
		return nil, false, err
	}
	child := ask.Pending.From
	ask.Own = child.Namespace == parent.Namespace
	z, h, err := ob.readChild(ctx, child)
	if err != nil || h == nil {
		return parent, false, err // without the child, there is no cut
	}

	ask.Own = ask.Own && (h.Parent == nil || h.Parent.UID == parent.UID)
	if !h.CountedBy(parent) {
		return parent, false, nil // another parent has the cut
	}
	if h.Held != nil {
		// Example: prod.example.org. is held after a mass deletion, so example.org. keeps the NS from before (S6.4,
		// S7.8).
		counted, err := ob.readFact(ctx, law.CutKey(parent.UID, h.UID))
		cut, _ := counted.(*law.CountedCut)
		if err != nil || h.KeepsCut(cut) {
			return parent, true, err
		}
	}

	// Derive the cut from the child's RRsets.
	// Glue is at the name servers' names, for example ns1.prod.example.org.
	ask.Holding, ask.DS = h, z.DS
	setsByOwner := map[name.Rel][]content.RRset{}
	sets := content.Cut(parent.FQDN(), z.Header, func(owner name.Rel, t rdata.Type) (content.RRset, bool) {
		if _, ok := setsByOwner[owner]; !ok && err == nil {
			setsByOwner[owner], err = ob.setsAt(ctx, child.UID, owner)
		}
		i := slices.IndexFunc(setsByOwner[owner], func(s content.RRset) bool { return s.Type == t })
		if i < 0 {
			return content.RRset{}, false
		}
		return setsByOwner[owner][i], true
	})

	if len(sets) > 0 {
		ask.Cut = &law.CountedCut{Sets: sets}
	}
	return parent, false, err
}

// readChild returns a child zone with its holding, or nil if the Zone is gone, pending, or has lost the name.
func (ob *Outbox) readChild(ctx context.Context, child law.Ref) (*law.Zone, *law.Holding, error) {
	object, _, err := ob.Mem.ReadZone(ctx, child.Namespace, child.Name)
	if err != nil || object == nil || string(object.UID) != child.UID || object.Status.FQDN == "" {
		return nil, nil, err
	}
	z, err := lawform.Zone(object)
	if err != nil {
		return nil, nil, err
	}
	v, err := ob.readFact(ctx, law.HoldingKey(z.View, z.FQDN()))
	h, _ := v.(*law.Holding)
	if h == nil || h.UID != child.UID {
		return nil, nil, err
	}
	return z, h, err
}

// setsAt returns the RRsets that the Records at an owner of a zone make.
func (ob *Outbox) setsAt(ctx context.Context, zone string, owner name.Rel) (sets []content.RRset, err error) {
	prefix := ob.Mem.Layout.MembersBelow(zone, owner) + "/"
	_, err = etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		_, _, ns, object, err := ob.Mem.Layout.ParseMember(string(kv.Key))
		if err != nil {
			return err
		}
		o, _, err := ob.Mem.ReadRecord(ctx, ns, object)
		if err != nil || o == nil {
			// A Record deleted since the scan also changes the child, which puts the pending cut again.
			return err
		}
		r, err := lawform.Record(o)
		if err != nil {
			return fmt.Errorf("record %s/%s: %w", ns, object, err)
		}
		sets = objects.AddSet(sets, objects.MakeRRset(owner, r))
		return nil
	}, clientv3.WithKeysOnly())
	return sets, err
}

// sweepCuts counts the pending cuts that their writers left, after a crash for example. Keys unchanged for sweepEvery
// are due, and in the first sweep all.
func (ob *Outbox) sweepCuts(ctx context.Context, last seenKeys) seenKeys {
	return ob.sweepRoom(ctx, "debts", last, func(kv *mvccpb.KeyValue, known time.Duration) {
		var d law.Derivation
		if err := layout.Decode(kv.Value, &d); err != nil {
			klog.FromContext(ctx).Error(err, "a pending cut does not parse; run kubizone fsck", "key", string(kv.Key))
			return
		}
		if last != nil && known < sweepEvery {
			return // its writer counts a new cut; a first sweep counts all, as after a crash
		}
		by := etcd.PaidBy(ctx, etcd.Payer{Namespace: cmp.Or(d.By, d.From.Namespace), Weight: 1}) // as for the writer
		var err error
		if d.PTR {
			err = ob.countPTR(by, []law.Derivation{d}, true)
		} else {
			err = ob.countCut(by, d)
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "counting a delegated zone's name servers, or PTR, failed; it is tried again",
				"into", d.Into.Namespace+"/"+d.Into.Name, "from", d.From.Namespace+"/"+d.From.Name)
		}
	})
}
