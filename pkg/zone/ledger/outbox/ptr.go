// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	// maxNames bounds the names whose PTR a transaction derives.
	maxNames = 16
	// maxTries bounds the tries of a transaction before its names are read again.
	maxTries = 3
)

// pendingPTR is a stored Derivation of PTR.
type pendingPTR struct {
	law.Derivation
	key string
	rev int64
}

func (x *pendingPTR) isOfAllNames() bool { return x.Owner.IsZero() }

// ptrBatch is the part of a reverse zone's pending PTR that a transaction derives.
type ptrBatch struct {
	into    *law.Zone // as read for names; nil: gone
	pending []pendingPTR
	names   []records.AddressedName
	// last is the key of the last name of all, if a derivation of all names has further ones; else "".
	last string
}

// countPTR derives the PTR of names in the reverse zone of ds, which have a common author. Waiting callers of the same
// zone and author are served, too. Unless patient, it leaves all but the first names of a whole zone to sweepCuts.
func (ob *Outbox) countPTR(ctx context.Context, ds []law.Derivation, patient bool) (err error) {
	defer ob.Committer.Recover(ctx, nil, &err)
	into := ds[0].Into
	// One at a time, because all write the reverse zone. A waiting caller mostly finds its names counted.
	unlock, err := ob.Committer.LockKey(ctx, ob.Mem.Layout.Room("debts")+into.UID+"/")
	if err != nil {
		return err
	}
	defer unlock()

	after := "" // the last name of a whole zone that is done
	for len(ds) > 0 {
		b, err := ob.readPTR(ctx, ds, after)
		if err != nil || len(b.pending) == 0 {
			return err
		}
		done, err := ob.commitPTR(ctx, b)
		switch {
		case errors.Is(err, commit.ErrCascadeEnded): // the reverse zone has another rule by now
			continue
		case err != nil:
			return err
		}
		if b.pending[0].isOfAllNames() {
			if done == len(b.names) {
				after = b.last
			}
			if !patient {
				return nil
			}
			continue
		}
		ds = slices.DeleteFunc(slices.Clone(ds), func(d law.Derivation) bool {
			return slices.ContainsFunc(b.pending[:done], func(x pendingPTR) bool { return x.Same(d) })
		})
	}
	return nil
}

// readPTR reads the first stored of ds with their names. Without any, the batch is empty: others have counted them.
func (ob *Outbox) readPTR(ctx context.Context, ds []law.Derivation, after string) (*ptrBatch, error) {
	b := &ptrBatch{}
	pending, err := ob.readPending(ctx, ds)
	if err != nil || len(pending) == 0 {
		return b, err
	}
	b.into, err = ob.Mem.ZoneAt(ctx, ob.Mem.Layout.Zone(pending[0].Into.Namespace, pending[0].Into.Name))
	if err != nil {
		return b, err
	}
	if !parentExists(b.into, pending[0].Derivation) {
		b.into = nil
	}

	for _, x := range pending {
		if x.isOfAllNames() {
			if len(b.pending) > 0 {
				break // a batch of its own
			}
			b.pending = append(b.pending, x)
			return b, ob.addAllNames(ctx, b, x.Derivation, after)
		}
		b.pending = append(b.pending, x)
		if err := ob.addName(ctx, b, x.Derivation, x.Owner); err != nil {
			return b, err
		}
	}
	return b, nil
}

// readPending returns the first of ds that are stored and, if room is left, others of the same zone and author.
func (ob *Outbox) readPending(ctx context.Context, ds []law.Derivation) (pending []pendingPTR, err error) {
	var ops []clientv3.Op
	for _, d := range ds[:min(len(ds), maxNames)] {
		ops = append(ops, clientv3.OpGet(ob.Mem.Layout.Derivation(d)))
	}
	prefix := ob.Mem.Layout.Room("debts") + ds[0].Into.UID + "/"
	ops = append(ops, clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithLimit(maxNames)))
	ob.Mem.Stats.Reads.Add(1)
	r, err := ob.Mem.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, err
	}

	met := map[string]bool{}
	for i, response := range r.Responses {
		isAsked := i < len(ops)-1
		if !isAsked && len(pending) == 0 {
			break // all of the caller's are counted
		}
		for _, kv := range response.GetResponseRange().Kvs {
			x := pendingPTR{key: string(kv.Key), rev: kv.ModRevision}
			if err := layout.Decode(kv.Value, &x.Derivation); err != nil {
				return nil, layout.Unreadable(x.key, err)
			}
			isAlike := isAsked || x.By == ds[0].By && x.Own == ds[0].Own && !x.isOfAllNames()
			if x.PTR && isAlike && !met[x.key] && len(pending) < maxNames {
				pending = append(pending, x)
			}
			met[x.key] = true
		}
	}
	return pending, nil
}

// addAllNames adds the next names of d.From that the reverse zone has, behind the key after.
func (ob *Outbox) addAllNames(ctx context.Context, b *ptrBatch, d law.Derivation, after string) error {
	prefix := ob.Mem.Layout.Room("addressed") + d.Into.UID + "/" + d.From.UID + "/"
	from := prefix
	if after != "" {
		from = after + "\x00"
	}
	r, err := ob.Mem.Client.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(maxNames),
		clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	for _, kv := range r.Kvs {
		key := string(kv.Key)
		owner, err := name.RelFromKey(key[len(prefix):])
		if err != nil {
			return layout.Unreadable(key, err)
		}
		if err := ob.addName(ctx, b, d, owner); err != nil {
			return err
		}
		if r.More {
			b.last = key
		}
	}
	return nil
}

// addName adds a name of d.From with its present addresses.
func (ob *Outbox) addName(ctx context.Context, b *ptrBatch, d law.Derivation, owner name.Rel) error {
	n := records.AddressedName{From: law.Place{Ref: d.From, View: d.View, FQDN: d.FQDN}, Owner: owner}
	if b.into != nil && b.into.Reverse != nil {
		var err error
		if n.Addresses, err = ob.addressesOf(ctx, b.into, d, owner); err != nil {
			return err
		}
	}
	b.names = append(b.names, n)
	return nil
}

// addressesOf returns the addresses of a name's Records that a reverse zone covers.
func (ob *Outbox) addressesOf(ctx context.Context, into *law.Zone, d law.Derivation, owner name.Rel) (found []records.Address, err error) {
	prefix := ob.Mem.Layout.MembersBelow(d.From.UID, owner) + "/"
	_, err = etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		_, _, ns, object, err := ob.Mem.Layout.ParseMember(string(kv.Key))
		if err != nil {
			return err
		}
		o, _, err := ob.Mem.ReadRecord(ctx, ns, object)
		if err != nil || o == nil {
			return err // a Record deleted since the scan puts its Derivation again
		}
		r, err := lawform.Record(o)
		if err != nil {
			return fmt.Errorf("record %s/%s: %w", ns, object, err)
		}
		found = records.AddAddresses(found, into, r, d.At)
		return nil
	}, clientv3.WithKeysOnly())
	return found, err
}

// commitPTR derives the names of a batch, and deletes the pending keys that are done. It returns how many names are.
// The error is commit.ErrCascadeEnded if the names have to be read again.
func (ob *Outbox) commitPTR(ctx context.Context, b *ptrBatch) (done int, err error) {
	first := b.pending[0]
	ask := records.PTRInput{Names: b.names, Now: ob.Mem.Now(), By: commit.User(ctx), Payer: first.By, Own: first.Own}
	if first.isOfAllNames() {
		ask.AllOf = first.From.UID
	}
	w := &commit.Write{Object: commit.Object{Resource: "zones", Namespace: first.Into.Namespace, Name: first.Into.Name, Key: first.key},
		LikelyZone: ob.Mem.Layout.Zone(first.Into.Namespace, first.Into.Name), Expected: first.rev, Payer: first.By,
		Origin: content.Origin{Cause: b.cause(), CausedBy: first.By}}
	w.Decide = func(seen *law.Facts) (out law.Outcome) {
		key := law.ZoneKey(first.Into.Namespace, first.Into.Name)
		z, ok := seen.Get(key)
		if !ok {
			return law.Outcome{Need: append(records.PTRKeys(first.Into.UID, b.names), key)}
		}
		if ask.Zone, _ = z.(*law.Zone); !parentExists(ask.Zone, first.Derivation) {
			done = len(b.names) // the keys of a zone that is gone go with it
			return law.Outcome{Plan: &law.Plan{}}
		}
		out, done = records.DecidePTR(seen, ask)
		return out
	}

	isDone := func(i int) bool { return i < done || first.isOfAllNames() && done == len(b.names) && b.last == "" }
	tries := 0
	w.ObjectOp = func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		hasOtherRule := parentExists(ask.Zone, first.Derivation) &&
			(b.into == nil || !reflect.DeepEqual(b.into.Reverse, ask.Zone.Reverse))
		if tries++; hasOtherRule || tries > maxTries { // the names may have changed, so read them again
			return nil, nil, commit.ErrCascadeEnded
		}
		if first.isOfAllNames() && b.last != "" || !isDone(0) {
			return nil, nil, nil
		}
		op := clientv3.OpDelete(first.key)
		return &op, nil, nil
	}
	w.ExtraOps = func(*law.Plan) (cmps []clientv3.Cmp, ops []clientv3.Op) {
		for i, x := range b.pending[1:] {
			if cmps = append(cmps, etcd.RevisionIs(x.key, x.rev)); isDone(i + 1) {
				ops = append(ops, clientv3.OpDelete(x.key))
			}
		}
		return cmps, ops
	}

	out, err := ob.Committer.Commit(ctx, w)
	if err == nil && !out.OK {
		err = commit.ErrCascadeEnded // a name has changed again
	}
	return done, err
}

func (b *ptrBatch) cause() string {
	first := b.pending[0]
	switch fqdn, err := first.Owner.In(first.FQDN); {
	case first.isOfAllNames() || err != nil:
		return fmt.Sprintf("zone %s has no PTR here any more", first.FQDN)
	case len(b.names) == 1:
		return fmt.Sprintf("%s has other addresses", fqdn)
	default:
		return fmt.Sprintf("%d names, such as %s, have other addresses", len(b.names), fqdn)
	}
}
