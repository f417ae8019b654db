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

// Base is a zone as a source has read it whole, not proven yet.
type Base struct {
	Snapshot *zoneview.Snapshot
	// Hash is what the zone says of itself; empty: the source has compared it.
	Hash string
	// Settled: the snapshot is what is delivered. If it is not, the steps Since lead from what is delivered to the
	// snapshot (S7.2, S7.5); without them it is not known what is delivered.
	Settled bool
	Since   []content.Step
	// Final: the zone is frozen if it cannot be proven, since reading it again would read the same.
	Final bool
}

// Proof is that of one base.
type Proof struct {
	feed *Feed
	key  string
	zone *zone
	base Base
	// held: the Set has just this state already, so nothing waits for a second proof of it.
	held    bool
	waiting []content.Transaction
}

// Base begins the proof of a zone. It replaces a proof of the zone that is in flight. The caller calls Run.
func (f *Feed) Base(key string, base Base) *Proof {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	z := f.ensureZone(key)
	z.identity, z.listing = base.Snapshot.Zone(), f.listing
	if !f.synced && (!f.listed || z.pending != nil) {
		f.setPending(z, errNotProven)
	}
	known, held := f.set.ByUID(z.identity.UID)
	held = held && z.frozen == nil && known.N() == base.Snapshot.N() && known.Serial() == base.Snapshot.Serial() &&
		known.Hash() == base.Snapshot.Hash()
	z.proof = &Proof{feed: f, key: key, zone: z, base: base, held: held}
	if held && base.Settled {
		f.set.Put(known, true)
	}
	return z.proof
}

// Run proves the zone, 7 µs a value, which the source must not make other zones wait for; then it puts the zone in and
// leads it on by what the source told meanwhile. Until then the Set has what was proven before, or nothing. The error
// says why the zone could not be proven, or what did not fit; nil where the zone went or was read anew meanwhile.
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
	snapshot := p.base.Snapshot
	err := snapshot.Prove()
	if err == nil && p.base.Hash != "" && snapshot.Hash() != p.base.Hash {
		err = fmt.Errorf("%s: %w: its hash is %s, the zone claims %s", snapshot, zoneview.ErrMisfit, snapshot.Hash(), p.base.Hash)
	}
	var delivered *zoneview.Snapshot
	switch {
	case err != nil:
	case p.base.Settled:
		delivered = snapshot
	case len(p.base.Since) > 0:
		var damaged error
		if delivered, damaged = snapshot.UndoAll(p.base.Since); damaged != nil {
			klog.FromContext(ctx).Error(damaged, "The journal does not lead back to what is delivered of a zone: "+
				"it is served again when it settles; run kubizone fsck", "zone", snapshot.String())
		}
	}
	return p.finishProof(ctx, delivered, err)
}

// isOvertaken reports whether the zone went or was read anew since. Proofs of listings that were cut off would
// otherwise keep those of the present one waiting.
func (p *Proof) isOvertaken() bool {
	p.feed.mutex.Lock()
	defer p.feed.mutex.Unlock()
	return p.zone.proof != p
}

// finishProof puts the zone in and leads it on by what came meanwhile, or freezes it where it cannot be proven and
// the base is final. delivered is what is delivered, some steps before the snapshot where the zone is not settled;
// nil: it is not known.
func (p *Proof) finishProof(ctx context.Context, delivered *zoneview.Snapshot, err error) error {
	f, z, snapshot := p.feed, p.zone, p.base.Snapshot
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if z.proof != p {
		return context.Cause(ctx)
	}
	z.proof = nil // also where ctx has ended: a source that is away must not hold the content of a zone
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case err != nil && p.base.Final:
		f.freezeZone(ctx, p.key, err)
		return err
	case err != nil:
		return err
	case p.held:
	case delivered == nil || delivered == snapshot:
		f.set.Put(snapshot, delivered != nil)
	default:
		f.set.PutUnsettled(snapshot, delivered, p.base.Since)
	}
	f.unfreezeZone(p.key, z) // before what may freeze it anew, or have it read again
	for _, tx := range p.waiting {
		if err := f.applyToSet(ctx, p.key, z, tx); err != nil {
			return err
		}
	}
	f.confirmZone(p.key, z)
	return nil
}
