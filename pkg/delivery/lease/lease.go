// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
)

// stall is how long a provider's method may go on without asking the fence.
const stall = 5 * time.Minute

// ErrConflict says that another worker wrote the state since it was loaded. Nothing was changed.
var ErrConflict = errors.New("another worker or client changed the delivery")

// Store keeps states. It may be used from any number of goroutines, one for each Key.
type Store interface {
	// Load returns what stands there now, past every cache: the fence rests on it. A delivery that is not stored is the
	// zero State and no error.
	Load(ctx context.Context, key delivery.Key) (delivery.State, error)
	// Save writes a state and returns its new version. An empty Version makes the delivery, and with it what keeps
	// the zone from going while the provider has its data (S8.4). ErrConflict: what stands there is not of
	// state.Version, or there is something where Version is empty, or nothing where it is not.
	Save(ctx context.Context, key delivery.Key, state delivery.State) (version string, err error)
	// Delete lets go of a delivery whose data is removed or left (S8.4). One that is not there is no error.
	Delete(ctx context.Context, key delivery.Key) error
}

// Lease is the right of one attempt to write a delivery, in the store and at the provider: an intent that is recorded
// before the first call outside, and a fence that looks before each further one whether it still stands (F22).
type Lease struct {
	Key    delivery.Key
	Store  Store
	Memory *decision.Memory
	// Grace bounds a call of the Store.
	Grace time.Duration
	// Current fails where what the attempt was told of class and zone does not hold any more.
	Current func() error
	// Limiter bounds the calls outside of all zones of the class together.
	Limiter *rate.Limiter

	mu sync.Mutex
	// next is what the intent is recorded in.
	next     delivery.State
	recorded bool
	// covered says that by the stored state this worker alone may begin, and begun that it was asked and still said so.
	covered, begun bool
	// err is the first that the fence returned; it stays.
	err   error
	watch *time.Timer
}

// PrepareFence prepares the fence for calls that next describes.
func (l *Lease) PrepareFence(next delivery.State, covered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.covered, l.recorded, l.begun, l.err = next, covered, false, false, nil
}

// PassFence is the Fence of an attempt. The first call records the intent, so that a later worker knows what may
// stand half written; every further one looks whether it still stands (F22). A worker whose own confirmation is the
// last word on the zone need not record one (State.Holder), but looks. It asks last what can change fastest: nothing
// lies between a look at the store and the provider's call but the provider.
func (l *Lease) PassFence(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if err := l.Limiter.Wait(ctx); err != nil {
		if l.err = ctx.Err(); l.err == nil {
			l.err = context.DeadlineExceeded // Wait does not begin what it cannot end in time.
		}
		return l.err
	}
	if l.err = l.Current(); l.err != nil {
		return l.err
	}
	switch {
	case l.recorded:
		l.err = l.checkIntent(ctx)
	case l.covered:
		l.err = l.checkConfirmation(ctx)
	default:
		l.err = l.recordIntent(ctx)
	}
	if l.err == nil && l.watch != nil {
		l.watch.Reset(stall)
	}
	return l.err
}

// RunWatched runs f, which ends when the fence was not asked for too long.
func (l *Lease) RunWatched(stop func(), f func() error) error {
	l.mu.Lock()
	l.watch = time.AfterFunc(stall, stop)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.watch.Stop()
		l.watch = nil
		l.mu.Unlock()
	}()
	return f()
}

// FenceError is why the fence failed, and whether a call may have gone out before.
func (l *Lease) FenceError() (err error, began bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err, l.recorded || l.begun
}

func (l *Lease) recordIntent(ctx context.Context) error {
	l.next = decision.BeginState(l.next, time.Now())
	if err := l.SaveState(ctx, l.next); err != nil {
		return err
	}
	l.recorded = true
	return nil
}

// checkConfirmation looks whether the confirmation still is the last word.
func (l *Lease) checkConfirmation(ctx context.Context) error {
	m := l.Memory
	now, err := l.ReadState(ctx, l.Key)
	if err != nil {
		return err
	}
	if now.Holder != m.Stored.Holder || now.Intent != nil || now.Serial != m.Stored.Serial || now.Version == "" {
		return delivery.ErrFenced
	}
	m.Stored.Version, l.next.Version = now.Version, now.Version
	if !l.begun {
		l.begun = true
		m.BeginUnrecorded(l.next)
	}
	return nil
}

func (l *Lease) checkIntent(ctx context.Context) error {
	now, err := l.ReadState(ctx, l.Key)
	if err != nil {
		return err
	}
	if !now.Intent.Same(l.next.Intent) || now.Holder != l.next.Holder {
		return delivery.ErrFenced
	}
	return nil
}

// SaveState stores a state. A conflict with a write that left the intent alone (labels of the object, say) is
// overcome; with another worker it is ErrFenced.
func (l *Lease) SaveState(ctx context.Context, next delivery.State) error {
	m, store := l.Memory, l.Store
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	next.Version = m.Stored.Version
	version, err := store.Save(storing, l.Key, next)
	for tries := 0; errors.Is(err, ErrConflict); tries++ {
		var now delivery.State
		if now, err = store.Load(storing, l.Key); err != nil {
			break
		}
		if tries == 3 || !now.Intent.Alike(m.Stored.Intent) || now.Holder != m.Stored.Holder || now.Serial != m.Stored.Serial ||
			(now.Version == "") != (m.Stored.Version == "") {
			err = delivery.ErrFenced
			break
		}
		next.Version = now.Version
		version, err = store.Save(storing, l.Key, next)
	}
	if err != nil {
		m.Loaded = false // Whether it arrived is not known, or what stands there is not.
		return err
	}
	next.Version = version
	m.KeepStored(next)
	return nil
}

// ReadState returns what is stored now, of this delivery or of another class of the zone.
func (l *Lease) ReadState(ctx context.Context, key delivery.Key) (delivery.State, error) {
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.Store.Load(storing, key)
}

// DeleteState lets go of a delivery of which nothing is at the provider.
func (l *Lease) DeleteState(ctx context.Context) error {
	if l.Memory.Stored.Version == "" {
		return nil
	}
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.Store.Delete(storing, l.Key)
}

// boundStoring bounds a call of the Store. It goes on while the loop stops: what was done must be written down.
func (l *Lease) boundStoring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.Grace)
}
