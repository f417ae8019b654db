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

const stallTimeout = 5 * time.Minute

// ErrConflict means that the state has changed since the load. The store is unchanged.
var ErrConflict = errors.New("another worker or client changed the delivery")

// Store keeps the state of each delivery for the next worker. Calls for different Keys may be concurrent.
type Store interface {
	// Load reads a state. It must not use a cache, because by this read the fence detects another worker. A missing
	// delivery has the zero State.
	Load(ctx context.Context, key delivery.Key) (delivery.State, error)
	// Save writes a state and returns the new version. If state.Version is "", Save creates the delivery. If the stored
	// version is not state.Version, Save writes nothing and returns ErrConflict. While the provider has data, the Store
	// keeps the Zone from deletion.
	Save(ctx context.Context, key delivery.Key, state delivery.State) (version string, err error)
	// Delete removes a state once the provider has removed the data, or keeps the data for good. A missing state is no
	// error.
	Delete(ctx context.Context, key delivery.Key) error
}

type Lease struct {
	Key    delivery.Key
	Store  Store
	Memory *decision.Memory
	// Grace bounds calls of the Store, even after the Loop has stopped.
	Grace time.Duration
	// CheckCurrent returns an error if the attempt's class or zone is outdated.
	CheckCurrent func() error
	Limiter      *rate.Limiter

	mu sync.Mutex
	// nextState is stored by the fence's first call, unless covered.
	nextState delivery.State
	recorded  bool
	// covered is true if the stored state lets only this worker begin without an intent. begun is true once the fence
	// has checked that.
	covered, begun bool
	fenceErr       error
	watch          *time.Timer
}

func (l *Lease) PrepareFence(next delivery.State, covered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextState, l.covered, l.recorded, l.begun, l.fenceErr = next, covered, false, false, nil
}

// PassFence is the check before each write of an attempt (delivery.Fence). The first call stores the intent (the serial
// to write), and later calls check that no other worker has replaced it. If l.covered is true, no intent is needed:
// each call checks that this worker still is State.Holder. An error is final until PrepareFence.
func (l *Lease) PassFence(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fenceErr != nil {
		return l.fenceErr
	}

	l.fenceErr = l.checkWrite(ctx)
	// Each write is progress, so the watchdog begins again.
	if l.fenceErr == nil && l.watch != nil {
		l.watch.Reset(stallTimeout)
	}
	return l.fenceErr
}

// checkWrite waits for the rate limit, and then checks class, zone and stored state, in this order: after the wait, all
// three may have changed. The caller holds mu.
func (l *Lease) checkWrite(ctx context.Context) error {
	if err := l.Limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return context.DeadlineExceeded // Wait fails at once if the deadline is too near
	}
	if err := l.CheckCurrent(); err != nil {
		return err
	}

	switch {
	case l.recorded:
		return l.checkIntent(ctx)
	case l.covered:
		return l.checkConfirmation(ctx)
	default:
		return l.recordIntent(ctx)
	}
}

// RunWithWatchdog calls run, and calls stop if run does not call PassFence for stallTimeout.
func (l *Lease) RunWithWatchdog(stop func(), run func() error) error {
	l.mu.Lock()
	l.watch = time.AfterFunc(stallTimeout, stop)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.watch.Stop()
		l.watch = nil
		l.mu.Unlock()
	}()
	return run()
}

// FenceError returns the fence's last error; began is true if the provider may have been called.
func (l *Lease) FenceError() (err error, began bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fenceErr, l.recorded || l.begun
}

func (l *Lease) recordIntent(ctx context.Context) error {
	l.nextState = decision.BeginState(l.nextState, time.Now())
	if err := l.SaveState(ctx, l.nextState); err != nil {
		return err
	}
	l.recorded = true
	return nil
}

// checkConfirmation lets the holder of the confirmed serial write without an intent, as long as the stored state is
// still its own. The caller holds mu.
func (l *Lease) checkConfirmation(ctx context.Context) error {
	m := l.Memory
	now, err := l.ReadState(ctx, l.Key)
	if err != nil {
		return err
	}
	// Another worker began or confirmed a serial, or the Delivery was deleted.
	if now.Holder != m.Stored.Holder || now.Intent != nil || now.Serial != m.Stored.Serial || now.Version == "" {
		return delivery.ErrFenced
	}
	// Another client may have written labels or annotations meanwhile.
	m.Stored.Version, l.nextState.Version = now.Version, now.Version
	if !l.begun {
		l.begun = true
		m.BeginUnrecorded(l.nextState)
	}
	return nil
}

func (l *Lease) checkIntent(ctx context.Context) error {
	now, err := l.ReadState(ctx, l.Key)
	if err != nil {
		return err
	}
	if !now.Intent.Equal(l.nextState.Intent) || now.Holder != l.nextState.Holder {
		return delivery.ErrFenced
	}
	return nil
}

// SaveState stores a delivery's state. A conflict with another kind of write, such as of labels, is retried. A conflict
// with another worker's write is ErrFenced. After any error, the state must be loaded again.
func (l *Lease) SaveState(ctx context.Context, next delivery.State) error {
	m, store := l.Memory, l.Store
	storing, cancel := l.boundStoring(ctx)
	defer cancel()

	next.Version = m.Stored.Version
	version, err := store.Save(storing, l.Key, next)
	// Retry at most three times, and only if no other worker has written.
	for tries := 0; errors.Is(err, ErrConflict); tries++ {
		var stored delivery.State
		if stored, err = store.Load(storing, l.Key); err != nil {
			break
		}
		otherWorker := !stored.Intent.Alike(m.Stored.Intent) || stored.Holder != m.Stored.Holder || stored.Serial != m.Stored.Serial
		createdOrDeleted := (stored.Version == "") != (m.Stored.Version == "")
		// A Delivery created or deleted meanwhile counts as another worker's write.
		if tries == 3 || otherWorker || createdOrDeleted {
			err = delivery.ErrFenced
			break
		}
		next.Version = stored.Version
		version, err = store.Save(storing, l.Key, next)
	}

	if err != nil {
		m.Loaded = false // the write may have arrived despite the error
		return err
	}

	next.Version = version
	m.KeepStored(next)
	return nil
}

func (l *Lease) ReadState(ctx context.Context, key delivery.Key) (delivery.State, error) {
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.Store.Load(storing, key)
}

func (l *Lease) DeleteState(ctx context.Context) error {
	if l.Memory.Stored.Version == "" {
		return nil
	}
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.Store.Delete(storing, l.Key)
}

func (l *Lease) boundStoring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.Grace)
}
