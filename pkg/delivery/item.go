// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/dns/name"
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
	// delivered: the class has confirmed a serial of the zone; former classes go when all that are in force have.
	delivered bool
	changed   time.Time
	// since is when the oldest change that is not confirmed yet was seen; confirmed and behind are of the state, for Status.
	since     time.Time
	confirmed serial.Serial
	behind    []string
	// claimed is the name that the zone is delivered under, also where nothing is stored yet; awaits is one that another zone has. woken: that
	// one has it no more; asked: another one awaits a name that this one has.
	claimed, awaits name.Name
	woken, asked    bool
	// down: it failed for the sake of its class.
	down  bool
	timer *time.Timer

	// The rest belongs to the worker. stored is what the Store has, state what the item goes by: beside it, what this
	// process found out and has not stored.
	loaded        bool
	known         bool // loaded once
	stored, state State
	// unsaved is what may stand half written and no store knows of (attempt.proceed).
	unsaved  *Intent
	revision int
	// leaving: it is being withdrawn; viewless is since when its view is waited for.
	leaving  bool
	viewless time.Time
	// attempts counts failures in a row; nothing is tried before retryAt, and in a blocked zone nothing before it
	// passes blockedAt.
	attempts  int
	retryAt   time.Time
	blocked   bool
	blockedAt serial.Serial
	// owedAt is when RRsets that were refused are tried again without a change of the zone, refused how often they were since
	// the first refusal of one of them.
	owedAt  time.Time
	refused int
	// aside is what was refused, and why, where that is more than the intent lists; nil where it is not, or not known since the
	// state was loaded. turn are those of it that are still to be tried this time.
	aside map[RRsetKey]*Error
	turn  []RRsetKey
	// pending is the serial that servers are on their way to; they are looked after at pollAt.
	pending serial.Serial
	polls   int
	pollAt  time.Time
	// driftAt is when the provider is compared next, unless it cannot be.
	driftAt    time.Time
	cannotList bool
	// drifted are RRsets that a comparison found to be missing or different and that are not mended; others is how many of others
	// the last one found, and counts from the second one on. Both are for metrics.
	drifted     map[RRsetKey]bool
	others      int
	knowsOthers bool
	// request is the last Zone.Request that was taken up, and none is before requestAt.
	request   string
	requestAt time.Time
	// repeatAt is when the RRsets of an intent that was taken over are written once more, with whole all of the zone: so
	// they were when it was taken over, and not all that was written then was of one serial (atOne).
	repeatAt     time.Time
	whole, atOne bool
	// foreign is another's intent, unchanged since foreignSince and left alone until waitAt; taken is one that was taken
	// over and stands in the store until the first write.
	foreign      Intent
	taken        Intent
	foreignSince time.Time
	// rested is the State.Holder that was seen when the zone was as that one had confirmed it.
	rested string
	waitAt time.Time
	// absent counts how often in a row the provider said of a name that it has no such zone when it was asked to withdraw it.
	absent map[name.Name]int
	// formerAt is when a name that the zone had is withdrawn again, lingers why it could not be.
	formerAt time.Time
	lingers  *StateError
	lingered int
}

func (i *item) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// fails: what was tried last failed, or RRsets are refused.
func (i *item) fails() bool { return i.attempts > 0 || i.refused > 0 || i.blocked }

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
	for _, at := range []time.Time{i.owedAt, i.pollAt, i.driftAt, i.repeatAt, i.waitAt, i.formerAt} {
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
	woken    bool
	asked    bool

	fencing fencing
	// takesAway: it withdraws, which a pause of the zone does not stop.
	takesAway bool
	// settled: nothing is left to deliver. worked: the provider did what it was asked. pause: it wants every zone of
	// the class to wait.
	settled, worked bool
	pause           *Error
	// compared: it has asked what the provider holds. owed are the RRsets that were owed before that, and when it began to deliver.
	compared bool
	owed     map[RRsetKey]bool
	// plans are what it delivers, before is the state that they lead from.
	plans  []Plan
	before State
}

// requestInterval is the time between two requests of a zone that are taken up: everyone with the right to write the Zone may ask.
const requestInterval = 10 * time.Second

func (a *attempt) run(ctx context.Context) {
	i, l, now := a.item, a.loop, time.Now()
	a.began = now
	if a.revision != i.revision {
		i.revision = a.revision
		i.attempts, i.refused, i.retryAt, i.owedAt, i.pollAt, i.formerAt = 0, 0, time.Time{}, time.Time{}, time.Time{}, time.Time{}
		i.blocked, i.cannotList = false, false
	}
	wanted := slices.Contains(a.zone.Classes, i.key.Class) && !a.zone.Withdraw
	if wanted == i.leaving {
		i.leaving = !wanted
		i.attempts, i.retryAt, i.blocked = 0, time.Time{}, false // It is another question now.
	}
	if request := a.zone.Request; request != "" && request != i.request {
		if !i.requestAt.After(now) {
			i.request, i.requestAt, i.cannotList = request, now.Add(requestInterval), false
			a.woken = true
		} else if i.retryAt.After(i.requestAt) {
			i.retryAt = i.requestAt
		}
	}
	if a.woken {
		i.retryAt, i.owedAt, i.formerAt, i.blocked = time.Time{}, time.Time{}, time.Time{}, false
	}
	waits := i.retryAt.After(now)
	if waits && !(wanted && a.asked) || ctx.Err() != nil {
		return
	}
	if !waits {
		i.retryAt = time.Time{}
	}
	if !wanted && i.withdrawn {
		a.settled = true
		return
	}
	if wanted && a.zone.Paused && len(a.awaited(name.Name{})) == 0 {
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
	a.keep()
	snapshot := l.snapshot(a.zone)
	if snapshot == nil && !wanted {
		snapshot = l.last(a.zone.UID)
	}
	if !a.mine(ctx, snapshot, now) {
		return
	}
	if !wanted {
		if a.zone.Withdraw || a.retains() || a.replaced() || len(a.awaited(name.Name{})) > 0 {
			a.withdraw(ctx, snapshot)
		}
		return // it is told when the classes in force have the zone
	}
	if snapshot == nil {
		return // its first event comes when it settles
	}
	if a.zone.Paused || waits {
		a.makeRoom(ctx, snapshot)
		return
	}
	if i.state.Zone.IsZero() && !a.inherit(ctx, now) {
		return
	}
	if at := snapshot.Serial(); i.state.Serial != 0 && i.state.Serial.Ahead(at) || i.state.Intent != nil && i.state.Intent.Serial.Ahead(at) {
		l.config.Logger.Info("The view is behind what was delivered; waiting for it", "zone", snapshot.FQDN(), "class", i.key.Class, "serial", at, "delivered", i.state.Serial)
		return
	}
	if a.provider == nil {
		a.fail(ctx, snapshot.Serial(), Report{}, a.spec.broken())
		return
	}
	if !a.claim(snapshot.FQDN()) {
		if i.state.Zone == snapshot.FQDN() {
			i.state.Hash = "" // Another one writes there, and takes away what both have when it goes.
		}
		if a.makeRoom(ctx, snapshot) {
			a.fail(ctx, snapshot.Serial(), Report{}, nameTaken(snapshot.FQDN()))
		}
		return
	}
	if (i.fails() || i.pending != 0) && !a.makeRoom(ctx, snapshot) {
		return
	}
	if i.state.Zone != snapshot.FQDN() && len(i.state.names()) > 0 {
		if len(i.state.Former) >= maxFormer && !a.retains() {
			// No name is forgotten before the zone is withdrawn from it (S8.2), so the oldest goes first.
			if !i.formerAt.After(now) {
				a.leaveFormer(ctx, snapshot, now)
			}
			return
		}
		a.rename(snapshot, now)
	}
	a.level(ctx, snapshot, now)
}

// level does what is left to do for the zone to be at its serial.
func (a *attempt) level(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) {
	i, at := a.item, snapshot.Serial()
	if state := &i.state; state.Target != a.spec.Target || state.Hash == "" || state.Serial == at && state.Hash != snapshot.Hash() {
		state.Serial, state.Hash = 0, ""
		state.Drifted, state.Drift = Condition{}, nil
	}
	a.schedule(now)
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
	case a.knowsAside() && len(i.turn) > 0:
	case i.state.Error != nil && i.state.Intent == nil && len(i.state.Former) == 0 && !i.blocked:
		// It failed with nothing left to do, for want of a provider or a name, and there is nobody but the provider to say that it works now.
	case i.state.Intent != nil && !i.blocked && due(i.owedAt) && (i.repeatAt.IsZero() || i.state.Intent.Holder != a.loop.config.Identity):
	case len(i.state.Former) > 0 && due(i.formerAt) && i.repeatAt.IsZero():
		a.settled = true
		a.leaveFormer(ctx, snapshot, now)
		a.compareNext()
		return
	default:
		a.settled = true
		if !a.check(ctx, snapshot, now) {
			return
		}
	}
	i.pollAt = time.Time{}
	plans, err := a.loop.plans(ctx, a.inTurn(), snapshot)
	var intent Intent
	if err == nil {
		intent = a.intent(plans)
	}
	if repeat && i.whole && err == nil {
		state := i.state
		state.Serial = 0
		plans, err = a.loop.plans(ctx, state, snapshot)
	}
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return
	}
	for n := range plans {
		if plans[n].Delivered = i.state.Serial != 0; a.knowsAside() {
			plans[n].Owed = slices.SortedFunc(maps.Keys(i.aside), RRsetKey.Compare)
		}
	}
	a.deliver(ctx, plans, intent, repeat)
}

// intent says what carrying plans out may leave half written.
func (a *attempt) intent(plans []Plan) Intent {
	state := &a.item.state
	intent := Intent{Serial: plans[0].Serial, From: plans[0].Serial, Holder: a.loop.config.Identity}
	if state.Intent != nil {
		intent.From = state.Intent.From
	} else if state.Serial != 0 {
		intent.From = state.Serial
	}
	intent.RRsets, intent.Unlisted = written(state.Intent, plans...)
	intent.Unlisted = intent.Unlisted || intent.From == 0 || a.knowsAside()
	return intent
}

// deliver has the provider carry plans out.
func (a *attempt) deliver(ctx context.Context, plans []Plan, intent Intent, repeat bool) {
	i, plan := a.item, plans[0]
	next := i.state
	if next.Intent != nil && !a.compared {
		a.owed = a.isOwed()
	}
	a.plans, a.before = plans, next
	next.Zone, next.Target = plan.Zone, a.spec.Target
	next.Intent = &intent
	a.fencing = fencing{next: next, covered: len(plans) == 1 && a.covers(plan)}

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
		report.Remains = report.Remains || part.Remains
		report.Proven = report.Proven || part.Proven
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
	if err == nil {
		if e := a.zoneless(plans, report); e != nil {
			err = e
		}
	}
	report.Failed = a.withAside(plans, report.Failed, err == nil)
	if err != nil {
		e := asError(err)
		if e.Reason == ReasonZoneNotFound {
			a.lose(plan.Serial)
		}
		a.fail(ctx, plan.Serial, report, e)
		return
	}
	a.succeed(ctx, plan, report)
}

// zoneless is what a provider says that answers for each RRset alone and has no zone for any that it was to take; nil where
// it took one, or was asked for nothing but some that it refused before.
func (a *attempt) zoneless(plans []Plan, report Report) *Error {
	if len(report.Failed) == 0 {
		return nil
	}
	failed := map[RRsetKey]*Error{}
	for _, failure := range report.Failed {
		failed[RRsetKey{failure.Name, failure.Type}] = failure.Err
	}
	var zoneless *Error
	for _, plan := range plans {
		puts := plan.All
		if plan.Changes != nil {
			puts = func(yield func(RRset) bool) {
				for _, change := range plan.Changes {
					if len(change.After.Data) > 0 && !yield(change.After) {
						return
					}
				}
			}
		}
		for set := range puts {
			e, refused := failed[set.Key()]
			if !refused {
				return nil
			}
			if e != nil && e.Reason == ReasonZoneNotFound && (plan.Changes == nil || !a.owed[set.Key()]) {
				zoneless = e
			}
		}
	}
	return zoneless
}

// lose: the provider has the zone no more. Made again there it is empty, so the next plan is of the whole zone; what may
// stand there all the same, if it comes back as it was, stays known.
func (a *attempt) lose(at serial.Serial) {
	state := &a.item.state
	if state.Serial == 0 {
		return
	}
	intent := Intent{Serial: at, Time: time.Now()}
	if state.Intent != nil {
		intent = *state.Intent
	}
	intent.From, intent.Unlisted = state.from(), true
	state.Serial, state.Hash, state.Intent = 0, "", &intent
}

// schedule sets when provider and zone are compared next. What is overdue after a restart comes within ten minutes, and
// not all at once.
func (a *attempt) schedule(now time.Time) {
	i, interval := a.item, a.spec.DriftInterval
	if i.cannotList || i.state.Serial == 0 {
		i.driftAt = time.Time{}
		return
	}
	if i.driftAt.IsZero() {
		last := i.state.DriftCheckTime
		if last.IsZero() {
			last = i.state.SyncTime
		}
		if i.driftAt = last.Add(jitter(interval)); !i.driftAt.After(now) {
			i.driftAt = now.Add(rand.N(min(interval, 10*time.Minute)))
		}
	}
	if i.driftAt.After(now.Add(interval)) {
		i.driftAt = now.Add(jitter(interval))
	}
	if a.requested() && i.driftAt.After(now) {
		if i.driftAt = now; i.request != a.zone.Request {
			i.driftAt = i.requestAt
		}
	}
}

// requested: a comparison was asked for that has not been made.
func (a *attempt) requested() bool {
	return a.zone.Request != "" && a.zone.Request != a.item.state.Request
}

// compareNext has the item run once more where a comparison fell due while something else was done.
func (a *attempt) compareNext() {
	if at := a.item.driftAt; !at.IsZero() && !at.After(a.began) {
		a.again()
	}
}

// check compares provider and zone when that is due. It reports whether there is something to repair, and has then put
// it into the intent, beside what is owed.
func (a *attempt) check(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) bool {
	i, at := a.item, snapshot.Serial()
	if i.driftAt.IsZero() || i.driftAt.After(now) || !i.repeatAt.IsZero() {
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
	if ctx.Err() != nil {
		return false
	}
	now = time.Now()
	i.driftAt = now.Add(jitter(a.spec.DriftInterval))
	a.compared = true
	if err != nil {
		a.notCompared(ctx, at, err)
		return false
	}
	a.worked = true
	i.state.DriftCheckTime = now
	if drift.Servers != nil {
		i.state.Servers = drift.Servers
	}
	behind := slices.ContainsFunc(drift.Servers, func(s Server) bool { return s.Err != nil || s.Serial != at })
	keys := keysOf(drift.Missing, drift.Differing)
	// What was refused is not there, and Ready says so: that is drift only where it was there before.
	owed := a.isOwed()
	refused := func(set RRset) bool { return owed[set.Key()] && !slices.Contains(i.state.Drift, set.Key()) }
	drift.Missing, drift.Differing = slices.DeleteFunc(drift.Missing, refused), slices.DeleteFunc(drift.Differing, refused)
	drifted := keysOf(drift.Missing, drift.Differing)
	a.count(drift)
	i.state.drift(drifted)
	if len(keys) == 0 && !behind && i.state.Intent == nil {
		a.report(ctx)
		return false
	}
	intent := Intent{Serial: at, From: at, Time: now}
	if i.state.Intent != nil {
		intent = *i.state.Intent
		a.owed = owed
	}
	// What was refused, for good too, is tried once more.
	if a.knowsAside() {
		a.turnTo(slices.DeleteFunc(keys, func(key RRsetKey) bool { return owed[key] }))
	} else if rrsets, unlisted := also(intent.RRsets, false, keys); unlisted {
		i.state.Serial, i.state.Hash = 0, ""
	} else {
		intent.RRsets = rrsets
		i.state.Intent = &intent
	}
	if len(drifted) > 0 || behind {
		a.observe(Event{Outcome: OutcomeDrifted, Serial: at, State: i.state, Drift: drift})
	}
	return true
}

// count tells metrics of each RRset once that the provider does not hold, until it is mended, and of those of others that came
// since the last comparison.
func (a *attempt) count(drift Drift) {
	i, others := a.item, 0
	if i.knowsOthers {
		others = max(0, len(drift.Foreign)-i.others)
	}
	i.others, i.knowsOthers = len(drift.Foreign), true
	before, now := i.drifted, map[RRsetKey]bool{}
	news := func(sets []RRset) (count int) {
		for _, set := range sets {
			if now[set.Key()] = true; !before[set.Key()] {
				count++
			}
		}
		return count
	}
	missing, differing := news(drift.Missing), news(drift.Differing)
	i.drifted = now
	if missing+differing+others > 0 {
		a.loop.config.Metrics.Drifted(i.key.Class, missing, differing, others)
	}
}

// notCompared deals with a comparison that failed. The zone was delivered and nothing says that it no longer is, so Ready
// stays, unless the provider says that it has no such zone.
func (a *attempt) notCompared(ctx context.Context, at serial.Serial, err error) {
	i, now := a.item, time.Now()
	if errors.Is(err, ErrCannotList) {
		i.cannotList, i.driftAt = true, time.Time{}
		if a.requested() {
			i.state.Drifted = Condition{Unknown, ReasonCannotList, "the provider cannot say what it holds"}
		}
		a.report(ctx)
		return
	}
	e := asError(err)
	if e.Reason == ReasonZoneNotFound {
		a.settled = false
		a.lose(at)
		a.fail(ctx, at, Report{}, e)
		return
	}
	if e.WholeClass {
		a.pause = e
	}
	i.driftAt = now.Add(jitter(min(a.spec.DriftInterval, a.loop.config.Backoff.Slow)))
	if i.state.Drifted.Status != True {
		i.state.Drifted = Condition{Unknown, e.Reason, e.Message}
	}
	a.report(ctx)
}

// report stores what a comparison found where nothing is to be repaired: a request that was carried out, and news. That
// the provider holds the zone is none.
func (a *attempt) report(ctx context.Context) {
	i := a.item
	next := i.state
	if !a.requested() && next.Drifted.Status != Unknown && i.stored.Drifted.Status != True && i.stored.Drifted.Status != Unknown {
		return
	}
	next.Request = a.zone.Request
	if next.alike(i.stored) {
		return
	}
	if err := a.save(ctx, next); err != nil {
		a.storeFailed(ctx, "save", err)
		return
	}
	a.observe(Event{Outcome: OutcomeCompared, Serial: next.Serial, State: i.state, OfClass: a.pause})
}

func keysOf(lists ...[]RRset) []RRsetKey {
	var keys []RRsetKey
	for _, set := range slices.Concat(lists...) {
		keys = append(keys, set.Key())
	}
	slices.SortFunc(keys, RRsetKey.Compare)
	return keys
}

// guard turns whatever a provider does into an error, a panic included: content must not stop the other zones
// (attack 60).
func (l *Loop) guard(class Class, method string, f func() error) (err error) {
	start := time.Now()
	defer func() {
		if crash := recover(); crash != nil {
			l.config.Logger.Error("A provider crashed", "class", class.Name, "method", method, "panic", fmt.Sprint(crash), "stack", string(debug.Stack()))
			err = &Error{Reason: ReasonInternalError, Message: "the provider crashed on this zone; the controller's log says where"}
		}
		call := Call{Class: class.Name, Provider: class.Kind, Method: method, Took: time.Since(start)}
		if err != nil && !errors.Is(err, ErrCannotList) && !errors.Is(err, ErrNotProven) {
			e := asError(err)
			call.Reason, call.Code = e.Reason, e.Code
		}
		l.config.Metrics.Called(call)
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
