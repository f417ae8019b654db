// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// A write that frees a name does not look for waiting objects. About every minute, a round tries them: a trial decides
// without a write. After a client has removed a value, objects waiting at the name are tried at once. If a zone would
// adopt an object, a cascade decides all objects waiting at the name.

const (
	TryEvery = time.Minute
	// maxTried bounds a namespace's objects in a round, drawn at random, so as not to delay other namespaces.
	maxTried = 100
	// maxListed bounds the keys of a round. The next round continues there. maxBelow bounds the keys at and below a
	// freed name.
	maxListed = 100_000
	maxBelow  = 2_000
	// A round pauses idleShare times its working time, for clients.
	idleShare = 3
	countRest = 500 * time.Millisecond
)

func (ob *Outbox) followRounds(ctx context.Context) {
	for next := ""; etcd.Pause(ctx, ob.TryEvery); {
		var err error
		next, err = ob.tryRange(ctx, ob.Mem.Layout.Room("orphans"), next, maxListed, idleShare)
		ob.logUntried(ctx, err)
	}
}

// followFreed tries the objects waiting at each name that a client has freed, until ctx ends.
func (ob *Outbox) followFreed(ctx context.Context) {
	var waited time.Time
	for at, ok := ob.Committer.NextFreed(ctx); ok; at, ok = ob.Committer.NextFreed(ctx) {
		if time.Since(waited) > TryEvery {
			// Not counted again for a minute after objects were found waiting.
			r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Room("orphans"), clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil || r.Count == 0 { // most clusters have no waiting objects
				etcd.Pause(ctx, countRest)
				continue
			}
			waited = time.Now()
		}
		// First at the name itself.
		_, err := ob.tryRange(ctx, ob.Mem.Layout.WaitingAt(at.View, at.Name, true), "", maxBelow, 1)
		if !at.Apex && err == nil {
			// Then at and below the base: without _acme-challenge.www, another namespace may get www. The apex is never
			// claimed.
			_, err = ob.tryRange(ctx, ob.Mem.Layout.WaitingAt(at.View, at.Base, false), "", maxBelow, 1)
		}
		ob.logUntried(ctx, err)
	}
}

func (ob *Outbox) logUntried(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("waiting objects are tried again in the next round", "why", err.Error())
	}
}

// tryRange tries objects that wait at keys with a prefix, after the key from. At most so many keys are read. The result
// is the key to continue at, or "" at the end. The pause after each try is rest times as long as the try.
func (ob *Outbox) tryRange(ctx context.Context, prefix, from string, most, rest int) (next string, err error) {
	chosen, next, err := ob.drawWaiting(ctx, prefix, from, most)
	if err != nil {
		return next, err
	}
	for _, c := range chosen {
		began := time.Now()
		// An error concerns a single object, so the others are tried.
		w, err := ob.tryCandidate(ctx, c)
		if err == nil && w != nil {
			err = ob.enqueueTrial(ctx, w, c.Namespace)
		}
		if err != nil {
			klog.FromContext(ctx).V(2).Info("a waiting object cannot be tried",
				"namespace", c.Namespace, "name", c.Name, "why", err.Error())
		}
		if !etcd.Pause(ctx, time.Duration(rest)*time.Since(began)) {
			return next, ctx.Err()
		}
	}
	return next, nil
}

// hasRulesDue reports whether a Delegation's cascade has yet to decide a namespace's names in the zones of the work w.
// The work is a trial to adopt waiting Records, which leaves such names to the cascade: there, Records restored by a
// rule count as own, and so end a hold (a stop of delivery). The trial was decided by rules read before, and a rule is
// written with its cascade, so the cascade is either found here or has ended. All pages are read, as an owner can
// change more Delegations than a page has.
func (ob *Outbox) hasRulesDue(ctx context.Context, w *law.Work, namespace string) (isDue bool, err error) {
	for _, z := range w.Zones {
		concernsZone := func(scan law.Scan) bool {
			return scan.Zone == z.UID && scan.Kind == law.ScanNamespaces && scan.Covers(namespace)
		}
		prefix := ob.Mem.Layout.Outbox(zones.DelegationWorkID(z.Namespace, ""))
		_, err := etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
			var due law.Work
			isDue = isDue || layout.Decode(kv.Value, &due) == nil && slices.ContainsFunc(due.Scans, concernsZone)
			return nil
		})
		if err != nil || isDue {
			return isDue, err
		}
	}
	return false, nil
}

func (ob *Outbox) enqueueTrial(ctx context.Context, w *law.Work, namespace string) error {
	if due, err := ob.hasRulesDue(ctx, w, namespace); err != nil || due {
		return err
	}
	_, err := ob.enqueueNew(ctx, w)
	return err
}

// enqueueNew puts the item of a work that this server carries out, and returns false if there is one of the ID.
func (ob *Outbox) enqueueNew(ctx context.Context, w *law.Work) (enqueued bool, err error) {
	key := ob.Mem.Layout.Outbox(w.ID)
	r, err := ob.Mem.Client.Txn(ctx).If(etcd.RevisionIs(key, 0)).Then(etcd.OpPut(key, layout.Encode(*w))).Commit()
	if err != nil || !r.Succeeded {
		return false, err
	}
	ob.Committer.OwnItem(w.ID)
	return true, nil
}

// drawWaiting draws up to maxTried waiting Records and zones of each namespace, at random, from at most so many keys
// after from. The order is fixed. The string is the key to continue at.
func (ob *Outbox) drawWaiting(ctx context.Context, prefix, from string, most int) (chosen []candidate, next string, err error) {
	drawn, met := map[string][]candidate{}, map[string]int{}
	next, err = etcd.Scan(ctx, ob.Mem.Client, prefix, from, most, func(kv *mvccpb.KeyValue) error {
		var c candidate
		var ok bool
		if c.kindLetter, c.Namespace, c.Name, ok = layout.WaitingObject(string(kv.Key)); !ok || c.kindLetter == layout.WaitingDelegation {
			return nil
		}
		// Reservoir sampling: each object is drawn with the same chance, however many there are.
		met[c.Namespace]++
		if of := drawn[c.Namespace]; len(of) < maxTried {
			drawn[c.Namespace] = append(of, c)
		} else if i := rand.IntN(met[c.Namespace]); i < maxTried {
			of[i] = c
		}
		return nil
	}, clientv3.WithKeysOnly())

	for _, of := range drawn {
		chosen = append(chosen, of...)
	}

	// An object with a name and a zoneRef has two keys.
	slices.SortFunc(chosen, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.kindLetter, y.kindLetter), cmp.Compare(x.Name, y.Name))
	})
	return slices.Compact(chosen), next, err
}

// tryCandidate decides a waiting object without a write. The result is the work that adopts the object, or nil if no
// zone would adopt the object now.
func (ob *Outbox) tryCandidate(ctx context.Context, c candidate) (_ *law.Work, err error) {
	defer ob.Committer.Recover(ctx, nil, &err)
	ob.Mem.Stats.Trials.Add(1)
	if c.kindLetter == layout.WaitingZone {
		return ob.tryZone(ctx, c)
	}
	o, mod, err := ob.Mem.ReadRecord(ctx, c.Namespace, c.Name)
	if err != nil || o == nil || o.Status.ZoneRef != nil {
		return nil, err
	}

	_, waits, err := objects.AdoptedOrWaiting(o)
	// A cascade at the name decides the Record anyway.
	if err != nil || waits == nil || ob.isGaining(waits.View, waits.FQDN) {
		return nil, err
	}
	if c, err = ob.recordCandidate(ctx, o, waits); err != nil {
		return nil, err
	}

	// As in a cascade, but as a dry run.
	w, err := ob.stepOf(&workState{}, c, o, mod)
	if err != nil {
		return nil, err
	}
	out, err := ob.Committer.Preview(ctx, w)
	if err != nil || out.Plan == nil || out.Plan.Record == nil {
		return nil, err
	}

	return ob.trialOf(o, waits, out.Plan), nil
}

// trialOf returns the work for all objects that wait at the name of a Record, or nil if the decision about the Record
// is as before.
func (ob *Outbox) trialOf(o *v1alpha1.Record, waits *law.Waiting, plan *law.Plan) *law.Work {
	p := plan.Record
	if p.FQDN.IsZero() || p.Zone == nil && placeOf(&o.Status).reason == p.Reason {
		return nil
	}

	// All objects waiting at a name are decided together, in order.
	work := &law.Work{Reason: "a waiting object may be adopted", View: p.View, By: o.Namespace, Since: ob.Mem.Now().Unix()}
	scan := law.Scan{Kind: law.ScanWaiting, View: p.View, Name: p.FQDN, Exact: true}
	if plan.Zone != nil {
		if plan.Zone.Holding.MayGainRecords(p.FQDN) {
			// Names there are locked by a cascade.
			return nil
		}
		z := plan.Zone.Zone
		scan.Name, scan.Exact = claimedName(p.FQDN, z.FQDN())
		work.Zones = []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}
	}

	work.ID, work.Scans = trialIDOf(scan.View, scan.Name), []law.Scan{scan}
	if waits.Zone != nil && (waits.View != p.View || waits.FQDN != p.FQDN) {
		// The Record also has a key by the zoneRef, so this key finds the objects that wait for the same Zone.
		work.Scans = append(work.Scans, law.Scan{Kind: law.ScanReferring, Target: waits.Zone})
	}
	return work
}

// claimedName returns the name in a zone whose claim decides about a name at or below: for _acme-challenge.www the name
// www, with all objects waiting below. The apex is never claimed, so a name there decides for itself, exactly.
func claimedName(n, zone name.Name) (at name.Name, exact bool) {
	owner, ok := n.Rel(zone)
	if !ok || rules.Base(owner).IsApex() {
		return n, true
	}
	at, _ = rules.Base(owner).In(zone)
	return at, false
}

// trialIDOf returns the ID of the trial of a name, so that two servers enqueue the trial once. A view has no dot, so
// the names of two views have different IDs.
func trialIDOf(view string, n name.Name) string { return law.TrialID + view + "." + n.String() }

// maxReplacements bounds the waiting Records that a deletion tries, since each try is a commit in the zone's queue. The
// trial of the freed name decides the others.
const maxReplacements = 2

// Replacement is a Record that waits at a name which another Record of its namespace leaves.
type Replacement struct {
	candidate
	ob    *Outbox
	cause commit.Item
}

// ListReplacements lists the first maxReplacements Records of a Record's namespace that wait at its name, in the order
// in which waiting Records are tried (S2.8).
func (ob *Outbox) ListReplacements(ctx context.Context, leaving *v1alpha1.Record) ([]Replacement, error) {
	at, err := name.Parse(leaving.Status.FQDN)
	if err != nil {
		return nil, err
	}
	prefix := ob.Mem.Layout.Key(law.RecordsAwaitKey(leaving.Status.View, at, leaving.Namespace))
	r, err := ob.Mem.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(law.MaxWaiting))
	if err != nil {
		return nil, err
	}
	// The history gives the deletion as the cause of the adoption.
	cause := commit.Item{Work: law.Work{By: leaving.Namespace,
		Reason: fmt.Sprintf("record %s at %s is replaced", leaving.Name, leaving.Status.FQDN)}}
	var found []Replacement
	for _, kv := range r.Kvs {
		c, ok, err := ob.candidateAt(&workState{}, law.Scan{Kind: law.ScanWaiting}, kv)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, Replacement{c, ob, cause})
		}
	}
	slices.SortFunc(found, func(x, y Replacement) int { return (&window{}).compareCandidates(x.candidate, y.candidate) })
	return found[:min(len(found), maxReplacements)], nil
}

// Read reads the Record and returns the write that adopts it, or nil if the Record is gone, damaged, expired or in a
// zone.
func (r *Replacement) Read(ctx context.Context) (*commit.SetWrite, error) {
	o, mod, err := r.ob.Mem.ReadRecord(ctx, r.Namespace, r.Name)
	if err == nil && o != nil && o.Status.ZoneRef == nil {
		x := &commit.SetWrite{Ctx: ctx, Expected: mod, Before: o, After: o, Adopts: true,
			Origin: commit.CauseOf(&r.cause)}
		x.Ask, err = r.ob.askAgain(&workState{Item: r.cause}, r.candidate, o)
		isExpired := err == nil && x.Ask.After.IsExpired(x.Ask.Now.Unix())
		if err == nil && !isExpired {
			return x, nil
		}
	}
	if errors.Is(err, facts.ErrDamaged) {
		err = nil
	}
	return nil, err
}

// tryZone decides a pending zone without a write. The result is the work that gives the zone a name, or nil if the zone
// would stay pending.
func (ob *Outbox) tryZone(ctx context.Context, c candidate) (*law.Work, error) {
	o, mod, err := ob.Mem.ReadZone(ctx, c.Namespace, c.Name)
	if err != nil || o == nil {
		return nil, err
	}
	decide, err := ob.askPending(o)
	if err != nil || decide == nil {
		return nil, err
	}

	spec, err := lawform.ZoneSpec(o)
	if err != nil {
		return nil, err
	}
	w := ob.Committer.NewWrite("zones", o, mod)
	w.Decide = decide
	out, err := ob.Committer.Preview(ctx, w)
	if err != nil || out.Plan == nil || out.Plan.Zone == nil || out.Plan.Zone.Zone.Pending {
		return nil, err
	}

	z := out.Plan.Zone.Zone
	scan := law.Scan{Kind: law.ScanWaiting, View: z.View, Name: z.FQDN(), Exact: true}
	if target := spec.ZoneRef; target != nil {
		scan = law.Scan{Kind: law.ScanPending, Target: target}
	}
	return &law.Work{ID: "stands-" + string(o.UID), Reason: fmt.Sprintf("zone %s may take effect", z.FQDN()), View: z.View, By: c.Namespace,
		Since: ob.Mem.Now().Unix(), Scans: []law.Scan{scan}}, nil
}
