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

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const (
	maxFailures = 3
	// maxMisfits is the number of unfitting steps in a row that freeze a zone.
	maxMisfits = 3
)

var (
	errNotRead   = errors.New("not read yet")
	errNotProven = errors.New("not proven yet")
)

// Feed keeps a Set, the zones in a process's memory, in sync with a source.
type Feed struct {
	set   *zoneview.Set
	slots chan struct{} // limits the concurrent proofs

	// mutex guards the fields below. It is held during writes to the Set, but not during proofs.
	mutex sync.Mutex
	zones map[string]*zone // the source chooses the keys
	// listing is the number of the source's current listing, and listed is true after EndListing.
	listing                   int
	listed                    bool
	pendingCount, frozenCount int   // numbers of zones
	proofsFailed              int64 // a count
	// synced is true after a listing without pending zones, until the source fails.
	synced   bool
	failure  error
	failures int // in a row
	// syncChanged is closed and replaced when synced or failures change.
	syncChanged chan struct{}
}

type zone struct {
	// identity has only the name until the zone is read, and then also a UID.
	identity zoneview.Zone
	listing  int
	// pendingReason is set until the zone is in the Set or frozen.
	pendingReason, frozenReason error
	proof                       *Proof
	misfits                     int
}

func New(set *zoneview.Set, proofs int) *Feed {
	return &Feed{set: set, slots: make(chan struct{}, proofs), zones: make(map[string]*zone), syncChanged: make(chan struct{})}
}

// BeginListing starts a listing of the source. The caller then calls BeginProof for each zone, and EndListing. If
// keepSync is true, a feed with frozen zones stays in sync, because only their proofs are retried.
func (f *Feed) BeginListing(keepSync bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, z := range f.zones { // end earlier proofs
		z.proof = nil
		f.setPending(z, nil)
	}
	f.listing++
	f.listed = false
	f.setSynced(f.synced && keepSync && f.frozenCount > 0)
}

// EndListing ends a listing. It freezes the zones that the source could not read, with the errors in unreadable, keyed
// by namespace/name. It removes all other zones not seen in this listing.
func (f *Feed) EndListing(ctx context.Context, unreadable map[string]error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for key, z := range f.zones {
		name := z.identity.Namespace + "/" + z.identity.Name
		// A zone that this listing could not read stays at its last content, even if unseen.
		switch err := unreadable[name]; {
		case z.listing == f.listing: // seen
		case err != nil:
			f.freezeZone(ctx, key, err)
			delete(unreadable, name)
		default:
			f.removeZone(key, z)
		}
	}
	for name, err := range unreadable { // zones new to the feed
		f.freezeZone(ctx, name, err)
	}
	f.listed = true
	f.checkSync()
}

// Apply applies a journal transaction to a zone, or queues the transaction until the zone's proof (hash check) ends. If
// the zone is frozen, because a proof failed, Apply ignores all transactions but a removal. The identity is zero unless
// the transaction creates the zone. After an error the zone is frozen, or the caller must read it again.
func (f *Feed) Apply(ctx context.Context, key string, tx content.Transaction, identity zoneview.Zone) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	z := f.ensureZone(key)
	if identity.UID != "" {
		z.identity = identity
	}
	switch {
	case tx.Gone:
		f.setPending(z, nil)
		f.removeZone(key, z)
	case z.proof != nil && !z.proof.inSet:
		z.proof.queue = append(z.proof.queue, tx)
	case z.frozenReason == nil:
		return f.applyToSet(ctx, key, z, tx)
	}
	return nil
}

// applyToSet applies a transaction to the Set. After maxMisfits failures in a row the zone is frozen, because another
// read would fail again. The caller must hold f.mutex.
func (f *Feed) applyToSet(ctx context.Context, key string, z *zone, tx content.Transaction) error {
	// A transaction of a zone that was never read, and is not created here.
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

// RemoveUnless removes the key's zone unless it has the given UID. A pending zone stays pending until Report.
func (f *Feed) RemoveUnless(key, uid string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	// The Zone was deleted, and perhaps made again with another UID.
	if z := f.zones[key]; z != nil && z.identity.UID != "" && z.identity.UID != uid {
		f.removeZone(key, z)
	}
}

func (f *Feed) removeZone(key string, z *zone) {
	f.set.Remove(z.identity.UID)
	z.identity.UID, z.proof = "", nil
	if z.pendingReason == nil {
		f.confirmZone(key, z)
	}
}

// Expect adds a zone before its first read. The feed is not in sync until Report or a proof.
func (f *Feed) Expect(key string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.synced {
		f.setPending(f.ensureZone(key), errNotRead)
	}
}

// Report tells the feed how a read of a zone ended. If err is nil, the Set matches the source. If freeze is true, the
// zone is frozen because of err. Otherwise Check returns err as long as the zone is not in the Set.
func (f *Feed) Report(ctx context.Context, key string, err error, freeze bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch z := f.zones[key]; {
	case freeze:
		f.freezeZone(ctx, key, err)
	case z == nil: // deleted meanwhile
	case err == nil:
		z.misfits = 0
		f.confirmZone(key, z)
	case z.pendingReason != nil:
		f.setPending(z, err)
	}
}

// freezeZone also drops a proof in progress, because the proof would unfreeze the zone.
func (f *Feed) freezeZone(ctx context.Context, key string, err error) {
	z := f.ensureZone(key)
	if z.frozenReason == nil {
		f.frozenCount++
		klog.FromContext(ctx).Error(err, "A zone is frozen: its content does not match its hash. Its last proven content is served, or "+
			"none, until it matches again. kubizone fsck names the damage",
			"zone", klog.KRef(z.identity.Namespace, z.identity.Name), "key", key)
	}
	z.frozenReason, z.proof, z.misfits = err, nil, 0
	f.proofsFailed++
	f.setPending(z, nil)
	f.checkSync()
}

func (f *Feed) unfreezeZone(key string, z *zone) {
	if z.frozenReason != nil {
		z.frozenReason = nil
		f.frozenCount--
		klog.Background().Info("A frozen zone matches its hash again, or is gone", "zone", klog.KRef(z.identity.Namespace, z.identity.Name),
			"key", key)
	}
}

func (f *Feed) confirmZone(key string, z *zone) {
	f.unfreezeZone(key, z)
	if z.identity.UID == "" {
		delete(f.zones, key)
	}
	f.setPending(z, nil)
	f.checkSync()
}

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

func (f *Feed) setPending(z *zone, why error) {
	if z.pendingReason != nil {
		f.pendingCount--
	}
	if z.pendingReason = why; why != nil {
		f.pendingCount++
	}
}

func (f *Feed) checkSync() {
	if f.listed && f.pendingCount == 0 && !f.synced {
		f.failure, f.failures = nil, 0
		f.setSynced(true)
	}
}

func (f *Feed) setSynced(synced bool) {
	f.synced = synced
	close(f.syncChanged)
	f.syncChanged = make(chan struct{})
}

// Fail records a failure of the source, and returns the number of failures in a row. The source then lists all zones
// again.
func (f *Feed) Fail(err error) (times int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.listed, f.failure = false, err
	f.failures++
	f.setSynced(false)
	return f.failures
}

// Check returns the reason why the feed is not in sync, or nil. Frozen zones count as in sync.
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
		if z.pendingReason != nil {
			return fmt.Errorf("%d zones are not in yet, one of them %s: %w", f.pendingCount, key, z.pendingReason)
		}
	}
	return nil
}

// Wait blocks until the feed is in sync. It returns the source's error after maxFailures in a row, or the cause of ctx.
func (f *Feed) Wait(ctx context.Context) error {
	for {
		f.mutex.Lock()
		synced, failure, failures, changed := f.synced, f.failure, f.failures, f.syncChanged
		f.mutex.Unlock()
		if synced {
			return nil
		}
		if failures >= maxFailures {
			return fmt.Errorf("the views of the zones failed %d times: %w; kubizone fsck names the damage", failures,
				failure)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *Feed) FrozenReason(key string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if z := f.zones[key]; z != nil {
		return z.frozenReason
	}
	return nil
}

// FrozenZones returns the names of all frozen zones, in no order.
func (f *Feed) FrozenZones() []cache.ObjectName {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	frozen := make([]cache.ObjectName, 0, f.frozenCount)
	if f.frozenCount == 0 {
		return frozen
	}
	for _, z := range f.zones {
		if z.frozenReason != nil {
			frozen = append(frozen, cache.NewObjectName(z.identity.Namespace, z.identity.Name))
		}
	}
	return frozen
}

func (f *Feed) Counts() (frozen int, proofsFailed int64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.frozenCount, f.proofsFailed
}
