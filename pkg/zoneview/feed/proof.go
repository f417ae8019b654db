// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
)

// UnprovenZone is a zone as read from the source, before the content is compared with the hash.
type UnprovenZone struct {
	Snapshot *zoneview.Snapshot
	// Hash is the status.hash that the content must have, or "" if the source has compared it already.
	Hash string
	// Settled is true if name servers may get the snapshot. Otherwise UnsettledSteps lead from the content that name
	// servers have to the snapshot, or are nil if unknown.
	Settled        bool
	UnsettledSteps []content.Step
	// FreezeOnFailure is true if a retry is useless, as another read would return the same content. After a failure the
	// zone then keeps the last proven content.
	FreezeOnFailure bool
}

type Proof struct {
	feed     *Feed
	key      string
	zone     *zone
	unproven UnprovenZone
	// inSet is true if the Set has this state already, so that transactions need not queue.
	inSet bool
	queue []content.Transaction
}

// BeginProof prepares the check of a zone's content against the hash, and replaces an earlier proof. The caller must
// then call Run.
func (f *Feed) BeginProof(key string, unproven UnprovenZone) *Proof {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	z := f.ensureZone(key)
	z.identity, z.listing = unproven.Snapshot.Zone(), f.listing
	if !f.synced && (!f.listed || z.pendingReason != nil) { // Check names this zone until the proof ends
		f.setPending(z, errNotProven)
	}

	// After a new listing, the Set may already have this content.
	known, inSet := f.set.ByUID(z.identity.UID)
	inSet = inSet && z.frozenReason == nil && known.N() == unproven.Snapshot.N() && known.Serial() == unproven.Snapshot.Serial() &&
		known.Hash() == unproven.Snapshot.Hash()

	z.proof = &Proof{feed: f, key: key, zone: z, unproven: unproven, inSet: inSet}
	if inSet && unproven.Settled {
		f.set.Put(known, true) // perhaps settled only now
	}
	return z.proof
}

// Run compares the zone's content with the hash, and puts the zone into the Set with the queued transactions. There is
// no error if the zone was removed or read again meanwhile.
func (p *Proof) Run(ctx context.Context) error {
	select {
	case p.feed.slots <- struct{}{}:
		defer func() { <-p.feed.slots }()
	case <-ctx.Done():
		return p.finishProof(ctx, nil, nil)
	}

	if p.isOvertaken() {
		return context.Cause(ctx)
	}

	snapshot := p.unproven.Snapshot
	err := snapshot.Prove()
	if err == nil && p.unproven.Hash != "" && snapshot.Hash() != p.unproven.Hash {
		err = fmt.Errorf("%s: %w: its hash is %s, the zone claims %s", snapshot, zoneview.ErrMisfit, snapshot.Hash(), p.unproven.Hash)
	}

	// delivered is the content that name servers have, or nil if unknown.
	var delivered *zoneview.Snapshot
	switch {
	case err != nil: // finishProof returns or freezes
	case p.unproven.Settled:
		delivered = snapshot
	case len(p.unproven.UnsettledSteps) > 0:
		var damaged error
		if delivered, damaged = snapshot.UndoAll(p.unproven.UnsettledSteps); damaged != nil {
			klog.FromContext(ctx).Error(damaged, "The journal does not reach back to the delivered content of a zone: the zone is "+
				"served again when it settles; run kubizone fsck", "zone", snapshot.String())
		}
	}

	return p.finishProof(ctx, delivered, err)
}

// isOvertaken reports whether the zone was removed or read again. An old proof must not delay a new proof.
func (p *Proof) isOvertaken() bool {
	p.feed.mutex.Lock()
	defer p.feed.mutex.Unlock()
	return p.zone.proof != p
}

func (p *Proof) finishProof(ctx context.Context, delivered *zoneview.Snapshot, err error) error {
	f, z, snapshot := p.feed, p.zone, p.unproven.Snapshot
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if z.proof != p {
		return context.Cause(ctx)
	}

	z.proof = nil // also when ctx ends, because content must not stay without its source
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	switch {
	case err != nil && p.unproven.FreezeOnFailure:
		f.freezeZone(ctx, p.key, err)
		return err
	case err != nil:
		return err
	case p.inSet:
	case delivered == nil || delivered == snapshot:
		f.set.Put(snapshot, delivered != nil)
	default:
		f.set.PutUnsettled(snapshot, delivered, p.unproven.UnsettledSteps)
	}

	f.unfreezeZone(p.key, z) // before the steps, which may freeze the zone again
	for _, tx := range p.queue {
		if err := f.applyToSet(ctx, p.key, z, tx); err != nil {
			return err
		}
	}

	f.confirmZone(p.key, z)
	return nil
}
