// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

var (
	errSuperseded = errors.New("class or zone changed; what is written would be out of date")
	errStopping   = errors.New("the loop is stopping")
)

type attempt struct {
	key      delivery.Key
	config   *Config
	siblings siblings
	memory   *decision.Memory
	provider delivery.Provider
	// snapshot is the content to deliver or remove; nil if unknown.
	snapshot, lastContent *zoneview.Snapshot
	facts                 decision.Facts
	lease                 lease.Lease
	// removing is true during a removal, which a pause does not stop.
	removing bool
}

// runAttempt performs actions until the delivery waits, is done or has failed. The caller holds no lock: the attempt
// alone uses memory and facts until workOnce takes them back under Loop.mu.
func (a *attempt) runAttempt(ctx context.Context) {
	now := time.Now()
	a.facts.Began, a.facts.Now = now, now
	a.findSnapshot()

	a.memory.BeginAttempt(&a.facts)
	// The Loop stopped while the job waited for its goroutine.
	if ctx.Err() != nil {
		return
	}

	a.facts.Claims = a.siblings.readClaims()
	for {
		var act decision.Action
		*a.memory, act = decision.Next(*a.memory, &a.facts)
		a.facts.Settled = a.facts.Settled || act.Settled
		if act.Do == decision.DoWait {
			a.logWait(act)
			return
		}
		if !a.performAction(ctx, act) {
			break
		}
		a.facts.Now = time.Now()
	}

	// Log the next wait, unless another attempt follows at once.
	if m := a.memory; m.Loaded && !a.facts.Again {
		a.logWait(decision.Action{Until: m.NextWake(now), Why: m.WaitReason(m.State.Ready.Message)})
	}
}

// findSnapshot sets a.snapshot and the View of the facts: the content to deliver, or for a removal the last known
// content. Both stay nil if this process has no content of the zone.
func (a *attempt) findSnapshot() {
	a.snapshot = a.config.FindDeliverable(a.facts.Zone)
	if a.snapshot == nil && !a.facts.ShouldDeliver() {
		// The frozen content would be better: the remaining content names fewer RRsets.
		if a.snapshot = a.lastContent; a.snapshot == nil {
			a.snapshot, _ = a.config.Views.Settled(a.key.UID)
		}
	}
	if s := a.snapshot; s != nil {
		a.facts.View = &decision.View{FQDN: s.FQDN(), Serial: s.Serial(), Hash: s.Hash}
	}
}

// logWait logs the reason of a wait, but not the same reason twice: a zone may wait for days, and is attempted many
// times.
func (a *attempt) logWait(act decision.Action) {
	if act.Why == a.memory.LoggedReason {
		return
	}
	a.memory.LoggedReason = act.Why
	level := slog.LevelDebug
	if act.Notable {
		level = slog.LevelInfo
	}
	a.config.Logger.Log(context.Background(), level, "A delivery waits", "uid", a.key.UID, "class", a.key.Class, "why", act.Why, "until",
		act.Until)
}

// performAction performs one action of decision.Next, and records the result in a.facts and a.memory. more is true if
// the attempt goes on with a further action.
func (a *attempt) performAction(ctx context.Context, act decision.Action) (more bool) {
	m, f := a.memory, &a.facts
	switch act.Do {
	case decision.DoLoad:
		// The zone is back before its state is read, so from now on the item counts as having data.
		if f.ShouldDeliver() {
			a.siblings.setRemoved(false)

		}
		state, err := a.lease.ReadState(ctx, a.key)
		if err != nil {
			a.handleStoreError(ctx, "load", err)
			return false
		}

		if !m.LoadedOnce {
			a.datePastChange(ctx, state)
		}
		m.LoadState(state, a.config.Identity)
		// The state names the zone at the provider, so the right to that name is known only now.
		f.Claims = a.siblings.readClaims()
		return true
	case decision.DoTakeOver:
		touched, once := a.config.FindChangedRRsets(ctx, m.State, a.snapshot)
		if begun := m.TakeOver(f, touched, once, act.Quiet); begun != nil {
			a.config.Logger.Info("Taking a delivery over from another "+
				"worker", "zone", m.State.Zone, "class", a.key.Class, "serial", begun.Serial,
				"holder", begun.Holder)
		}
		return true
	case decision.DoLookUp:
		f.LookedUp, f.EndedRRsets = true, a.config.ReadEndedRRsets(ctx, a.key.UID, m.State)
		return true
	case decision.DoInherit:
		f.Inherited = true
		more = a.inheritState(ctx)
		// The inherited state brings a name with it.
		f.Claims = a.siblings.readClaims()
		return more
	case decision.DoClaim:
		f.NameClaimed, f.NameTaken = true, !a.siblings.claimName(f.View.FQDN)
		return true
	case decision.DoVerify:
		return a.compareProvider(ctx)
	case decision.DoDeliver:
		a.deliverPlans(ctx, act.Repeat)
	case decision.DoRemove:
		a.removeZone(ctx)
	case decision.DoForget:
		a.forgetZone(ctx, name.Name{})
	case decision.DoFail:
		a.storeOutcome(ctx, m.RecordFailure(f, f.TargetSerial(m), delivery.Report{}, act.Err))
	}
	return false
}

// dateTimeout bounds the request for a time that only a metric shows.
const dateTimeout = 5 * time.Second

// datePastChange sets the time of a change from before the start of this process. So far, the Loop counted from its
// first sight of the zone: a restart after an hour's pause of the class would look like a quick delivery.
func (a *attempt) datePastChange(ctx context.Context, stored delivery.State) {
	if stored.Serial == 0 || a.snapshot == nil || !a.snapshot.Serial().Ahead(stored.Serial) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dateTimeout)
	defer cancel()
	at := a.config.FindChangedAt(ctx, a.key.UID, stored.Serial, a.snapshot.Serial())
	if !at.IsZero() && at.Before(a.facts.ChangedAt) {
		a.facts.ChangedAt = at
	}
}

// storeOutcome writes nothing after a retry with the same failure.
func (a *attempt) storeOutcome(ctx context.Context, done decision.Result) {
	m := a.memory
	switch {
	case done.SkipAll:
		return
	// The state is deleted or about to be written by a repair: only report the event.
	case done.SkipStore:
	// A retry failed as before, or a comparison found nothing new: etcd gets no write.
	case done.State.Alike(m.Stored):
		if done.OnlyIfChanged {
			return
		}
		done.State.Version = m.Stored.Version
		m.State, done.Event.State = done.State, done.State
	default:
		if err := a.lease.SaveState(ctx, done.State); err != nil {
			a.handleStoreError(ctx, "save", err) // repeating the calls would change nothing
			return
		}
		done.Event.State = m.State
	}
	a.observe(done.Event)
}

func (a *attempt) observe(event delivery.Event) {
	event.Key, event.Generation = a.key, a.facts.Class.Generation
	a.config.Observer.Observe(event)
}

// handleStoreError schedules a retry without an event, because the provider is not at fault.
func (a *attempt) handleStoreError(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	fenced := errors.Is(err, delivery.ErrFenced)
	a.facts.Now = time.Now()
	if a.memory.RetryStore(&a.facts, fenced); fenced {
		a.config.Metrics.CountFenced(a.key.Class)
		return
	}
	a.config.Logger.Warn("The delivery could not be stored or read", "what", what, "uid", a.key.UID, "class", a.key.Class, "err", err)
}

// checkStopped reports whether the attempt ends without a result of the provider, because the fence failed or the Loop
// stops. returned is the provider's error. If a call was made, the intent stays, so that the next attempt repeats it.
func (a *attempt) checkStopped(ctx context.Context, returned error) bool {
	err, began := a.lease.FenceError()
	switch {
	// The fence never failed, and the provider gave an answer of its own.
	case err == nil && (returned == nil || ctx.Err() == nil):
		return false
	// The Loop stops, or a user changed the zone or class meanwhile. No call is in flight, so free the intent.
	case errors.Is(err, errStopping), errors.Is(err, errSuperseded), ctx.Err() != nil:
		if began {
			a.freeIntent(ctx)
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false // ended while waiting for the rate limit
	// Another worker has the delivery (ErrFenced), or the store failed.
	default:
		a.handleStoreError(ctx, "check", err)
	}
	return true
}

// freeIntent stores that any worker may continue, unless a repeat is due. On an error, another worker takes the intent
// over.
func (a *attempt) freeIntent(ctx context.Context) {
	if next, mayStore := a.memory.StateAfterStop(&a.facts); mayStore {
		_ = a.lease.SaveState(ctx, next)
	}
}

// deliverPlans writes the zone to the provider, and stores and reports the outcome. With repeat, it writes a taken-over
// intent once more.
func (a *attempt) deliverPlans(ctx context.Context, repeat bool) {
	m, f := a.memory, &a.facts
	// 1. Plan the RRsets to write since the last confirmed serial.
	planned, err := m.PlanDelivery(f, repeat, func(from delivery.State) ([]delivery.Plan, error) {
		return a.config.MakePlans(ctx, from, a.snapshot)
	})
	if err != nil {
		a.handleStoreError(ctx, "read the history of", err)
		return
	}

	// 2. Call the provider. Its first write passes the fence, which stores the intent.
	a.lease.PrepareFence(m.StateDuringDelivery(f, planned))
	confirmed := m.State.Serial
	causes := a.findCauses(confirmed)
	ctx, span := a.startSpan(ctx, "Deliver", causes)
	defer span.End()

	var report delivery.Report
	for _, plan := range planned.Plans {
		a.completePlan(&plan)
		var part delivery.Report
		err = a.callProvider(ctx, "Deliver", func(ctx context.Context) (err error) {
			part, err = a.provider.Deliver(ctx, plan, a.lease.PassFence)
			return err
		})
		// The second plan removes RRsets, and must not run before the first has written the zone.
		if addReport(&report, part); err != nil {
			break
		}
	}

	// 3. Decide about the answer, unless the attempt was stopped.
	if a.checkStopped(ctx, err) {
		return
	}

	f.Now = time.Now()
	done := m.RecordAnswer(f, planned, report, err)
	confirms := done.Event.Outcome == delivery.OutcomeDelivered && done.Event.Serial != confirmed
	if confirms {
		lag := time.Duration(0)
		if !f.ChangedAt.IsZero() {
			lag = f.Now.Sub(f.ChangedAt)
		}
		a.config.Metrics.CountDelivery(a.key.Class, lag)
	}

	// 4. Store the outcome, then report it.
	a.storeOutcome(ctx, done)
	a.endDelivery(span, causes, done.Event, confirms)
}

func (a *attempt) completePlan(plan *delivery.Plan) {
	plan.CallTimeout, plan.Servers, plan.Confirmed = a.config.CallTimeout, a.memory.State.Servers, a.memory.State.SyncTime
}

// compareProvider compares the provider's data with the zone, and stores the outcome. repair is true if the attempt
// goes on with a delivery of the differences. A comparison passes no fence, so the wait for the rate limit is here.
func (a *attempt) compareProvider(ctx context.Context) (repair bool) {

	if err := a.lease.Limiter.Wait(ctx); err != nil {
		return false
	}

	var drift delivery.Drift
	err := a.callProvider(ctx, "Verify", func(ctx context.Context) (err error) {
		plan := a.config.PlanZone(a.snapshot)
		plan.Since, plan.Requested = plan.Serial, a.memory.HasNewRequest(&a.facts)
		a.completePlan(&plan)
		drift, err = a.provider.Verify(ctx, plan)
		return err
	})

	// The Loop stops: an answer cut off in the middle could look like drift.
	if ctx.Err() != nil {
		return false
	}

	f := &a.facts
	f.Now = time.Now()
	done := a.memory.RecordComparison(f, drift, err)
	if f.Missing+f.Differing+f.Foreign > 0 {
		a.config.Metrics.CountDrift(a.key.Class, f.Missing, f.Differing, f.Foreign)
	}
	a.storeOutcome(ctx, done)
	return f.Repair
}

// removeZone removes the zone's RRsets from the provider, and then the state. If the provider refuses an RRset, the
// removal fails as a whole and is retried.
func (a *attempt) removeZone(ctx context.Context) {
	m, f := a.memory, &a.facts
	// 1. Find the RRsets to remove.
	plan, err := a.config.PlanRemoval(ctx, a.key.UID, m.State, a.snapshot, f.EndedRRsets)
	if err != nil {
		a.handleStoreError(ctx, "read the history of", err)
		return
	}

	// 2. Remove them. A pause does not stop a begun removal.
	a.completePlan(&plan)
	a.removing = true
	a.lease.PrepareFence(m.StateDuringRemoval(f, plan.Serial), false)

	var report delivery.Report
	err = a.callProvider(ctx, "Withdraw", func(ctx context.Context) (err error) {
		report, err = a.provider.Remove(ctx, plan, a.lease.PassFence)
		return err
	})
	a.removing = false

	if a.checkStopped(ctx, err) {
		return
	}

	// 3. Forget the zone if all is gone, or if the provider has lacked the zone for a day.
	f.Now = time.Now()
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		if e := delivery.AsError(err); !m.CountAbsence(f, e) {
			a.storeOutcome(ctx, m.RecordFailure(f, m.State.Serial, report, e))
			return
		}
		a.forgetZone(ctx, plan.Zone)
		return
	}

	f.Worked = true
	// The journal was trimmed, so an old RRset may still be there: an Event of the Delivery tells the owner.
	if report.Remains {
		a.observe(delivery.Event{Outcome: delivery.OutcomePending, Serial: plan.Serial, State: m.State, LeftoverZone: plan.Zone})
	}
	a.forgetZone(ctx, name.Name{})
}

// forgetZone deletes the stored state, which frees the Zone object for deletion. absent is set if the provider lacked
// the zone, to report that.
func (a *attempt) forgetZone(ctx context.Context, absent name.Name) {
	if err := a.lease.DeleteState(ctx); err != nil {
		a.handleStoreError(ctx, "delete", err)
		return
	}
	done := a.memory.ForgetDelivery(&a.facts, absent)
	a.siblings.setRemoved(!a.facts.ShouldDeliver())
	a.storeOutcome(ctx, done)
}

// inheritState looks for a former class of the zone with the same target, and continues its state. False ends the
// attempt: the other class is at work, or the store failed.
func (a *attempt) inheritState(ctx context.Context) bool {
	m, f := a.memory, &a.facts

	for _, class := range f.Claims.LeavingClasses {
		other := delivery.Key{UID: a.key.UID, Class: class}
		inherited, err := a.lease.ReadState(ctx, other)
		// That class has written nothing, or has another server.
		if err == nil && (inherited.Zone.IsZero() || inherited.Target != f.Class.Target) {
			continue
		}

		// The other class may be writing: look again a second later.
		if a.siblings.isAtWork(class) {
			m.RetrySoon(f)
			return false
		}
		// Read again: the other class may have stored its last result between the read and isAtWork.
		if err == nil {
			inherited, err = a.lease.ReadState(ctx, other)
		}
		if err != nil {
			a.handleStoreError(ctx, "load", err)
			return false
		}
		m.InheritState(f, inherited)
		return true
	}
	return true
}

// guardCall turns a panic into an error, because a zone's content must not stop other zones.
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
		c.Metrics.CountCall(call)
	}()
	return f()
}

// callProvider lets f run for the grace period after the Loop stops, so that fewer calls arrive late.
func (a *attempt) callProvider(ctx context.Context, method string, f func(context.Context) error) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(a.config.grace()):
			cancel()
		case <-running.Done():
		}
	})
	defer stop()
	// A provider that neither passes a fence nor returns for five minutes is cut off by the watchdog.
	err := a.lease.RunWithWatchdog(cancel, func() error {
		return a.config.guardCall(a.facts.Class, method, func() error { return f(running) })
	})
	if err != nil && !errors.Is(err, delivery.ErrCannotList) {
		a.config.Logger.Info("A provider call failed", "class", a.key.Class, "uid", a.key.UID, "zone", a.memory.State.Zone,
			"method", method, "err", err, "cause", errors.Unwrap(err), "said", delivery.AsError(err).Detail)
	}
	return err
}

// addReport adds the report of one plan to r. The last plan decides Confirmed.
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
