// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

type Outbox struct {
	Config
	items   items
	lanes   *lanes
	retries sync.Map // by work ID
}

// Config has what the outbox needs. The functions may be nil.
type Config struct {
	Mem           *facts.Memory
	Journal       *journal.Journal
	Committer     *commit.Committer
	Placer        *objects.Placer
	IsTerminating func(namespace string) bool
	Announce      Announce
	SerialsEvery  time.Duration // SerialsEvery, except in tests
	MaxSerials    int           // MaxSerials, except in tests
	UsageEvery    time.Duration // UsageEvery, except in tests
	TryEvery      time.Duration // between two rounds of trials
	Traces        trace.TracerProvider
}

// Announce is called for each Record and Zone that a cascade finds no longer allowed, with the grace period's end in
// Unix seconds, or 0 if allowed again, and must not block.
type Announce func(o metav1.Object, endsAt int64, message string)

func New(config Config) *Outbox {
	if config.Announce == nil {
		config.Announce = func(metav1.Object, int64, string) {}
	}
	if config.IsTerminating == nil {
		config.IsTerminating = func(string) bool { return false }
	}
	return &Outbox{Config: config, lanes: newLanes(maxLanes, laneSlice), items: items{byKey: map[string]*cachedItem{}}}
}

// MigrationID begins the IDs of works by migrations.
const MigrationID = "migration-"

func (ob *Outbox) isGaining(view string, n name.Name) bool {
	if n.IsZero() {
		return false
	}
	h := ob.Mem.GuessEnclosing(view, n)
	return h != nil && h.MayGainRecords(n)
}

func (ob *Outbox) readFact(ctx context.Context, k law.Key) (any, error) {
	r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Key(k))
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	return layout.DecodeFact(k, r.Kvs[0].Value)
}

// decideZone calls ask with a Zone, and commits the decision that ask returns. It repeats both until a commit succeeds,
// the Zone is gone, or ask returns nil for nothing to decide. The outbox item is nil outside a cascade.
func (ob *Outbox) decideZone(ctx context.Context, item *commit.Item, ref law.Ref,
	ask func(*v1alpha1.Zone) (func(*law.Facts) law.Outcome, error)) error {
	for {
		o, mod, err := ob.Mem.ReadZone(ctx, ref.Namespace, ref.Name)
		if err != nil || o == nil || string(o.UID) != ref.UID {
			// A Zone deleted and created again under the same name is another zone.
			return err
		}
		decide, err := ask(o)
		if err != nil || decide == nil {
			return err
		}

		w := ob.newZoneWrite(item, o, mod, decide)
		out, err := ob.Committer.Commit(ctx, w)
		if err != nil {
			return err
		}
		if !out.OK { // another write was faster
			continue
		}
		ob.announceWithdrawal(o, w.Plan.Zone)
		ob.CountCuts(ctx, w.Plan.Derivations)
		return nil
	}
}

// newZoneWrite returns the write for a decision about Zone o, stored at revision mod. A decision that changes nothing
// writes nothing.
func (ob *Outbox) newZoneWrite(item *commit.Item, o *v1alpha1.Zone, mod int64, decide func(*law.Facts) law.Outcome) *commit.Write {
	w := ob.Committer.NewWrite("zones", o, mod)
	w.ZoneBefore, w.LikelyZone, w.OutboxItem, w.Origin = o, w.Key, item, commit.CauseOf(item)
	w.Decide = func(seen *law.Facts) law.Outcome {
		out := decide(seen)
		ob.dropUnchanged(out.Plan, o)
		return out
	}
	w.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if plan.Zone == nil {
			return nil, nil, nil
		}
		placed := o.DeepCopy()
		ob.Placer.PlaceZone(placed, plan.Zone)
		data, err := ob.Mem.Zones.Encode(ctx, w.Key, placed)
		op := etcd.OpPut(w.Key, data)
		return &op, placed, err
	}
	return w
}

func (ob *Outbox) announceWithdrawal(before *v1alpha1.Zone, change *law.ZoneChange) {
	if change == nil || change.Zone.Pending || change.Delegated == nil {
		return
	}
	wasWithdrawn := before.Status.EndsAt != nil
	isWithdrawn := change.Holding.Withdrawn != ""
	if isWithdrawn != wasWithdrawn {
		ob.Announce(before, change.EndsAt, change.Delegated.Message)
	}
}

// dropUnchanged drops a plan's Zone if nothing changes, because the decision has not read the object in memory, and
// must not put it.
func (ob *Outbox) dropUnchanged(plan *law.Plan, o *v1alpha1.Zone) {
	if plan == nil || plan.Zone == nil || len(plan.Writes) > 0 {
		return
	}
	placed := o.DeepCopy()
	if ob.Placer.PlaceZone(placed, plan.Zone); apiequality.Semantic.DeepEqual(placed.Status, o.Status) {
		plan.Zone, plan.Waiting, plan.WaitingBefore = nil, nil, nil
	}
}
