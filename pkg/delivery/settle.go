// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

func (a *attempt) load(ctx context.Context) error {
	i := a.item
	storing, cancel := a.storing(ctx)
	defer cancel()
	state, err := a.loop.config.Store.Load(storing, i.key)
	if err != nil {
		return err
	}
	i.loaded, i.known, i.stored, i.state = true, true, state, state
	i.aside, i.turn = nil, nil
	i.drifted = map[RRsetKey]bool{}
	for _, key := range state.Drift {
		i.drifted[key] = true
	}
	if unsaved := i.unsaved; unsaved != nil && state.Intent == nil && state.Holder == a.loop.config.Identity {
		i.state.Intent = a.let(unsaved)
	} else {
		i.unsaved = nil // Another one has begun since, and begins with what the zone changed.
	}
	return nil
}

// anothers is what another worker may have under way, nil for nothing. One that keeps the zone records no intent: it may
// be at what the zone changed since it confirmed it. same: what of that arrives late is what is written now.
func (a *attempt) anothers(ctx context.Context, snapshot *zoneview.Snapshot) (intent *Intent, same bool) {
	state, me := &a.item.state, a.loop.config.Identity
	if intent := state.Intent; intent != nil {
		if intent.Holder == "" || intent.Holder == me {
			return nil, false
		}
		return intent, false
	}
	if state.Holder == "" || state.Holder == me || state.Serial == 0 || snapshot == nil ||
		snapshot.Serial() == state.Serial || state.Serial.Ahead(snapshot.Serial()) {
		return nil, false
	}
	intent = &Intent{Serial: state.Serial, From: state.Serial, Holder: state.Holder, Unlisted: true}
	if changes, err := a.loop.changes(ctx, a.item.key.UID, state.Serial, snapshot.Serial()); err == nil {
		for key := range undo(snapshot, changes) {
			intent.RRsets = append(intent.RRsets, key)
		}
		if slices.SortFunc(intent.RRsets, RRsetKey.Compare); len(intent.RRsets) > maxListed {
			intent.RRsets = nil
		} else {
			intent.Unlisted = false
		}
		same = once(changes)
	}
	return intent, same
}

// mine: no other worker is at it. One that let its intent grow old is taken over.
func (a *attempt) mine(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) bool {
	i, l := a.item, a.loop
	intent, same := a.anothers(ctx, snapshot)
	if intent == nil {
		i.waitAt, i.foreign, i.taken = time.Time{}, Intent{}, Intent{}
		if i.loaded && snapshot != nil {
			i.rested = i.state.Holder
		}
		return true
	}
	if l.config.Alone && i.state.Intent == nil && i.rested == intent.Holder {
		// It had nothing to do when this process began to look, and has been gone since: nothing of it is on its way.
		i.state.Intent = intent
		return true
	}
	if !intent.same(&i.foreign) || !intent.Time.Equal(i.foreign.Time) {
		i.foreign, i.foreignSince = *intent, now
	}
	since := i.foreignSince // Its clock may be ahead of ours.
	if !intent.Time.IsZero() && intent.Time.Before(since) {
		since = intent.Time
	}
	if waitAt := since.Add(l.config.takeOverAfter()); waitAt.After(now) && !l.config.Alone {
		i.waitAt, i.loaded = waitAt, false
		return false
	}
	i.waitAt = time.Time{}
	if !intent.same(&i.taken) {
		// Once, however often the first write after it fails: else the repeat would be put off for ever.
		i.taken, i.whole = *intent, false
		// Whatever one that began with a serial has on its way is what the zone had then, and only what changed since is written over.
		i.atOne = intent.From != 0 && intent.From == intent.Serial
		if !same {
			i.repeatAt = now.Add(l.config.repeatAfter())
		}
		l.config.Metrics.TakenOver(i.key.Class)
		l.config.Logger.Info("Taking over from another worker", "zone", i.state.Zone, "class", i.key.Class, "serial", intent.Serial, "holder", intent.Holder)
	}
	i.state.Intent = intent
	return true
}

// stopped deals with an attempt whose fence failed: whatever the provider then returned says nothing.
func (a *attempt) stopped(ctx context.Context, returned error) bool {
	i, f := a.item, &a.fencing
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	switch {
	case err == nil && (returned == nil || ctx.Err() == nil):
		return false
	case errors.Is(err, errStopping), errors.Is(err, errSuperseded), ctx.Err() != nil:
		// No call is on its way, so nobody has to wait for one.
		if (f.recorded || f.begun) && i.repeatAt.IsZero() {
			next := i.state
			next.Intent = a.let(next.Intent)
			if err := a.save(ctx, next); err != nil {
				i.loaded = false
			}
		}
	case errors.Is(err, ErrFenced):
		a.loop.config.Metrics.Fenced(i.key.Class)
		i.loaded, i.repeatAt = false, time.Time{}
		i.retryAt = time.Now().Add(jitter(time.Second))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false // The rate limit's wait ended with the call: an ordinary failure.
	default:
		a.storeFailed(ctx, "check", err)
	}
	return true
}

// let is an intent whose RRsets are still owed and that nobody is writing.
func (a *attempt) let(intent *Intent) *Intent {
	if intent == nil {
		return nil
	}
	free := *intent
	if free.Holder = ""; !a.item.repeatAt.IsZero() {
		free.Holder = a.loop.config.Identity
	}
	return &free
}

// storeFailed is no failure of the provider: it is neither told nor stored.
func (a *attempt) storeFailed(ctx context.Context, what string, err error) {
	i := a.item
	if ctx.Err() != nil {
		return
	}
	i.loaded = false
	if errors.Is(err, ErrFenced) {
		a.loop.config.Metrics.Fenced(i.key.Class)
		i.repeatAt = time.Time{}
		i.retryAt = time.Now().Add(jitter(time.Second))
		return
	}
	i.retryAt = time.Now().Add(jitter(a.loop.config.Backoff.Base))
	a.loop.config.Logger.Warn("The delivery could not be stored or read", "what", what, "uid", i.key.UID, "class", i.key.Class, "err", err)
}

// fail stores why an attempt failed and decides when the next one is.
func (a *attempt) fail(ctx context.Context, at serial.Serial, report Report, e *Error) {
	i, now := a.item, time.Now()
	next := i.state
	first := next.Error == nil
	next.Intent = a.let(next.Intent)
	since := now
	if !first && next.Error.same(e) {
		since = next.Error.Time
	}
	next.Error = &StateError{e.Reason, e.Code, e.Message, since}
	next.Ready = Condition{False, e.Reason, e.Message}
	next.Failed, next.Skipped = len(report.Failed), report.Skipped
	if report.Servers != nil {
		next.Servers = report.Servers
	}
	if a.compared {
		next.Request = a.zone.Request
	}
	i.attempts++
	i.blocked = false
	i.retryAt, i.owedAt = a.later(e, i.attempts-1, at, now), time.Time{}
	if e.WholeClass {
		a.pause = e
	}
	event := Event{Outcome: OutcomeFailed, Serial: at, Failed: report.Failed, First: first}
	if e.WholeClass {
		event.OfClass = e
	}
	a.store(ctx, next, event)
}

// later is when what failed, after so many failures before, is tried again: zero where that waits for a change.
func (a *attempt) later(e *Error, failures int, at serial.Serial, now time.Time) time.Time {
	i, b := a.item, a.loop.config.Backoff
	switch {
	case e.RetryAfter > 0:
		return now.Add(e.RetryAfter)
	case e.Permanent:
		i.blocked, i.blockedAt = true, at
		return time.Time{}
	case e.Reason == ReasonQuotaExceeded:
		return now.Add(jitter(b.Slow))
	}
	return now.Add(b.delay(failures))
}

// succeed stores what the provider did without an error of its own: delivered, but for RRsets refused, or on the way.
func (a *attempt) succeed(ctx context.Context, plan Plan, report Report) {
	i, now := a.item, time.Now()
	if stood, fresh := a.split(report.Failed); min(len(stood), len(fresh)) > maxListed {
		// An Intent that has the whole zone written does not reach back to what was removed: the whole change is tried again.
		a.fail(ctx, plan.Serial, report, refusal(report.Failed))
		return
	}
	a.worked = true
	next := i.state
	next.Zone, next.Target = plan.Zone, a.spec.Target
	next.Servers, next.Failed, next.Skipped = report.Servers, len(report.Failed), report.Skipped
	event := Event{Outcome: OutcomeDelivered, Serial: plan.Serial, Failed: report.Failed, Proven: report.Proven}
	had := next.Error
	next.Error = nil
	if report.Confirmed != plan.Serial {
		event.Outcome = OutcomePending
		a.wait(&next, plan, report, now)
	} else {
		a.confirmed(&next, plan, report, now)
	}
	if report.Remains {
		event.Remains = plan.Zone
	}
	event.First, event.Recovered = had == nil && next.Error != nil, had != nil && next.Error == nil && event.Outcome == OutcomeDelivered
	if event.Outcome == OutcomePending && next.Error == nil {
		next.Error = had // It has not recovered before it has arrived.
	}
	a.store(ctx, next, event)
}

func (a *attempt) wait(next *State, plan Plan, report Report, now time.Time) {
	i := a.item
	if i.pending != plan.Serial {
		i.pending, i.polls = plan.Serial, 0
	}
	i.pollAt = now.Add(min(500*time.Millisecond<<min(i.polls, 7), time.Minute))
	i.polls++
	i.attempts = 0
	next.Intent = a.let(next.Intent)
	next.Ready = Condition{Unknown, ReasonPending, "servers are on their way to the serial"}
	for _, server := range report.Servers {
		if server.Err != nil {
			next.Error = &StateError{server.Err.Reason, server.Err.Code, server.Err.Message, now}
			next.Ready = Condition{False, server.Err.Reason, next.Error.Message}
			break
		}
	}
}

func (a *attempt) confirmed(next *State, plan Plan, report Report, now time.Time) {
	i := a.item
	ahead := uint32(plan.Serial - next.Serial)
	if next.Serial == 0 {
		ahead = 1
	}
	if next.Serial != plan.Serial {
		lag := time.Duration(0)
		if !a.changed.IsZero() {
			lag = now.Sub(a.changed)
		}
		a.loop.config.Metrics.Delivered(i.key.Class, ahead, lag)
	}
	a.settled = true
	next.Serial, next.Hash, next.SyncTime, next.Holder = plan.Serial, plan.Hash, now, a.loop.config.Identity
	next.Ready = delivered
	if report.Remains {
		next.Ready.Message += remains
	}
	i.pending, i.polls, i.pollAt = 0, 0, time.Time{}
	i.attempts, i.blocked = 0, false
	if i.driftAt.IsZero() && !i.cannotList {
		i.driftAt = now.Add(jitter(a.spec.DriftInterval))
	}
	var owed []RRsetKey
	for _, failure := range report.Failed {
		owed = append(owed, RRsetKey{failure.Name, failure.Type})
	}
	remain := map[RRsetKey]bool{}
	for _, key := range owed {
		remain[key] = true
	}
	mended := func(key RRsetKey) bool { return !remain[key] }
	if next.Drifted.Status == True {
		next.drift(slices.DeleteFunc(slices.Clone(next.Drift), mended))
	}
	maps.DeleteFunc(i.drifted, func(key RRsetKey, _ bool) bool { return mended(key) })
	if a.compared {
		next.Request = a.zone.Request
	} else if a.requested() {
		a.again()
	} else {
		a.compareNext()
	}
	intent := next.Intent
	switch {
	case !i.repeatAt.IsZero() && intent != nil:
		// Kept until the repeat, and mine until then: whoever takes over repeats it too.
		kept := *intent
		kept.Holder, kept.Time = a.loop.config.Identity, now
		i.whole = i.whole || plan.Changes == nil && !i.atOne
		if kept.Unlisted {
			kept.RRsets, _ = also(owed, true, kept.RRsets) // What is refused is owed after the repeat too.
		}
		if len(kept.RRsets) > maxListed {
			kept.From, kept.RRsets = 0, kept.RRsets[:maxListed]
		}
		next.Intent = &kept
	case len(owed) > 0:
		next.Intent = a.setAside(plan.Serial, report.Failed, now)
	default:
		next.Intent = nil
	}
	if next.Intent == nil || !next.Intent.Unlisted || next.Intent.Holder != "" {
		i.aside, i.turn = nil, nil
	}
	if len(next.Former) > 0 {
		a.again() // The name that it had can go now.
		if i.lingers != nil && len(owed) == 0 {
			next.Error, next.Ready = i.lingers, Condition{False, i.lingers.Reason, i.lingers.Message}
		}
	}
	if len(owed) == 0 {
		i.owedAt, i.refused = time.Time{}, 0
		return
	}
	e := refusal(report.Failed)
	next.Error = &StateError{e.Reason, e.Code, e.Message, now}
	next.Ready = Condition{False, e.Reason, e.Message}
	// A change of the zone goes out meanwhile: what is refused is set aside, it holds up nothing. Nor does a change that goes
	// out before it is due bring it forward or put it off.
	if slices.ContainsFunc(owed, func(key RRsetKey) bool { return !a.owed[key] }) {
		i.refused, i.owedAt = 0, time.Time{}
	}
	if len(i.turn) > 0 {
		a.again() // When the next time is, is decided at the end of this one.
	} else if e.RetryAfter > 0 || e.Permanent || !i.owedAt.After(a.began) {
		i.refused++
		i.owedAt = a.later(e, i.refused-1, plan.Serial, now)
	}
}

var delivered = Condition{True, ReasonDelivered, "everything in the class has confirmed the serial"}

// remains is what Ready says besides, until the next serial is confirmed, where the history of the zone did not reach back to what the provider had.
const remains = "; RRsets that the zone had and has no more may still stand there, since what it lost after the last confirmed serial is not kept that long: compare what the provider has with zones/entries, and remove the rest there"

// refusal is one error for RRsets that were refused: permanent if all of them are, else as urgent as the most urgent.
func refusal(failed []Failure) *Error {
	sum := &Error{Permanent: true}
	for _, failure := range failed {
		e := failure.Err
		if e == nil {
			e = &Error{Reason: ReasonServerError, Message: "refused without a reason"}
		}
		if sum.Reason == "" {
			sum.Reason, sum.Code, sum.Err = e.Reason, e.Code, e.Err
			sum.Message = fmt.Sprintf("%s: %s", RRsetKey{failure.Name, failure.Type}, e.Message)
		}
		if !e.Permanent {
			sum.Permanent = false
			if e.RetryAfter > 0 && (sum.RetryAfter == 0 || e.RetryAfter < sum.RetryAfter) {
				sum.RetryAfter = e.RetryAfter
			}
		}
	}
	if more := len(failed) - 1; more > 0 {
		sum.Message += fmt.Sprintf(" (and %d more RRsets)", more)
	}
	return sum
}

// store saves the end of an attempt and tells it, unless there is nothing new in it: a retry that fails like the last
// one writes nothing.
func (a *attempt) store(ctx context.Context, next State, event Event) {
	i := a.item
	if next.alike(i.stored) {
		next.Version = i.stored.Version
		i.state = next
	} else if err := a.save(ctx, next); err != nil {
		// Done and not written down: it is done again, which changes nothing (F24).
		a.storeFailed(ctx, "save", err)
		return
	}
	event.State = i.state
	a.observe(event)
}

// alike: they differ in nothing but times.
func (s State) alike(other State) bool {
	if s.Error == nil != (other.Error == nil) || s.Error != nil && (s.Error.Reason != other.Error.Reason || s.Error.Code != other.Error.Code || s.Error.Message != other.Error.Message) {
		return false
	}
	return s.Zone == other.Zone && s.Target == other.Target && s.Serial == other.Serial && s.Hash == other.Hash && s.Intent.alike(other.Intent) &&
		s.Request == other.Request && s.Drifted == other.Drifted && slices.Equal(s.Drift, other.Drift) &&
		s.Failed == other.Failed && s.Skipped == other.Skipped && s.Ready == other.Ready && slices.EqualFunc(s.Servers, other.Servers, Server.alike) &&
		slices.EqualFunc(s.Former, other.Former, Former.alike)
}

func (f Former) alike(other Former) bool {
	return f.Zone == other.Zone && f.From == other.From && f.Unlisted == other.Unlisted && slices.Equal(f.RRsets, other.RRsets)
}

func (s Server) alike(other Server) bool {
	if s.Err == nil != (other.Err == nil) || s.Err != nil && s.Err.Message != other.Err.Message {
		return false
	}
	return s.Name == other.Name && s.Serial == other.Serial
}

func (a *attempt) observe(event Event) {
	event.Key = a.item.key
	if a.loop.config.Observer != nil {
		a.loop.config.Observer.Observe(event)
	}
}

func (a *attempt) setWithdrawn(withdrawn bool) {
	a.loop.mu.Lock()
	defer a.loop.mu.Unlock()
	a.item.withdrawn = withdrawn
}

// again has the item run once more right after this attempt.
func (a *attempt) again() {
	a.loop.mu.Lock()
	defer a.loop.mu.Unlock()
	a.item.again = true
}
