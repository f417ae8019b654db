// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
)

const (
	// maxFailures is how many times in a row a source may fail before Wait returns its error.
	maxFailures = 3
	// maxMisfits is how many steps of one zone in a row may not fit before the zone is frozen.
	maxMisfits = 3
)

// Why a zone is pending at first.
var (
	errNotRead   = errors.New("not read yet")
	errNotProven = errors.New("not proven yet")
)

// Feed writes one Set with what one source tells. The source chooses the keys of zones, its uid or namespace/name.
type Feed struct {
	set *zoneview.Set
	// slots bound the proofs in flight.
	slots chan struct{}

	// mutex guards what follows, and is held while the Set is written, but not while a zone is proven.
	mutex sync.Mutex
	zones map[string]*zone
	// listing numbers the listings of the source; listed is true when the present one is complete.
	listing int
	listed  bool
	// pending and frozen count the zones that are.
	pending, frozen int
	proofsFailed    int64
	// synced is true when a listing is complete and none of its zones is pending, until the source fails.
	synced bool
	// failure is why the source failed last; failures counts how often in a row.
	failure  error
	failures int
	// changed is closed, and made anew, whenever synced or failures changes.
	changed chan struct{}
}

// zone is what the feed knows of one zone.
type zone struct {
	// identity has a uid when the zone was read; until then, and of a zone that cannot be read, the name alone.
	identity zoneview.Zone
	// listing is the last one that the zone was in.
	listing int
	// pending is why the zone is not in the Set yet while the feed is not in sync; frozen is why it cannot be proven.
	pending, frozen error
	// proof is in flight.
	proof *Proof
	// misfits counts the steps in a row that did not fit.
	misfits int
}

// New makes a feed that has at most so many proofs in flight.
func New(set *zoneview.Set, proofs int) *Feed {
	return &Feed{set: set, slots: make(chan struct{}, proofs), zones: make(map[string]*zone), changed: make(chan struct{})}
}

// BeginListing says that the source reads all zones, and tells of each by Base before EndListing. A feed in sync stays
// so where stay is set and some zone is frozen: the source only looks whether it can be proven now.
func (f *Feed) BeginListing(stay bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, z := range f.zones {
		z.proof = nil
		f.setPending(z, nil)
	}
	f.listing++
	f.listed = false
	f.setSynced(f.synced && stay && f.frozen > 0)
}

// EndListing freezes the zones of the listing that cannot be read, by namespace/name, and removes those that the
// listing does not have.
func (f *Feed) EndListing(ctx context.Context, unreadable map[string]error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for key, z := range f.zones {
		name := z.identity.Namespace + "/" + z.identity.Name
		switch err := unreadable[name]; {
		case z.listing == f.listing:
		case err != nil:
			f.freezeZone(ctx, key, err)
			delete(unreadable, name)
		default:
			f.removeZone(key, z)
		}
	}
	for name, err := range unreadable {
		f.freezeZone(ctx, name, err)
	}
	f.listed = true
	f.checkSync()
}

// Apply takes a transaction of the journal in, or keeps it until the proof of its zone has ended. first is the identity
// of a zone that the transaction makes. A transaction of a frozen zone is passed over: what it leads to is not known.
// After an error the zone is frozen, or is to be read anew; when ctx has ended, nothing is taken in.
func (f *Feed) Apply(ctx context.Context, key string, tx content.Transaction, first zoneview.Zone) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	z := f.ensureZone(key)
	if first.UID != "" {
		z.identity = first
	}
	switch {
	case tx.Gone:
		f.setPending(z, nil)
		f.removeZone(key, z)
	case z.proof != nil && !z.proof.held:
		z.proof.waiting = append(z.proof.waiting, tx)
	case z.frozen == nil:
		return f.applyToSet(ctx, key, z, tx)
	}
	return nil
}

// applyToSet puts a transaction into the Set.
func (f *Feed) applyToSet(ctx context.Context, key string, z *zone, tx content.Transaction) error {
	err := fmt.Errorf("zone %s: %w", key, zoneview.ErrUnknown)
	if z.identity.UID != "" {
		err = f.set.Apply(z.identity.UID, tx, z.identity)
	}
	switch {
	case err != nil:
		if z.misfits++; z.misfits == maxMisfits {
			f.freezeZone(ctx, key, fmt.Errorf("%d times in a row a step of the journal did not fit: %w", maxMisfits, err))
		}
	case len(tx.Steps) > 0:
		z.misfits = 0
	}
	return err
}

// RemoveUnless takes a zone out of the Set unless it is the one with this uid. A pending one stays so until Report.
func (f *Feed) RemoveUnless(key, uid string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if z := f.zones[key]; z != nil && z.identity.UID != "" && z.identity.UID != uid {
		f.removeZone(key, z)
	}
}

func (f *Feed) removeZone(key string, z *zone) {
	f.set.Remove(z.identity.UID)
	z.identity.UID, z.proof = "", nil
	if z.pending == nil {
		f.confirmZone(key, z)
	}
}

// Expect says that the listing has a zone that the source has not read yet: the feed is not in sync before Report or a
// proof says what came of it.
func (f *Feed) Expect(key string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.synced {
		f.setPending(f.ensureZone(key), errNotRead)
	}
}

// Report says what came of reading one zone. Without an error the zone is in the Set as the source has it, or is none
// to be there. With one a pending zone stays pending, and no other zone becomes so: a zone that was in or frozen once
// does not keep the feed out of sync.
func (f *Feed) Report(ctx context.Context, key string, err error, freeze bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case freeze:
		f.freezeZone(ctx, key, err)
	case err == nil && f.zones[key] != nil:
		f.zones[key].misfits = 0
		f.confirmZone(key, f.zones[key])
	case err != nil && f.zones[key] != nil && f.zones[key].pending != nil:
		f.setPending(f.zones[key], err)
	}
}

// freezeZone keeps a zone as it is in the Set: at the last serial that was proven, or not there at all. No reader
// gets what is not proven. A proof in flight is of what was before, so it must not end what this begins.
func (f *Feed) freezeZone(ctx context.Context, key string, err error) {
	z := f.ensureZone(key)
	if z.frozen == nil {
		f.frozen++
		klog.FromContext(ctx).Error(err, "A zone is frozen: its hash does not prove its content. It is served as it was proven last, "+
			"or not at all, until it can be proven. kubizone fsck says what is damaged",
			"zone", klog.KRef(z.identity.Namespace, z.identity.Name), "key", key)
	}
	z.frozen, z.proof, z.misfits = err, nil, 0
	f.proofsFailed++
	f.setPending(z, nil)
	f.checkSync()
}

// unfreezeZone says of a zone that it is proven, or gone.
func (f *Feed) unfreezeZone(key string, z *zone) {
	if z.frozen != nil {
		z.frozen = nil
		f.frozen--
		klog.Background().Info("A frozen zone is proven again, or gone", "zone", klog.KRef(z.identity.Namespace, z.identity.Name),
			"key", key)
	}
}

// confirmZone ends what made a zone pending or frozen, and forgets one that is not in the Set.
func (f *Feed) confirmZone(key string, z *zone) {
	f.unfreezeZone(key, z)
	if z.identity.UID == "" {
		delete(f.zones, key)
	}
	f.setPending(z, nil)
	f.checkSync()
}

// ensureZone is the zone of a key, made where there is none.
func (f *Feed) ensureZone(key string) *zone {
	z := f.zones[key]
	if z == nil {
		z = &zone{listing: f.listing}
		if namespace, name, ok := strings.Cut(key, "/"); ok {
			z.identity.Namespace, z.identity.Name = namespace, name
		}
		f.zones[key] = z
	}
	return z
}

// setPending notes why a zone is not in yet; nil: it is, or is none to be.
func (f *Feed) setPending(z *zone, why error) {
	if z.pending != nil {
		f.pending--
	}
	if z.pending = why; why != nil {
		f.pending++
	}
}

// checkSync finds out whether all of a listing is in.
func (f *Feed) checkSync() {
	if f.listed && f.pending == 0 && !f.synced {
		f.failure, f.failures = nil, 0
		f.setSynced(true)
	}
}

// setSynced wakes the callers of Wait.
func (f *Feed) setSynced(synced bool) {
	f.synced = synced
	close(f.changed)
	f.changed = make(chan struct{})
}

// Fail says that the source failed, so many times in a row, and lists all zones again.
func (f *Feed) Fail(err error) (times int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.listed, f.failure = false, err
	f.failures++
	f.setSynced(false)
	return f.failures
}

// Check says what is missing until the feed is in sync. Frozen zones are no reason to serve no other.
func (f *Feed) Check() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case f.synced:
		return nil
	case f.failure != nil:
		return fmt.Errorf("starting over: %w", f.failure)
	case !f.listed:
		return errors.New("the Zones are not listed yet; the log says why if that lasts")
	}
	for key, z := range f.zones {
		if z.pending != nil {
			return fmt.Errorf("%d zones are not in yet, one of them %s: %w", f.pending, key, z.pending)
		}
	}
	return nil
}

// Wait returns when every zone of the first listing is in the Set or frozen, or is none to be in it; else with the
// error of a source that failed several times, or with the cause of ctx.
func (f *Feed) Wait(ctx context.Context) error {
	for {
		f.mutex.Lock()
		synced, failure, failures, changed := f.synced, f.failure, f.failures, f.changed
		f.mutex.Unlock()
		if synced {
			return nil
		}
		if failures >= maxFailures {
			return fmt.Errorf("the views of the zones failed %d times: %w; kubizone fsck says what is wrong in the store", failures,
				failure)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// FrozenBy is why a zone is frozen; nil: it is not.
func (f *Feed) FrozenBy(key string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if z := f.zones[key]; z != nil {
		return z.frozen
	}
	return nil
}

// Frozen are the zones that cannot be proven at this moment.
func (f *Feed) Frozen() []cache.ObjectName {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	frozen := make([]cache.ObjectName, 0, f.frozen)
	if f.frozen == 0 {
		return frozen // asked every second
	}
	for _, z := range f.zones {
		if z.frozen != nil {
			frozen = append(frozen, cache.NewObjectName(z.identity.Namespace, z.identity.Name))
		}
	}
	return frozen
}

// Counts are how many zones are frozen now, and how many times one could not be proven.
func (f *Feed) Counts() (frozen int, proofsFailed int64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.frozen, f.proofsFailed
}
