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
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Zones decorates a storage of Zones, so that the ledger commits the writes. The storage must use a client from
// StorageClient.
func (l *Ledger) Zones(undecorated storage.Interface) storage.Interface {
	return &objectStorage[v1alpha1.Zone, *v1alpha1.Zone]{Interface: undecorated,
		newStoreWrite: func(w *objectWrite[v1alpha1.Zone, *v1alpha1.Zone]) storeWrite {
			z := &zoneWrite{objectWrite: w, l: l}
			w.copies, w.release = true, z.releaseLocks
			return z
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
	*objectWrite[v1alpha1.Zone, *v1alpha1.Zone]
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

func (w *zoneWrite) commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	l := w.l
	ctx, err := w.startCommit(ctx, l, key, expected, put, "names taken")
	if err != nil {
		return commit.Outcome{}, err
	}
	ask, err := l.zoneAsk(ctx, w.before, w.after)
	if err != nil {
		return commit.Outcome{}, err
	}

	id := w.before
	if w.after != nil {
		id = w.after
	}
	if w.tx == nil {
		w.tx = l.com.NewWrite("zones", id, expected)
		w.tx.LikelyZone, w.tx.KeepLocks = key, true
	}

	tx := w.tx
	tx.Expected, tx.ZoneBefore, tx.By, tx.Origin = expected, w.before, ask.By, originOf(ctx, w.before, w.after)
	if w.before != nil && w.after != nil && zoneUnchanged(w.before, w.after) && !l.placer.IsServableStale(w.after) {
		return w.commitPlain(ctx, key, expected, put)
	}
	l.com.Clients.Store(time.Now().UnixNano())
	var placed *v1alpha1.Zone
	tx.Decide = func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) }
	tx.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if w.after == nil {
			op := clientv3.OpDelete(key)
			return &op, nil, nil
		}
		placed = w.after.DeepCopy()
		placed.Status.ObservedGeneration = placed.Generation
		l.placer.PlaceZone(placed, plan.Zone)
		data, err := l.mem.Zones.Encode(ctx, key, placed)
		op := etcd.OpPut(key, data)
		return &op, placed, err
	}

	var existing children
	if w.before != nil && w.after != nil && (!apiequality.Semantic.DeepEqual(w.before.Spec.Delegations, w.after.Spec.Delegations) ||
		w.before.Annotations[v1alpha1.AnnotationReleaseNow] != w.after.Annotations[v1alpha1.AnnotationReleaseNow]) {
		existing = l.childrenOf(string(w.before.UID))
	}

	out, err := l.com.Commit(ctx, tx)
	if err != nil || !out.OK {
		return out, err
	}
	w.releaseLocks()
	commit.Warn(ctx, tx.Plan.Warnings...)
	commit.WarnOfDeletions(ctx, tx.Plan.Zone)
	l.warnOfZone(ctx, ask.Before, tx.Plan, existing, out.Rev)
	if placed != nil {
		w.commitAs(placed.DeepCopy(), out) // memory keeps placed, and the caller may change its copy
	}

	l.outbox.CountCuts(ctx, tx.Plan.PendingCuts)
	return out, nil
}

func (w *zoneWrite) commitPlain(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	l := w.l
	if len(w.tx.Locks) == 0 {
		if err := l.com.Acquire(ctx, w.tx, key); err != nil {
			return commit.Outcome{}, commit.TimeoutError(w.tx.String(), err)
		}
	}
	out, err := l.com.WriteObjectOnly(ctx, key, expected, put)
	switch {
	case err != nil:
		l.mem.InvalidateHead(key)
	case !out.OK: // another write was faster: load its object
		return out, l.mem.LoadHead(ctx, key, out.KV, out.Rev)
	default:
		object := w.after.DeepCopy()
		_ = (storage.APIObjectVersioner{}).UpdateObject(object, uint64(out.Rev))
		l.mem.AdvanceHead(key, expected, object, out.Rev)
	}
	return out, err
}

// ChangeZone calls change for a Zone, and writes the Zone if change returns true, unless others have written it
// meanwhile. The write is that of a client: the zone's commits wait for it, a stale Servable is decided anew, and the
// namespace is charged.
func (l *Ledger) ChangeZone(ctx context.Context, namespace, name string, change func(*v1alpha1.Zone) bool) (changed bool, err error) {
	before, revision, err := l.mem.ReadZone(ctx, namespace, name)
	if err != nil || before == nil {
		return false, err
	}
	after := before.DeepCopy()
	if !change(after) {
		return false, nil
	}
	key := l.mem.Layout.Zone(namespace, name)
	data, err := l.mem.Zones.Encode(ctx, key, after)
	if err != nil {
		return false, err
	}
	l.mem.Fault("confirm")
	w := &zoneWrite{objectWrite: &objectWrite[v1alpha1.Zone, *v1alpha1.Zone]{before: before, after: after}, l: l}
	defer w.releaseLocks()
	out, err := w.commitWrite(ctx, key, revision, data)
	return out.OK, err
}

// RaiseSerial raises a Zone's serial past that of a secondary, which then transfers the zone again (S6.11). The result
// is false if the Zone is gone, or zones.Repair does not allow this now.
func (l *Ledger) RaiseSerial(ctx context.Context, zone law.Ref, past zones.Ahead) (raised bool, err error) {
	return l.outbox.RaiseSerial(ctx, zone, past)
}
