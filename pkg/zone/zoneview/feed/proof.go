// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
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
	delaysSync := !f.listed || z.pendingReason != nil
	if !f.synced && delaysSync { // Check names this zone until the proof ends
		f.setPending(z, errNotProven)
	}

	// After a new listing, the Set may already have this content.
	known, isKnown := f.set.ByUID(z.identity.UID)
	inSet := isKnown && known.HasVersionOf(unproven.Snapshot) && z.frozenReason == nil
	z.proof = &Proof{feed: f, key: key, zone: z, unproven: unproven, inSet: inSet}
	if inSet && unproven.Settled {
		const settled = true // perhaps only now
		f.set.Put(known, settled)
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
		// The process ends, or the source starts over: finishProof drops the proof.
		return p.finishProof(ctx, nil, nil)
	}

	// A newer proof waits for the slot, and decides.
	if p.isOvertaken() {
		return context.Cause(ctx)
	}

	if err := p.proveContent(); err != nil {
		return p.finishProof(ctx, nil, err)
	}
	return p.finishProof(ctx, p.findDelivered(ctx), nil)
}

func (p *Proof) proveContent() error {
	snapshot, hash := p.unproven.Snapshot, p.unproven.Hash
	if err := snapshot.Prove(); err != nil {
		return err
	}
	if hash != "" && snapshot.Hash() != hash {
		return fmt.Errorf("%s: %w: its hash is %s, the zone claims %s", snapshot, zoneview.ErrMisfit, snapshot.Hash(), hash)
	}
	return nil
}

// findDelivered returns the content that name servers have, or nil if unknown.
func (p *Proof) findDelivered(ctx context.Context) *zoneview.Snapshot {
	snapshot := p.unproven.Snapshot
	if p.unproven.Settled {
		return snapshot
	}
	if len(p.unproven.UnsettledSteps) == 0 {
		return nil
	}

	delivered, err := snapshot.UndoAll(p.unproven.UnsettledSteps)
	if err != nil {
		klog.FromContext(ctx).Error(err, "The journal does not reach back to the delivered content of a zone: the zone is "+
			"served again when it settles; run kubizone fsck", "zone", snapshot.String())
		return nil
	}
	return delivered
}

// isOvertaken reports whether the zone was removed or read again. An old proof must not delay a new proof.
func (p *Proof) isOvertaken() bool {
	p.feed.mutex.Lock()
	defer p.feed.mutex.Unlock()
	return p.zone.proof != p
}

// finishProof puts a proven zone into the Set, applies the transactions queued during the proof, and ends the proof.
// After an error the zone is frozen, or the source reads it again. A proof that was replaced changes nothing.
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

	if err != nil {
		if p.unproven.FreezeOnFailure {
			f.freezeZone(ctx, p.key, err)
		}
		return err
	}

	switch {
	// The Set has this content, and transactions went there directly.
	case p.inSet:
	// Without known delivered content, name servers keep theirs until the zone settles.
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
