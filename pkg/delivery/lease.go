// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/zoneview"
)

// Why a fence fails beside ErrFenced.
var (
	errSuperseded = errors.New("class or zone changed; what is written would be out of date")
	errStopping   = errors.New("the loop is stopping")
)

// lease is the right of one attempt to write a delivery, in the store and at the provider: an intent that is recorded
// before the first call outside, and a fence that looks before each further one whether it still stands (F22).
type lease struct {
	key    Key
	config *Config
	memory *memory
	// began is when the attempt began, target that of its class.
	began  time.Time
	target string
	// current reports whether what the attempt was told of class and zone still holds.
	current func() error
	limiter *rate.Limiter

	mu sync.Mutex
	// next is what the intent is recorded in.
	next     State
	recorded bool
	// covered says that by the stored state this worker alone may begin, and begun that it was asked and still said so.
	covered, begun bool
	// err is the first that the fence returned; it stays.
	err   error
	watch *time.Timer
}

// prepareFence prepares the fence for calls that next describes.
func (l *lease) prepareFence(next State, covered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.covered, l.recorded, l.begun, l.err = next, covered, false, false, nil
}

// passFence is the Fence of an attempt. The first call records the intent, so that a later worker knows what may
// stand half written; every further one looks whether it still stands (F22). A worker whose own confirmation is the
// last word on the zone need not record one (State.Holder), but looks. It asks last what can change fastest: nothing
// lies between a look at the store and the provider's call but the provider.
func (l *lease) passFence(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if err := l.limiter.Wait(ctx); err != nil {
		if l.err = ctx.Err(); l.err == nil {
			l.err = context.DeadlineExceeded // Wait does not begin what it cannot end in time.
		}
		return l.err
	}
	if l.err = l.current(); l.err != nil {
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
		l.watch.Reset(l.config.Stall)
	}
	return l.err
}

// runWatched runs f, which ends when the fence was not asked for too long.
func (l *lease) runWatched(stop func(), f func() error) error {
	l.mu.Lock()
	l.watch = time.AfterFunc(l.config.Stall, stop)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.watch.Stop()
		l.watch = nil
		l.mu.Unlock()
	}()
	return f()
}

// fenceError is why the fence failed, and whether a call may have gone out before.
func (l *lease) fenceError() (err error, began bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err, l.recorded || l.begun
}

func (l *lease) recordIntent(ctx context.Context) error {
	l.next = l.next.begun(time.Now())
	if err := l.saveState(ctx, l.next); err != nil {
		return err
	}
	l.recorded = true
	return nil
}

// coversPlans reports whether what is stored lets this worker go on from there without an intent. Another
// worker finds what it leaves half written by the changes of the zone since.
func (l *lease) coversPlans(plans []Plan) bool {
	m, me := l.memory, l.config.Identity
	return len(plans) == 1 && plans[0].Changes != nil && !m.due.isSet(dueRepeat) &&
		m.stored.Holder == me && m.stored.Intent == nil && m.stored.Serial != 0 && m.state.Intent == nil &&
		m.state.Serial == m.stored.Serial &&
		m.stored.Zone == plans[0].Zone && m.stored.Target == l.target
}

// checkConfirmation looks whether the confirmation still is the last word.
func (l *lease) checkConfirmation(ctx context.Context) error {
	m := l.memory
	now, err := l.readState(ctx, l.key)
	if err != nil {
		return err
	}
	if now.Holder != m.stored.Holder || now.Intent != nil || now.Serial != m.stored.Serial || now.Version == "" {
		return ErrFenced
	}
	m.stored.Version = now.Version
	if !l.begun {
		// From here on something may stand half written, and this process alone knows: it keeps it until it is stored.
		l.begun = true
		m.state, m.unsaved = l.next, l.next.Intent
		m.state.Version = now.Version
	}
	return nil
}

func (l *lease) checkIntent(ctx context.Context) error {
	now, err := l.readState(ctx, l.key)
	if err != nil {
		return err
	}
	if !now.Intent.same(l.next.Intent) || now.Holder != l.next.Holder {
		return ErrFenced
	}
	return nil
}

// saveState stores a state. A conflict with a write that left the intent alone (labels of the object, say) is
// overcome; with another worker it is ErrFenced.
func (l *lease) saveState(ctx context.Context, next State) error {
	m, store := l.memory, l.config.Store
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	next.Version = m.stored.Version
	version, err := store.Save(storing, l.key, next)
	for tries := 0; errors.Is(err, ErrConflict); tries++ {
		now, loadErr := store.Load(storing, l.key)
		if loadErr != nil {
			return loadErr
		}
		if tries == 3 || !now.Intent.alike(m.stored.Intent) || now.Holder != m.stored.Holder || now.Serial != m.stored.Serial ||
			(now.Version == "") != (m.stored.Version == "") {
			return ErrFenced
		}
		next.Version = now.Version
		version, err = store.Save(storing, l.key, next)
	}
	if err != nil {
		m.loaded = false // Whether it arrived is not known.
		return err
	}
	next.Version = version
	m.stored, m.state, m.unsaved = next, next, nil
	return nil
}

// readState returns what is stored now, of this delivery or of another class of the zone.
func (l *lease) readState(ctx context.Context, key Key) (State, error) {
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.config.Store.Load(storing, key)
}

// deleteState lets go of a delivery of which nothing is at the provider.
func (l *lease) deleteState(ctx context.Context) error {
	if l.memory.stored.Version == "" {
		return nil
	}
	storing, cancel := l.boundStoring(ctx)
	defer cancel()
	return l.config.Store.Delete(storing, l.key)
}

// boundStoring bounds a call of the Store. It goes on while the loop stops: what was done must be written down.
func (l *lease) boundStoring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.config.grace())
}

// loadState reads the state, and goes on from what this process left half written and could not store.
func (l *lease) loadState(ctx context.Context) error {
	state, err := l.readState(ctx, l.key)
	if err != nil {
		return err
	}
	m := l.memory
	m.loaded, m.known, m.stored, m.state = true, true, state, state
	m.refused.aside, m.refused.turn = nil, nil
	m.drift.rrsets = map[RRsetKey]bool{}
	for _, key := range state.Drift {
		m.drift.rrsets[key] = true
	}
	if unsaved := m.unsaved; unsaved != nil && state.Intent == nil && state.Holder == l.config.Identity {
		m.state.Intent = m.freeIntent(unsaved, l.config.Identity)
	} else {
		m.unsaved = nil // Another one has begun since, and begins with what the zone changed.
	}
	return nil
}

// takeOverFrom goes on from what another worker may have under way. A write of that worker that may still arrive is
// written over by a repeat, where it is not the present content. quiet says that nothing of it is on its way.
func (l *lease) takeOverFrom(ctx context.Context, f *facts, snapshot *zoneview.Snapshot, quiet bool) {
	m := l.memory
	intent, same := m.foreignIntent(f), false
	if m.state.Intent == nil {
		same = l.addChanged(ctx, intent, snapshot)
	}
	if !quiet && !intent.same(&m.takeover.taken) {
		// Once, however often the first write after it fails: else the repeat would be put off for ever. A
		// worker that began with a serial has the content of that serial on its way, and only changes since are
		// written over.
		m.takeover.whole, m.takeover.atOne = false, intent.From != 0 && intent.From == intent.Serial
		if !same {
			m.due[dueRepeat] = l.began.Add(l.config.repeatAfter())
		}
		l.config.Logger.Info("Taking over from another worker", "zone", m.state.Zone, "class", l.key.Class, "serial", intent.Serial,
			"holder", intent.Holder)
	}
	m.takeover.taken, m.state.Intent = *intent, intent
}

// addChanged adds to the intent of a worker that recorded none what the zone changed since it confirmed it. same:
// what of that arrives late is what is written now.
func (l *lease) addChanged(ctx context.Context, intent *Intent, snapshot *zoneview.Snapshot) (same bool) {
	changes, err := l.config.readChanges(ctx, l.key.UID, intent.From, snapshot.Serial())
	if err != nil {
		return false
	}
	for key := range undoChanges(snapshot, changes) {
		intent.RRsets = append(intent.RRsets, key)
	}
	if slices.SortFunc(intent.RRsets, RRsetKey.Compare); len(intent.RRsets) > maxListed {
		intent.RRsets = nil
	} else {
		intent.Unlisted = false
	}
	return changedOnce(changes)
}
