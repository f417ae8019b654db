// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// item is one (zone, class). At most one worker runs it.
type item struct {
	key   Key
	class *class
	zone  *zone

	// These are guarded by Loop.mu. changed is when the oldest change not delivered yet was seen.
	queued, running, again, gone, withdrawn, failing bool
	changed                                          time.Time
	noticed                                          string // the version of the state that a watch showed last
	timer                                            *time.Timer

	// The rest belongs to the worker. stored is what the Store has, state what the item goes by: beside it, what this
	// process found out and has not stored.
	loaded        bool
	stored, state State
	revision      int
	// leaving: it is being withdrawn; viewless is since when its view is waited for.
	leaving  bool
	viewless time.Time
	// attempts counts failures in a row; nothing is tried before retryAt, and in a blocked zone nothing before it
	// passes blockedAt.
	attempts  int
	retryAt   time.Time
	blocked   bool
	blockedAt serial.Serial
	// owedAt is when RRsets that were refused are tried again without a change of the zone.
	owedAt time.Time
	// pending is the serial that servers are on their way to; they are looked after at pollAt.
	pending serial.Serial
	polls   int
	pollAt  time.Time
	// driftAt is when the provider is compared next, unless it cannot be.
	driftAt    time.Time
	cannotList bool
	// repeatAt is when the RRsets of an intent that was taken over are written once more.
	repeatAt time.Time
	// foreign is another's intent, unchanged since foreignSince and left alone until waitAt; taken is one that was taken
	// over and stands in the store until the first write.
	foreign      Intent
	taken        Intent
	foreignSince time.Time
	waitAt       time.Time
}

func (i *item) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// wake is when there is something to do if nothing changes before, zero for never. What was due when the last attempt
// began was dealt with or waits for a change.
func (i *item) wake(began time.Time) time.Time {
	if i.withdrawn {
		return time.Time{}
	}
	if !i.retryAt.IsZero() {
		return i.retryAt
	}
	var wake time.Time
	for _, at := range []time.Time{i.owedAt, i.pollAt, i.driftAt, i.repeatAt, i.waitAt} {
		if at.After(began) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake
}

// attempt is one run of an item, with what it was told of zone and class when it began.
type attempt struct {
	loop     *Loop
	item     *item
	zone     Zone
	class    *class
	spec     Class
	provider *shared
	limiter  *rate.Limiter
	revision int
	changed  time.Time
	began    time.Time
	noticed  string

	fencing fencing
	// settled: nothing is left to deliver. worked: the provider did what it was asked. pause: it wants every zone of
	// the class to wait.
	settled, worked bool
	pause           *Error
}

func (a *attempt) run(ctx context.Context) {
	i, l, now := a.item, a.loop, time.Now()
	a.began = now
	if a.revision != i.revision {
		i.revision = a.revision
		i.attempts, i.retryAt, i.owedAt, i.pollAt = 0, time.Time{}, time.Time{}, time.Time{}
		i.blocked, i.cannotList = false, false
	}
	wanted := slices.Contains(a.zone.Classes, i.key.Class) && !a.zone.Withdraw
	if wanted == i.leaving {
		i.leaving = !wanted
		i.attempts, i.retryAt, i.blocked = 0, time.Time{}, false // It is another question now.
	}
	if a.noticed != "" && a.noticed != i.stored.Version {
		i.loaded = false
	}
	if i.retryAt.After(now) || ctx.Err() != nil {
		return
	}
	i.retryAt = time.Time{}
	if !wanted && i.withdrawn {
		a.settled = true
		return
	}
	if wanted && a.zone.Paused {
		return
	}
	if wanted && i.withdrawn {
		a.setWithdrawn(false)
	}
	if !i.loaded {
		if err := a.load(ctx); err != nil {
			a.storeFailed(ctx, "load", err)
			return
		}
	}
	if !a.mine(now) {
		return
	}
	snapshot := l.snapshot(a.zone)
	if !wanted {
		a.withdraw(ctx, snapshot)
		return
	}
	if snapshot == nil {
		return // its first event comes when it settles
	}
	if a.provider == nil {
		a.fail(ctx, snapshot.Serial(), Report{}, a.spec.broken())
		return
	}
	if !i.state.Zone.IsZero() && i.state.Zone != snapshot.FQDN() {
		a.rename(ctx, snapshot)
		return
	}
	a.level(ctx, snapshot, now)
}

// level does what is left to do for the zone to be at its serial.
func (a *attempt) level(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) {
	i, at := a.item, snapshot.Serial()
	if state := &i.state; state.Target != a.spec.Target || state.Serial == at && state.Hash != snapshot.Hash() {
		state.Serial, state.Hash = 0, ""
	}
	if i.state.Serial != 0 && i.state.Serial.Ahead(at) || i.state.Intent != nil && i.state.Intent.Serial.Ahead(at) {
		a.loop.config.Logger.Info("The view is behind what was delivered; waiting for it", "zone", snapshot.FQDN(), "class", i.key.Class, "serial", at, "delivered", i.state.Serial)
		return
	}
	due := func(t time.Time) bool { return !t.After(now) }
	fresh := i.state.Serial == at
	if i.blocked && i.blockedAt != at {
		i.blocked = false
	}
	repeat := !i.repeatAt.IsZero() && due(i.repeatAt)
	switch {
	case repeat:
	case i.blocked && !fresh:
		return
	case !fresh && i.pending == at && !due(i.pollAt):
		return
	case !fresh:
	case i.state.Intent != nil && !i.blocked && due(i.owedAt) && (i.repeatAt.IsZero() || i.state.Intent.Holder != a.loop.config.Identity):
	default:
		a.settled = true
		if !a.check(ctx, snapshot, now) {
			return
		}
	}
	i.pollAt, i.owedAt = time.Time{}, time.Time{}
	plans, err := a.loop.plans(ctx, i.state, snapshot)
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return
	}
	a.deliver(ctx, plans, repeat)
}

func (a *attempt) deliver(ctx context.Context, plans []Plan, repeat bool) {
	i, plan := a.item, plans[0]
	next := i.state
	next.Zone, next.Target = plan.Zone, a.spec.Target
	intent := Intent{Serial: plan.Serial, From: plan.Serial, Holder: a.loop.config.Identity}
	var owed []RRsetKey
	if i.state.Intent != nil {
		intent.From, owed = i.state.Intent.From, i.state.Intent.RRsets
	} else if i.state.Serial != 0 {
		intent.From = i.state.Serial
	}
	intent.RRsets = keysOf(owed, plans...)
	next.Intent = &intent
	a.fencing = fencing{next: next}

	var report Report
	var err error
	for _, plan := range plans {
		var part Report
		err = a.call(ctx, "Deliver", func(ctx context.Context) error {
			var err error
			part, err = a.provider.Deliver(ctx, plan, a.fence)
			return err
		})
		if part.Servers != nil {
			report.Servers = part.Servers
		}
		report.Confirmed = part.Confirmed
		report.Failed = append(report.Failed, part.Failed...)
		report.Skipped += part.Skipped
		if err != nil {
			break
		}
	}
	if a.stopped(ctx, err) {
		return
	}
	if repeat && err == nil {
		i.repeatAt = time.Time{}
	}
	if err != nil {
		a.fail(ctx, plan.Serial, report, asError(err))
		return
	}
	a.succeed(ctx, plan, report)
}

// withdraw ends a delivery.
func (a *attempt) withdraw(ctx context.Context, snapshot *zoneview.Snapshot) {
	i := a.item
	at := i.state.Serial
	// Without a Zone nothing was ever begun: no provider has to be asked, and none may be there to be.
	if !i.state.Zone.IsZero() && !a.zone.Retain {
		if snapshot == nil {
			// As it was when it was frozen would be better; what is left of it names less.
			snapshot, _ = a.loop.config.Views.Settled(i.key.UID)
		}
		if snapshot == nil && !a.lost() {
			return
		}
		if a.provider == nil {
			a.fail(ctx, at, Report{}, a.spec.broken())
			return
		}
		if !a.takeAway(ctx, snapshot, at) {
			return
		}
	}
	if i.stored.Version != "" {
		storing, cancel := a.storing(ctx)
		defer cancel()
		if err := a.loop.config.Store.Delete(storing, i.key); err != nil {
			a.storeFailed(ctx, "delete", err)
			return
		}
	}
	a.settled = true
	i.loaded, i.stored, i.state = false, State{}, State{}
	i.attempts, i.blocked, i.pending, i.polls = 0, false, 0, 0
	i.repeatAt, i.owedAt, i.pollAt, i.driftAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	i.viewless = time.Time{}
	a.setWithdrawn(true)
	a.observe(Event{Outcome: OutcomeWithdrawn, Serial: at})
}

// lost: the view of the zone has not come for so long that it will not. A view may be late after a restart, and without
// it a provider that cannot list does not learn what to remove.
func (a *attempt) lost() bool {
	i := a.item
	if i.viewless.IsZero() {
		i.viewless = a.began
	}
	i.pollAt = i.viewless.Add(a.loop.config.Stall)
	return !i.pollAt.After(a.began)
}

// rename ends the delivery under the old name; the one under the new name follows (S6.8).
func (a *attempt) rename(ctx context.Context, snapshot *zoneview.Snapshot) {
	if !a.zone.Retain && !a.takeAway(ctx, snapshot, snapshot.Serial()) {
		return
	}
	next := State{Version: a.item.stored.Version, Ready: Condition{Unknown, ReasonPending, "the zone has another name, under which it is not delivered yet"}}
	if err := a.save(ctx, next); err != nil {
		a.storeFailed(ctx, "save", err)
		return
	}
	a.again()
}

// takeAway has the provider withdraw what state says it has; false when that did not come about. at is the serial that
// a lasting failure is remembered for.
func (a *attempt) takeAway(ctx context.Context, snapshot *zoneview.Snapshot, at serial.Serial) bool {
	i := a.item
	if i.blocked && i.blockedAt == at {
		return false
	}
	plan, err := a.loop.withdrawal(ctx, i.key.UID, i.state, snapshot)
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return false
	}
	next := i.state
	intent := Intent{Serial: plan.Serial, From: plan.Serial, Holder: a.loop.config.Identity}
	if i.state.Intent != nil {
		intent.From, intent.RRsets = i.state.Intent.From, i.state.Intent.RRsets
	} else if i.state.Serial != 0 {
		intent.From = i.state.Serial
	}
	next.Zone, next.Intent = plan.Zone, &intent
	next.Ready = Condition{Unknown, ReasonPending, "the zone is being withdrawn"}
	a.fencing = fencing{next: next}
	var report Report
	err = a.call(ctx, "Withdraw", func(ctx context.Context) error {
		var err error
		report, err = a.provider.Withdraw(ctx, plan, a.fence)
		return err
	})
	if a.stopped(ctx, err) {
		return false
	}
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		a.fail(ctx, at, report, asError(err))
		return false
	}
	a.worked = true
	return true
}

// check compares provider and zone when that is due. It reports whether there is something to repair, and has then put
// it into the intent.
func (a *attempt) check(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) bool {
	i, interval := a.item, a.spec.DriftInterval
	if i.cannotList || i.state.Serial == 0 {
		i.driftAt = time.Time{}
		return false
	}
	if i.driftAt.IsZero() || i.driftAt.After(now.Add(interval)) {
		i.driftAt = now.Add(jitter(interval))
		if last := i.state.DriftCheckTime; !last.IsZero() && !last.Add(interval).After(now) {
			// Overdue ones do not come all at once after a restart.
			i.driftAt = now.Add(rand.N(min(interval, 10*time.Minute)))
		}
	}
	if i.driftAt.After(now) {
		return false
	}
	if err := a.limiter.Wait(ctx); err != nil {
		return false
	}
	var drift Drift
	err := a.call(ctx, "Verify", func(ctx context.Context) error {
		var err error
		plan := a.loop.basePlan(snapshot)
		plan.Since = plan.Serial
		drift, err = a.provider.Verify(ctx, plan)
		return err
	})
	now = time.Now()
	i.driftAt = now.Add(jitter(interval))
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, ErrCannotList) {
		i.cannotList, i.driftAt = true, time.Time{}
		return false
	}
	if err != nil {
		// It was delivered and nothing says that it no longer is: Ready stays.
		if e := asError(err); e.WholeClass {
			a.pause = e
		}
		return false
	}
	i.state.DriftCheckTime = now
	behind := slices.ContainsFunc(drift.Servers, func(s Server) bool { return s.Err != nil || s.Serial != snapshot.Serial() })
	if drift.Empty() && !behind {
		if drift.Servers != nil {
			i.state.Servers = drift.Servers
		}
		return false
	}
	a.loop.config.Metrics.Drifted(i.key.Class, len(drift.Missing), len(drift.Differing), len(drift.Foreign))
	var keys []RRsetKey
	for _, set := range slices.Concat(drift.Missing, drift.Differing) {
		keys = append(keys, set.Key())
	}
	if len(keys) > maxListed {
		i.state.Serial, i.state.Hash = 0, ""
	} else if i.state.Intent == nil {
		slices.SortFunc(keys, RRsetKey.Compare)
		i.state.Intent = &Intent{Serial: snapshot.Serial(), From: snapshot.Serial(), Time: now, RRsets: keys}
	}
	if drift.Servers != nil {
		i.state.Servers = drift.Servers
	}
	a.observe(Event{Outcome: OutcomeDrifted, Serial: snapshot.Serial(), State: i.state, Drift: drift})
	return true
}

// guard turns whatever a provider does into an error, a panic included: content must not stop the other zones
// (hardening, attack 60).
func (l *Loop) guard(class, method string, f func() error) (err error) {
	start := time.Now()
	defer func() {
		if crash := recover(); crash != nil {
			l.config.Logger.Error("A provider crashed", "class", class, "method", method, "panic", fmt.Sprint(crash), "stack", string(debug.Stack()))
			err = &Error{Reason: ReasonInternalError, Message: "the provider crashed on this zone; the controller's log says where"}
		}
		var reason Reason
		if err != nil && !errors.Is(err, ErrCannotList) {
			reason = asError(err).Reason
		}
		l.config.Metrics.Called(class, method, reason, time.Since(start))
	}()
	return f()
}

// asError is the one border where errors of providers become what users read. Of an error that is not in the
// contract's form nobody knows what it may hold: it goes into the log only.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Reason: ReasonServerUnreachable, Message: "no answer in time", Err: err}
	}
	return &Error{Reason: ReasonInternalError, Message: "the provider failed in a way that it does not explain; the controller's log has the error", Err: err}
}
