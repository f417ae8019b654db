// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// Zones returns a storage whose writes of Zones go through the ledger. It reads from stored.
func (l *Ledger) Zones(stored storage.Interface) storage.Interface {
	return &objectStorage[v1alpha1.Zone, *v1alpha1.Zone]{Interface: stored, mayTouch: l.refuseSuperseded,
		begin: func() (committer[v1alpha1.Zone, *v1alpha1.Zone], func()) {
			w := &zoneWrite{l: l}
			return w.commitTry, w.releaseLocks
		}}
}

type establishKey struct{}

// WithEstablish adds the authorizer's answer for zones/establish to a context, since the ledger must not ask under a
// lock.
func (l *Ledger) WithEstablish(ctx context.Context, allowed bool) context.Context {
	return context.WithValue(ctx, establishKey{}, allowed)
}

func mayEstablish(ctx context.Context) bool {
	allowed, _ := ctx.Value(establishKey{}).(bool)
	return allowed
}

type zoneWrite struct {
	l *Ledger
	// tx keeps the zone's lock after a lost race until the storage call returns. Otherwise a PATCH beside many writers
	// would always lose.
	tx *commit.Write
}

func (w *zoneWrite) releaseLocks() {
	if w.tx != nil {
		w.l.com.Release(w.tx.Locks...)
		w.tx.Locks = nil
	}
}

func zoneUnchanged(before, after *v1alpha1.Zone) bool {
	return apiequality.Semantic.DeepEqual(before.Spec, after.Spec) &&
		(before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) &&
		before.Annotations[v1alpha1.AnnotationPublishDeletions] == after.Annotations[v1alpha1.AnnotationPublishDeletions] &&
		before.Annotations[v1alpha1.AnnotationReleaseNow] == after.Annotations[v1alpha1.AnnotationReleaseNow] &&
		apiequality.Semantic.DeepEqual(signersOf(before), signersOf(after))
}

func signersOf(o *v1alpha1.Zone) []v1alpha1.DelegationSigner {
	if o.Status.DNSSEC == nil {
		return nil
	}
	return o.Status.DNSSEC.DS
}

func (l *Ledger) zoneAsk(ctx context.Context, before, after *v1alpha1.Zone) (zones.ZoneInput, error) {
	ask, err := objects.ZoneAsk(before, after)
	if err != nil && after != nil {
		return ask, commit.Status("zones", after.Name, err)
	}
	if err != nil {
		return ask, err
	}
	ask.MayEstablish, ask.Now, ask.By, ask.WorkID = mayEstablish(ctx), l.mem.Now(), commit.User(ctx), etcd.NewID()
	return ask, nil
}

// commitTry decides a try to write a Zone, and commits it. After a lost race, OK of the outcome is false, and w.tx
// keeps the lock of the zone for the next try.
func (w *zoneWrite) commitTry(ctx context.Context, try *objectWrite[v1alpha1.Zone, *v1alpha1.Zone]) (*v1alpha1.Zone, commit.Outcome,
	error) {
	l, before, after := w.l, try.before, try.after
	if after != nil {
		after = after.DeepCopy() // the caller may change its object before an outcome is known
	}
	// 1. Ask the law, unless nothing changes that a decision needs.
	ask, err := l.zoneAsk(ctx, before, after)
	if err != nil {
		return nil, commit.Outcome{}, err
	}
	if w.tx == nil {
		w.tx = l.com.NewWrite("zones", try.eitherObject(), try.expected)
		w.tx.LikelyZone, w.tx.KeepLocks = w.tx.Key, true
	}

	tx := w.tx
	tx.Expected, tx.ZoneBefore, tx.By, tx.Origin = try.expected, before, ask.By, originOf(ctx, before, after)
	if before != nil && after != nil && zoneUnchanged(before, after) && !l.placer.IsServableStale(after) {
		out, err := w.commitPlain(ctx, try.expected, after)
		return nil, out, err
	}
	l.com.Clients.Store(time.Now().UnixNano())

	// 2. Prepare the write.
	var placed *v1alpha1.Zone
	tx.Decide = func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) }
	tx.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if after == nil {
			op := clientv3.OpDelete(tx.Key)
			return &op, nil, nil
		}
		placed = after.DeepCopy()
		placed.Status.ObservedGeneration = placed.Generation
		l.placer.PlaceZone(placed, plan.Zone)
		data, err := l.mem.Zones.Encode(ctx, tx.Key, placed)
		op := etcd.OpPut(tx.Key, data)
		return &op, placed, err
	}

	var existing children
	if before != nil && after != nil && (!apiequality.Semantic.DeepEqual(before.Spec.Delegations, after.Spec.Delegations) ||
		before.Annotations[v1alpha1.AnnotationReleaseNow] != after.Annotations[v1alpha1.AnnotationReleaseNow]) {
		// Before the commit: a cascade may have ended the child zones before the Warning is made.
		existing = l.childrenOf(string(before.UID))
	}

	// 3. Commit, and warn.
	out, err := l.com.Commit(ctx, tx)
	if err != nil || !out.OK {
		return nil, out, err
	}
	// Before CountCuts, which waits for the parent's lock.
	w.releaseLocks()
	commit.Warn(ctx, tx.Plan.Warnings...)
	commit.WarnOfDeletions(ctx, tx.Plan.Zone)
	l.warnOfZone(ctx, ask.Before, tx.Plan, existing, out.Rev)
	l.outbox.CountCuts(ctx, tx.Plan.Derivations)
	return placed.DeepCopy(), out, nil // memory keeps placed, and the caller may change its copy
}

// commitPlain commits a Zone without a decision: a change of labels, finalizers or conditions. It takes the zone's
// lock, and moves memory to the new revision, since no fact has changed.
func (w *zoneWrite) commitPlain(ctx context.Context, expected int64, after *v1alpha1.Zone) (out commit.Outcome, err error) {
	l, key := w.l, w.tx.Key
	data, err := l.mem.Zones.Encode(ctx, key, after)
	if err != nil {
		return out, err
	}
	if len(w.tx.Locks) == 0 {
		if err := l.com.Acquire(ctx, w.tx, key); err != nil {
			return out, commit.TimeoutError(w.tx.String(), err)
		}
	}
	switch out, err = l.com.WriteObjectOnly(ctx, key, expected, data); {
	case err != nil:
		// The outcome is unknown.
		l.mem.InvalidateCachedZone(key)
	case !out.OK: // another write was faster: load its object
		return out, l.mem.LoadHead(ctx, key, out.KV, out.Rev)
	default:
		setVersion(after, out.Rev)
		l.mem.AdvanceHead(key, expected, after, out.Rev)
	}
	return out, err
}

// ChangeZone calls change for a Zone, and writes the Zone if change returns true, unless others have written it
// meanwhile. The write is that of a client: the zone's commits wait for it, a stale Servable is decided anew, and the
// namespace is charged.
func (l *Ledger) ChangeZone(ctx context.Context, namespace, name string, change func(*v1alpha1.Zone) bool) (changed bool, err error) {
	before, _, err := l.mem.ReadZone(ctx, namespace, name)
	if err != nil || before == nil {
		return false, err
	}
	after := before.DeepCopy()
	if !change(after) {
		return false, nil
	}
	l.mem.Fault("confirm")
	w := &zoneWrite{l: l}
	defer w.releaseLocks()
	try, err := newObjectWrite(before, after)
	if err != nil {
		return false, err
	}
	return try.commitBy(ctx, w.commitTry, nil)
}

// RaiseSerial raises a Zone's serial past that of a secondary, which then transfers the zone again (S6.11). The result
// is false if the Zone is gone, or zones.Repair does not allow this now.
func (l *Ledger) RaiseSerial(ctx context.Context, zone law.Ref, past zones.Ahead) (raised bool, err error) {
	return l.outbox.RaiseSerial(ctx, zone, past)
}
