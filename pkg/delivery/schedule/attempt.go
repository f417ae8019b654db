// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zoneview"
)

// attempt is one run of a delivery: it carries out what next decides, until there is nothing left that can be done now.
type attempt struct {
	key      delivery.Key
	config   *Config
	others   others
	memory   *memory
	provider delivery.Provider // nil where the class cannot work
	// snapshot is what is to be delivered, or withdrawn, nil: not known. last is what a zone had that ended (S3.7).
	snapshot, last *zoneview.Snapshot
	facts          facts
	lease          lease
	// takesAway says that it withdraws, which a pause of the zone does not stop.
	takesAway bool
}

// others are what an attempt asks of the other deliveries of its class and its zone, and tells them.
type others interface {
	// readClaims are the names of the delivery, of which the others learn, and what they want of them.
	readClaims() claims
	// claimName takes a name for the zone. It is false where another one has it: that one hears that it is awaited, and
	// this one when it is free.
	claimName(zone name.Name) bool
	// setWithdrawn says that nothing of the zone is there, or that this is no longer so.
	setWithdrawn(withdrawn bool)
	// atWork reports whether another class of the zone has an attempt under way.
	atWork(class string) bool
}

// runAttempt carries out what is decided until that is to wait, or takes the rest of the attempt.
func (a *attempt) runAttempt(ctx context.Context) {
	now := time.Now()
	a.facts.began, a.facts.now = now, now
	a.findSnapshot()
	a.memory.beginAttempt(&a.facts)
	if ctx.Err() != nil {
		return
	}
	a.facts.claims = a.others.readClaims()
	for {
		var act action
		*a.memory, act = next(*a.memory, &a.facts)
		a.facts.settled = a.facts.settled || act.settled
		if act.do == doWait {
			a.logWait(act)
			return
		}
		if !a.carryOut(ctx, act) {
			break
		}
		a.facts.now = time.Now()
	}
	if m := a.memory; m.loaded && !a.facts.again {
		a.logWait(action{until: m.wake(now), why: m.waitReason(m.state.Ready.Message)})
	}
}

// findSnapshot finds what there is to deliver or to withdraw.
func (a *attempt) findSnapshot() {
	a.snapshot = a.config.FindDeliverable(a.facts.zone)
	if a.snapshot == nil && !a.facts.wanted() {
		// As it was when it was frozen would be better; what is left of it names less.
		if a.snapshot = a.last; a.snapshot == nil {
			a.snapshot, _ = a.config.Views.Settled(a.key.UID)
		}
	}
	if s := a.snapshot; s != nil {
		a.facts.view = &view{s.FQDN(), s.Serial(), s.Hash}
	}
}

// logWait logs once what the delivery waits for.
func (a *attempt) logWait(act action) {
	if act.why == a.memory.why {
		return
	}
	a.memory.why = act.why
	level := slog.LevelDebug
	if act.notable {
		level = slog.LevelInfo
	}
	a.config.Logger.Log(context.Background(), level, "A delivery waits", "uid", a.key.UID, "class", a.key.Class, "why", act.why, "until",
		act.until)
}

// carryOut does what was decided. more says that the attempt is not over.
func (a *attempt) carryOut(ctx context.Context, act action) (more bool) {
	m, f := a.memory, &a.facts
	switch act.do {
	case doLoad:
		if f.wanted() {
			a.others.setWithdrawn(false)
		}
		state, err := a.lease.readState(ctx, a.key)
		if err != nil {
			a.storeFailed(ctx, "load", err)
			return false
		}
		m.loadState(state, a.config.Identity)
		f.claims = a.others.readClaims()
		return true
	case doTakeOver:
		var touched []delivery.RRsetKey
		once := false
		if m.state.Intent == nil {
			touched, once = a.config.FindTouched(ctx, a.key.UID, m.state.Serial, a.snapshot)
		}
		if begun := m.takeOver(f, touched, once, act.quiet); begun != nil {
			a.config.Logger.Info("Taking over from another worker", "zone", m.state.Zone, "class", a.key.Class, "serial", begun.Serial,
				"holder", begun.Holder)
		}
		return true
	case doLookUp:
		f.lookedUp, f.left = true, a.config.ReadLeft(ctx, a.key.UID, m.state)
		return true
	case doInherit:
		f.inherited = true
		more = a.inheritState(ctx)
		f.claims = a.others.readClaims()
		return more
	case doClaim:
		f.claimed, f.taken = true, !a.others.claimName(f.view.fqdn)
		return true
	case doVerify:
		return a.compareProvider(ctx)
	case doDeliver:
		a.deliverPlans(ctx, act.repeat)
	case doWithdraw:
		a.withdrawZone(ctx)
	case doForget:
		a.forgetZone(ctx, name.Name{})
	case doFail:
		a.storeOutcome(ctx, m.recordFailure(f, f.serial(m), delivery.Report{}, act.err))
	}
	return false
}

// storeOutcome saves the end of an attempt and tells it, unless there is nothing new in it: a retry that fails like
// the last one writes nothing.
func (a *attempt) storeOutcome(ctx context.Context, done outcome) {
	m := a.memory
	switch {
	case done.unsaved:
	case done.state.Alike(m.stored):
		if done.ifNew {
			return
		}
		done.state.Version = m.stored.Version
		m.state, done.event.State = done.state, done.state
	default:
		// Done and not written down: it is done again, which changes nothing (F24).
		if !a.save(ctx, done.state) {
			return
		}
		done.event.State = m.state
	}
	a.observe(done.event)
}

// save stores a state. false says that it failed, which is dealt with.
func (a *attempt) save(ctx context.Context, next delivery.State) bool {
	err := a.lease.saveState(ctx, next)
	if err != nil {
		a.storeFailed(ctx, "save", err)
	}
	return err == nil
}

func (a *attempt) observe(event delivery.Event) {
	event.Key = a.key
	if a.config.Observer != nil {
		a.config.Observer.Observe(event)
	}
}

// storeFailed is no failure of the provider: it is neither told nor stored.
func (a *attempt) storeFailed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	fenced := errors.Is(err, delivery.ErrFenced)
	a.facts.now = time.Now()
	if a.memory.retryStore(&a.facts, fenced); fenced {
		a.config.Metrics.Fenced(a.key.Class)
		return
	}
	a.config.Logger.Warn("The delivery could not be stored or read", "what", what, "uid", a.key.UID, "class", a.key.Class, "err", err)
}

// stopCause deals with an attempt whose fence failed: what the provider then returned says nothing.
func (a *attempt) stopCause(ctx context.Context, returned error) bool {
	m := a.memory
	err, began := a.lease.fenceError()
	switch {
	case err == nil && (returned == nil || ctx.Err() == nil):
		return false
	case errors.Is(err, errStopping), errors.Is(err, errSuperseded), ctx.Err() != nil:
		if next, owed := m.stateStopped(&a.facts); began && owed {
			if err := a.lease.saveState(ctx, next); err != nil {
				m.loaded = false
			}
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false // The rate limit's wait ended with the call: an ordinary failure.
	default:
		a.storeFailed(ctx, "check", err)
	}
	return true
}

// deliverPlans has the provider carry plans out.
func (a *attempt) deliverPlans(ctx context.Context, repeat bool) {
	m, f := a.memory, &a.facts
	t, err := m.planDelivery(f, repeat, func(from delivery.State) ([]delivery.Plan, error) {
		return a.config.MakePlans(ctx, from, a.snapshot)
	})
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return
	}
	a.lease.prepareFence(m.stateDelivering(f, t))
	var report delivery.Report
	for _, plan := range t.plans {
		a.completePlan(&plan)
		var part delivery.Report
		err = a.callProvider(ctx, "Deliver", func(ctx context.Context) (err error) {
			part, err = a.provider.Deliver(ctx, plan, a.lease.passFence)
			return err
		})
		if addReport(&report, part); err != nil {
			break
		}
	}
	if a.stopCause(ctx, err) {
		return
	}
	f.now = time.Now()
	done := m.recordAnswer(f, t, report, err)
	if f.counts.arrived {
		a.config.Metrics.Delivered(f.class.Name, f.counts.lag)
	}
	a.storeOutcome(ctx, done)
}

// completePlan adds to a plan what is not of the zone.
func (a *attempt) completePlan(plan *delivery.Plan) {
	plan.CallTimeout, plan.Servers = a.config.CallTimeout, a.memory.state.ServerNames()
}

// compareProvider compares provider and zone. It reports whether there is something to repair.
func (a *attempt) compareProvider(ctx context.Context) (repair bool) {
	if err := a.lease.limiter.Wait(ctx); err != nil {
		return false
	}
	var drift delivery.Drift
	err := a.callProvider(ctx, "Verify", func(ctx context.Context) (err error) {
		plan := a.config.PlanZone(a.snapshot)
		plan.Since = plan.Serial
		a.completePlan(&plan)
		drift, err = a.provider.Verify(ctx, plan)
		return err
	})
	if ctx.Err() != nil {
		return false
	}
	f := &a.facts
	f.now = time.Now()
	done, anything := a.memory.recordComparison(f, drift, err)
	if found := f.counts; found.missing+found.differing+found.others > 0 {
		a.config.Metrics.Drifted(f.class.Name, found.missing, found.differing, found.others)
	}
	if anything {
		a.storeOutcome(ctx, done)
	}
	return f.repair
}

// withdrawZone ends a delivery: nothing of the zone stays at the provider.
func (a *attempt) withdrawZone(ctx context.Context) {
	m, f := a.memory, &a.facts
	plan, err := a.config.PlanWithdrawal(ctx, a.key.UID, m.state, a.snapshot, f.left)
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return
	}
	a.completePlan(&plan)
	a.takesAway = true
	a.lease.prepareFence(m.stateWithdrawing(f, plan.Serial), false)
	var report delivery.Report
	err = a.callProvider(ctx, "Withdraw", func(ctx context.Context) (err error) {
		report, err = a.provider.Withdraw(ctx, plan, a.lease.passFence)
		return err
	})
	a.takesAway = false
	if a.stopCause(ctx, err) {
		return
	}
	f.now = time.Now()
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		if e := delivery.AsError(err); !m.isAbsent(f, e) {
			a.storeOutcome(ctx, m.recordFailure(f, m.state.Serial, report, e))
			return
		}
		a.forgetZone(ctx, plan.Zone)
		return
	}
	f.worked = true
	if report.Remains {
		a.observe(delivery.Event{Outcome: delivery.OutcomePending, Serial: plan.Serial, State: m.state, Remains: plan.Zone})
	}
	a.forgetZone(ctx, name.Name{})
}

// forgetZone forgets a delivery of which nothing has to leave the provider any more. absent is the name of a zone that
// the provider has lost.
func (a *attempt) forgetZone(ctx context.Context, absent name.Name) {
	if err := a.lease.deleteState(ctx); err != nil {
		a.storeFailed(ctx, "delete", err)
		return
	}
	done := a.memory.forgetDelivery(&a.facts, absent)
	a.others.setWithdrawn(!a.facts.wanted())
	a.storeOutcome(ctx, done)
}

// inheritState goes on from where a class that is not in force any more has brought the zone at the same place. It is
// false while that one is at work.
func (a *attempt) inheritState(ctx context.Context) bool {
	m, f := a.memory, &a.facts
	for _, class := range f.claims.leaving {
		at := delivery.Key{UID: a.key.UID, Class: class}
		theirs, err := a.lease.readState(ctx, at)
		if err == nil && (theirs.Zone.IsZero() || theirs.Target != f.class.Target) {
			continue
		}
		if a.others.atWork(class) {
			m.awaitClass(f)
			return false
		}
		if err == nil {
			theirs, err = a.lease.readState(ctx, at) // as it is after its last attempt
		}
		if err != nil {
			a.storeFailed(ctx, "load", err)
			return false
		}
		m.inheritState(f, theirs)
		return true
	}
	return true
}

// guardCall turns what goes wrong in a provider into an error, a panic included: content must not stop the other zones
// (attack 60).
func (c *Config) guardCall(class delivery.Class, method string, f func() error) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			c.Logger.Error("A provider crashed", "class", class.Name, "method", method, "panic", fmt.Sprint(crash),
				"stack", string(debug.Stack()))
			err = delivery.Errorf(delivery.ReasonInternalError, "the provider crashed on this zone; the controller's log says where")
		}
		call := Call{Class: class.Name, Provider: class.Kind, Method: method}
		if err != nil && !errors.Is(err, delivery.ErrCannotList) && !errors.Is(err, delivery.ErrNotProven) {
			e := delivery.AsError(err)
			call.Reason, call.Code = e.Reason, e.Code
		}
		c.Metrics.Called(call)
	}()
	return f()
}

// callProvider runs a provider's method. When the loop stops, the call that is on its way gets some time to end, so
// that as little as can be of it arrives later; the fence lets no further one begin.
func (a *attempt) callProvider(ctx context.Context, method string, f func(context.Context) error) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var grace *time.Timer
	var stopping sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		stopping.Lock()
		defer stopping.Unlock()
		grace = time.AfterFunc(a.config.grace(), cancel)
	})
	defer func() {
		stop()
		stopping.Lock()
		defer stopping.Unlock()
		if grace != nil {
			grace.Stop()
		}
	}()
	err := a.lease.runWatched(cancel, func() error {
		return a.config.guardCall(a.facts.class, method, func() error { return f(running) })
	})
	if err != nil && !errors.Is(err, delivery.ErrCannotList) {
		a.config.Logger.Info("A provider call failed", "class", a.key.Class, "uid", a.key.UID, "zone", a.memory.state.Zone,
			"method", method, "err", err, "cause", errors.Unwrap(err), "said", quoteError(err))
	}
	return err
}

// addReport takes in the report of a further plan.
func addReport(r *delivery.Report, part delivery.Report) {
	if part.Servers != nil {
		r.Servers = part.Servers
	}
	r.Confirmed = part.Confirmed
	r.Failed = append(r.Failed, part.Failed...)
	r.Skipped += part.Skipped
	r.Remains = r.Remains || part.Remains
	r.Proven = r.Proven || part.Proven
}

// quoteError is what the provider says of an error, in its own words.
func quoteError(err error) string {
	var e *delivery.Error
	if errors.As(err, &e) && e != nil {
		return e.Said
	}
	return ""
}
