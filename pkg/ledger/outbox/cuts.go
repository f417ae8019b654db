// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
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
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// PayNow counts the cuts that a write left pending before the write is answered, so that a client that changed a
// child's name servers sees the parent changed. A cut that cannot be counted now stays pending, and the sweep counts
// it (I4).
func (box *Outbox) PayNow(ctx context.Context, cuts []law.PendingCut) {
	for _, d := range cuts {
		if err := box.payCut(ctx, d); err != nil {
			klog.FromContext(ctx).V(2).Info("a parent's cut is paid later", "parent", d.Parent.Namespace+"/"+d.Parent.Name,
				"child", d.Child.Namespace+"/"+d.Child.Name, "why", err.Error())
		}
	}
}

// payCut counts one child's NS and glue in its parent and consumes the pending cut, in one transaction of the parent.
// The pending cut's own revision guards what was read of the child: any later change there leaves the cut pending
// again.
func (box *Outbox) payCut(ctx context.Context, d law.PendingCut) (err error) {
	defer box.com.Recover(ctx, nil, &err)
	cutKey := box.mem.Layout.PendingCut(d.Parent.UID, d.Child.UID)
	// Several callers may count one pending cut. They queue here before they read: a caller that waited finds the cut
	// counted, where all of them would read and all but one fail.
	unlock, err := box.com.Lock(ctx, cutKey)
	if err != nil {
		return err
	}
	defer unlock()
	for {
		r, err := box.mem.Client.Get(ctx, cutKey)
		if err != nil {
			return err
		}
		if len(r.Kvs) == 0 {
			return nil
		}
		stand, err := box.findGaining(ctx, d)
		if err != nil {
			return err
		}
		ask := records.CutAsk{Owed: d, Now: box.mem.Now(), By: commit.User(ctx)}
		if stand != nil {
			ask.Work, ask.WorkBy = stand.Work.ID, stand.Work.By
		}
		// This is before the parent's queue, because it reads each host of the child, and other writers of the parent
		// do not wait for that.
		parent, kept, err := box.countCut(ctx, &ask)
		if err != nil || kept {
			return err
		}
		ask.Own = (ask.Own || d.Own) && !box.Terminates(d.Parent.Namespace)
		moved := false
		w := &commit.Write{
			Resource: "zones", Namespace: d.Parent.Namespace, Name: d.Parent.Name, Key: cutKey, Expected: r.Kvs[0].ModRevision,
			Hint: box.mem.Layout.Zone(d.Parent.Namespace, d.Parent.Name), Item: stand.itemOf(),
			Ask: func(seen *law.Seen) law.Outcome {
				key := law.ZoneKey(d.Parent.Namespace, d.Parent.Name)
				p, ok := seen.Get(key)
				if !ok {
					return law.Outcome{Need: []law.Key{key, law.CutKey(d.Parent.UID, d.Child.UID)}}
				}
				ask.Parent, _ = p.(*law.Zone)
				if !parentStands(ask.Parent, d) {
					return law.Outcome{Plan: &law.Plan{}} // the parent is gone, and its keys go with it
				}
				if moved = parent == nil || parent.FQDN() != ask.Parent.FQDN(); moved {
					return law.Outcome{Plan: &law.Plan{}}
				}
				return records.DecideCut(seen, ask)
			},
			Primary: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
				if moved {
					return nil, nil, commit.ErrThrough // it is counted anew, under the name that the parent has now
				}
				op := clientv3.OpDelete(cutKey)
				return &op, nil, nil
			},
		}
		out, err := box.com.Commit(ctx, w)
		if errors.Is(err, commit.ErrThrough) {
			continue // the child's cascade ended meanwhile
		}
		if err != nil {
			return err
		}
		if !out.OK {
			continue
		}
		box.PayNow(ctx, w.Plan.PendingCuts) // the hold of the parent has ended
		return nil
	}
}

// parentStands reports whether the parent of a pending cut is what it was when it was owed.
func parentStands(parent *law.Zone, d law.PendingCut) bool {
	return parent != nil && parent.UID == d.Parent.UID && !parent.Pending
}

// findGaining returns the standing cascade that brings records of the parent of a pending cut to its child, nil for
// none.
func (box *Outbox) findGaining(ctx context.Context, d law.PendingCut) (*standing, error) {
	var id string
	if h := box.mem.HoldingOf(law.HoldingKey(d.View, d.FQDN)); h != nil && h.UID == d.Child.UID {
		for _, w := range h.Works {
			if w.Losing == d.Parent.UID {
				id = w.ID
			}
		}
	}
	if id == "" {
		return nil, nil
	}
	s := &standing{}
	s.Work.ID = id
	if err := s.Refresh(ctx, box.mem); err != nil && !errors.Is(err, commit.ErrThrough) {
		return nil, err
	}
	if s.Mod == 0 {
		return nil, nil
	}
	return s, nil
}

// countCut looks up what the child of a pending cut has that its parent is to count. It returns that parent, nil
// where it does not stand. The pending cut guards what is read of the child. kept: it waits until the hold of the child
// ends, which has it counted.
func (box *Outbox) countCut(ctx context.Context, ask *records.CutAsk) (parent *law.Zone, kept bool, err error) {
	parent, err = box.mem.ZoneAt(ctx, box.mem.Layout.Zone(ask.Owed.Parent.Namespace, ask.Owed.Parent.Name))
	if err != nil || !parentStands(parent, ask.Owed) {
		return nil, false, err
	}
	child := ask.Owed.Child
	ask.Own = child.Namespace == parent.Namespace
	object, _, err := box.mem.ReadZone(ctx, child.Namespace, child.Name)
	if err != nil || object == nil || string(object.UID) != child.UID || object.Status.FQDN == "" {
		return parent, false, err
	}
	z, err := objects.LawZone(object)
	if err != nil {
		return nil, false, err
	}
	held, err := box.readFact(ctx, law.HoldingKey(z.View, z.FQDN()))
	h, _ := held.(*law.Holding)
	if err != nil || h == nil || h.UID != child.UID {
		return parent, false, err
	}
	ask.Own = ask.Own && (h.Parent == nil || h.Parent.UID == parent.UID)
	if !h.CountedBy(parent) {
		return parent, false, nil
	}
	if h.Held != nil {
		counted, err := box.readFact(ctx, law.CutKey(parent.UID, h.UID))
		cut, _ := counted.(*law.CountedCut)
		if err != nil || h.KeepsCut(cut) {
			return parent, true, err
		}
	}
	ask.Holding, ask.DS = h, z.DS
	at := map[name.Rel][]content.RRset{}
	sets := content.Cut(parent.FQDN(), z.Header, func(owner name.Rel, t rdata.Type) (content.RRset, bool) {
		if _, ok := at[owner]; !ok && err == nil {
			at[owner], err = box.setsAt(ctx, child.UID, owner)
		}
		i := slices.IndexFunc(at[owner], func(s content.RRset) bool { return s.Type == t })
		if i < 0 {
			return content.RRset{}, false
		}
		return at[owner][i], true
	})
	if len(sets) > 0 {
		ask.Cut = &law.CountedCut{Sets: sets}
	}
	return parent, false, err
}

// setsAt returns the RRsets that a zone's records make at one owner.
func (box *Outbox) setsAt(ctx context.Context, zone string, owner name.Rel) ([]content.RRset, error) {
	prefix := box.mem.Layout.Key(law.OwnerKey(zone, owner))
	prefix = box.mem.Layout.Room("members") + prefix[len(box.mem.Layout.Room("owners")):] + "/"
	members, err := box.mem.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	var sets []content.RRset
	for _, m := range members.Kvs {
		_, _, ns, object, err := box.mem.Layout.ParseMember(string(m.Key))
		if err != nil {
			return nil, err
		}
		o, _, err := box.mem.ReadRecord(ctx, ns, object)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		r, err := objects.LawRecord(o)
		if err != nil {
			return nil, fmt.Errorf("record %s/%s: %w", ns, object, err)
		}
		sets = AddRecord(sets, owner, r)
	}
	return sets, nil
}

// AddRecord merges a record's values into the RRsets of its owner.
func AddRecord(sets []content.RRset, owner name.Rel, r *law.Record) []content.RRset {
	s := content.RRset{Owner: owner, Type: r.Type, TTL: content.InheritTTL()}
	if r.TTL != nil {
		s.TTL = content.ExplicitTTL(*r.TTL)
	}
	for _, v := range r.Values {
		s.Data = append(s.Data, v.Text)
	}
	slices.Sort(s.Data)
	return AddSet(sets, s)
}

// AddSet merges an RRset into those of its owner.
func AddSet(sets []content.RRset, s content.RRset) []content.RRset {
	for i := range sets {
		if sets[i].Type == s.Type {
			sets[i] = sets[i].Merge(s)
			return sets
		}
	}
	return append(sets, s)
}

// sweepCuts counts cuts that stayed pending: after a crash, or when the time of the writer was up. A young one is left
// to its writer, but by the first sweep of a server.
func (box *Outbox) sweepCuts(ctx context.Context, last sightings) sightings {
	return box.sweepRoom(ctx, "debts", last, func(kv *mvccpb.KeyValue, known time.Duration) {
		var d law.PendingCut
		if err := layout.Decode(kv.Value, &d); err != nil {
			klog.FromContext(ctx).Error(err, "a pending cut does not parse; run kubizone fsck", "key", string(kv.Key))
			return
		}
		if last != nil && known < sweepEvery {
			return
		}
		by := etcd.PaidBy(ctx, etcd.Payer{Namespace: d.Child.Namespace, Weight: 1}) // whose writer would have
		if err := box.payCut(by, d); err != nil {
			klog.FromContext(ctx).Error(err, "counting a delegated zone's name servers failed; it is tried again",
				"parent", d.Parent.Namespace+"/"+d.Parent.Name, "child", d.Child.Namespace+"/"+d.Child.Name)
		}
	})
}
