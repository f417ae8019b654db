// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Why a fence fails beside ErrFenced.
var (
	errSuperseded = errors.New("class or zone changed; what is written would be out of date")
	errStopping   = errors.New("the loop is stopping")
)

// fencing is the state of an attempt's fence.
type fencing struct {
	mu sync.Mutex
	// next is what the intent is recorded in.
	next     State
	recorded bool
	// covered: the stored state says that nobody but this worker may begin; begun: it was asked and still said so.
	covered, begun bool
	// err is the first that the fence returned; it stays.
	err   error
	watch *time.Timer
}

// fence is the Fence of an attempt. The first call records the intent, so that whoever comes after knows what may
// stand half written; every further one looks whether it still stands (F22). A worker whose own confirmation is the last
// word on the zone need not record one (State.Holder), but looks. It asks last what can change fastest: nothing lies
// between a look at the store and the provider's call but the provider.
func (a *attempt) fence(ctx context.Context) error {
	f := &a.fencing
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if err := a.limiter.Wait(ctx); err != nil {
		if f.err = ctx.Err(); f.err == nil {
			f.err = context.DeadlineExceeded // Wait does not begin what it cannot end in time.
		}
		return f.err
	}
	if f.err = a.current(); f.err != nil {
		return f.err
	}
	switch {
	case f.recorded:
		f.err = a.confirm(ctx)
	case f.covered:
		f.err = a.proceed(ctx)
	default:
		f.err = a.record(ctx)
	}
	if f.err == nil && f.watch != nil {
		f.watch.Reset(a.loop.config.Stall)
	}
	return f.err
}

// current: what the attempt was told of class and zone still holds.
func (a *attempt) current() error {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return errStopping
	case (slices.Contains(a.item.zone.Classes, a.item.key.Class) && !a.item.zone.Withdraw) == a.item.leaving:
		return errSuperseded
	case a.item.gone, a.class.revision != a.revision, !a.class.known, a.class.spec.Paused, a.item.zone.Paused && !a.takesAway:
		return errSuperseded
	}
	return nil
}

func (a *attempt) record(ctx context.Context) error {
	f := &a.fencing
	f.next.Intent.Time = time.Now()
	if f.next.Version == "" {
		f.next.Ready = Condition{Unknown, ReasonPending, "the zone is being delivered for the first time"}
	}
	if err := a.save(ctx, f.next); err != nil {
		return err
	}
	f.recorded = true
	return nil
}

// covers: what is stored lets this worker go on from there without an intent. What it then leaves half written, another
// one finds by what the zone changed since.
func (a *attempt) covers(plan Plan) bool {
	i, me := a.item, a.loop.config.Identity
	return i.stored.Holder == me && i.stored.Intent == nil && i.stored.Serial != 0 && i.state.Intent == nil && i.state.Serial == i.stored.Serial &&
		i.stored.Zone == plan.Zone && i.stored.Target == a.spec.Target && plan.Changes != nil && i.repeatAt.IsZero()
}

// proceed looks whether the confirmation still is the last word.
func (a *attempt) proceed(ctx context.Context) error {
	i, f := a.item, &a.fencing
	storing, cancel := a.storing(ctx)
	defer cancel()
	now, err := a.loop.config.Store.Load(storing, i.key)
	if err != nil {
		return err
	}
	if now.Holder != i.stored.Holder || now.Intent != nil || now.Serial != i.stored.Serial || now.Version == "" {
		return ErrFenced
	}
	i.stored.Version = now.Version
	if time.Since(a.began) >= a.loop.config.Lease/3 {
		// Nobody shall take a long delivery for an abandoned one.
		return a.record(ctx)
	}
	if !f.begun {
		// From here on something may stand half written, and this process alone knows: it keeps it until it is stored.
		f.begun = true
		version := i.stored.Version
		i.state, i.unsaved = f.next, f.next.Intent
		i.state.Version = version
	}
	return nil
}

func (a *attempt) confirm(ctx context.Context) error {
	storing, cancel := a.storing(ctx)
	defer cancel()
	now, err := a.loop.config.Store.Load(storing, a.item.key)
	if err != nil {
		return err
	}
	if !now.Intent.same(a.fencing.next.Intent) || now.Holder != a.fencing.next.Holder {
		return ErrFenced
	}
	if time.Since(now.Intent.Time) < a.loop.config.Lease/3 {
		return nil
	}
	// Nobody shall take a long delivery for an abandoned one.
	a.item.stored.Version = now.Version
	now.Intent.Time = time.Now()
	return a.save(ctx, now)
}

// save stores a state. A conflict with somebody who left the intent alone (labels of the object, say) is overcome; with
// another worker it is ErrFenced.
func (a *attempt) save(ctx context.Context, next State) error {
	i := a.item
	storing, cancel := a.storing(ctx)
	defer cancel()
	next.Version = i.stored.Version
	version, err := a.loop.config.Store.Save(storing, i.key, next)
	for tries := 0; errors.Is(err, ErrConflict); tries++ {
		now, loadErr := a.loop.config.Store.Load(storing, i.key)
		if loadErr != nil {
			return loadErr
		}
		if tries == 3 || !now.Intent.same(i.stored.Intent) || now.Holder != i.stored.Holder || now.Serial != i.stored.Serial || (now.Version == "") != (i.stored.Version == "") {
			return ErrFenced
		}
		next.Version = now.Version
		version, err = a.loop.config.Store.Save(storing, i.key, next)
	}
	if err != nil {
		i.loaded = false // Whether it arrived is not known.
		return err
	}
	next.Version = version
	i.stored, i.state, i.unsaved = next, next, nil
	return nil
}

// storing bounds a call of the Store. It goes on while the loop stops: what was done must be written down.
func (a *attempt) storing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), a.loop.config.grace())
}

// said is what the provider says of an error, in its own words.
func said(err error) string {
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e.Said
	}
	return ""
}

// call runs a provider's method. When the loop stops, the call that is on its way gets some time to end, so that as little
// as can be of it arrives later; the fence lets no further one begin.
func (a *attempt) call(ctx context.Context, method string, f func(context.Context) error) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	a.fencing.mu.Lock()
	a.fencing.watch = time.AfterFunc(a.loop.config.Stall, cancel)
	a.fencing.mu.Unlock()
	var grace *time.Timer
	var stopping sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		stopping.Lock()
		defer stopping.Unlock()
		grace = time.AfterFunc(a.loop.config.grace(), cancel)
	})
	defer func() {
		stop()
		a.fencing.mu.Lock()
		a.fencing.watch.Stop()
		a.fencing.watch = nil
		a.fencing.mu.Unlock()
		stopping.Lock()
		defer stopping.Unlock()
		if grace != nil {
			grace.Stop()
		}
	}()
	err := a.loop.guard(a.spec, method, func() error { return f(running) })
	if err != nil && !errors.Is(err, ErrCannotList) {
		a.loop.config.Logger.Info("A provider call failed", "class", a.item.key.Class, "uid", a.item.key.UID, "zone", a.item.state.Zone, "method", method, "err", err, "cause", errors.Unwrap(err), "said", said(err))
	}
	return err
}
