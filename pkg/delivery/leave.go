// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zoneview"
)

// maxFormer bounds the names that a State remembers. A zone that has left as many and is withdrawn from none of them is not delivered under a further one.
const maxFormer = 16

// A provider that has lost a zone for good cannot be asked to withdraw it. It is taken for withdrawn where the provider has said
// nothing but that it has no such zone for absentTime, and to this process absentAttempts times in a row: a server that is
// being set up anew, or loads its zones, has it again before that.
const (
	absentTime     = 24 * time.Hour
	absentAttempts = 10
)

// isAbsent: the provider, which answers so when it is asked to withdraw a zone, is taken not to have it any more.
func (a *attempt) isAbsent(zone name.Name, e *Error) bool {
	i, since := a.item, a.item.state.Error
	if e.Reason != ReasonZoneNotFound {
		i.absent = nil
		return false
	}
	if i.absent == nil {
		i.absent = map[name.Name]int{}
	}
	i.absent[zone]++
	return since != nil && since.same(e) && a.began.Sub(since.Time) >= absentTime && i.absent[zone] >= absentAttempts
}

// withdraw ends a delivery.
func (a *attempt) withdraw(ctx context.Context, snapshot *zoneview.Snapshot) {
	i := a.item
	at := i.state.Serial
	// Without a Zone nothing was ever begun: no provider has to be asked, and none may be there to be. What is another zone's now stays.
	var everywhere []State
	var absent []name.Name
	var missing *Error
	if !i.state.Zone.IsZero() && !a.given(i.state.Zone) {
		everywhere = append(everywhere, i.state)
	}
	for _, former := range i.state.Former {
		if !a.given(former.Zone) {
			everywhere = append(everywhere, former.state())
		}
	}
	if len(everywhere) > 0 && !a.retains() && !a.handedOver() {
		if snapshot == nil {
			// As it was when it was frozen would be better; what is left of it names less.
			snapshot, _ = a.loop.config.Views.Settled(i.key.UID)
		}
		left := map[name.Name][]RRsetKey{}
		if snapshot == nil {
			for _, of := range everywhere {
				if keys := a.loop.left(ctx, i.key.UID, of); keys != nil {
					left[of.Zone] = keys
				}
			}
		}
		if snapshot == nil && len(left) < len(everywhere) && !a.lost() {
			return
		}
		if a.provider == nil {
			a.fail(ctx, at, Report{}, a.spec.broken())
			return
		}
		if i.blocked && i.blockedAt == at {
			return
		}
		for _, of := range everywhere {
			done, report, err := a.takeAway(ctx, snapshot, of, left[of.Zone])
			switch {
			case err != nil && a.isAbsent(of.Zone, err):
				absent = append(absent, of.Zone)
			case err != nil && err.Reason == ReasonZoneNotFound:
				missing = err // The other names are asked all the same: the day of each begins when it is asked first.
			case err != nil:
				a.fail(ctx, at, report, err)
				return
			case !done:
				return
			default:
				delete(i.absent, of.Zone)
			}
		}
		if missing != nil {
			a.fail(ctx, at, Report{}, missing)
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
	i.loaded, i.stored, i.state, i.unsaved = false, State{}, State{}, nil
	i.attempts, i.refused, i.blocked, i.pending, i.polls = 0, 0, false, 0, 0
	i.repeatAt, i.owedAt, i.pollAt, i.driftAt, i.formerAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	i.viewless, i.absent = time.Time{}, nil
	a.setWithdrawn(true)
	a.observe(Event{Outcome: OutcomeWithdrawn, Serial: at, Absent: absent})
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

// takeAway has the provider withdraw what a state says it has. It is not done where the fence failed, or the history
// could not be read: that is dealt with.
func (a *attempt) takeAway(ctx context.Context, snapshot *zoneview.Snapshot, of State, left []RRsetKey) (done bool, report Report, failed *Error) {
	i := a.item
	plan, err := a.loop.withdrawal(ctx, i.key.UID, of, snapshot, left)
	if err != nil {
		a.storeFailed(ctx, "read the history of", err)
		return false, Report{}, nil
	}
	if of.Zone != i.state.Zone && snapshot != nil {
		plan.Serial = snapshot.Serial() // of which it is a consequence
	}
	next := i.state
	intent := Intent{Serial: plan.Serial, From: cmp.Or(i.state.from(), plan.Serial), Holder: a.loop.config.Identity, Unlisted: true}
	if i.state.Intent != nil {
		intent.RRsets, intent.Unlisted = i.state.Intent.RRsets, i.state.Intent.Unlisted
	}
	next.Intent = &intent
	a.takesAway = true
	if of.Zone == i.state.Zone {
		next.Ready = Condition{Unknown, ReasonPending, "the zone is being withdrawn"}
		next.Hash = "" // What was confirmed does not stand any more.
		next.Drifted, next.Drift = Condition{}, nil
	}
	a.fencing = fencing{next: next}
	err = a.call(ctx, "Withdraw", func(ctx context.Context) error {
		var err error
		report, err = a.provider.Withdraw(ctx, plan, a.fence)
		return err
	})
	a.takesAway = false // what this attempt goes on with is a delivery
	if a.stopped(ctx, err) {
		return false, report, nil
	}
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		return false, report, asError(err)
	}
	a.worked = true
	if report.Remains {
		a.observe(Event{Outcome: OutcomePending, Serial: plan.Serial, State: i.state, Remains: of.Zone})
	}
	return true, report, nil
}

// rename makes the name that the provider has the zone under a former one: it goes when the zone is delivered under the
// present one, for until then it is all that resolvers find (S6.8).
func (a *attempt) rename(snapshot *zoneview.Snapshot, now time.Time) {
	i, state := a.item, &a.item.state
	old := Former{Zone: state.Zone, From: state.from(), Unlisted: true}
	if state.Intent != nil {
		old.RRsets, old.Unlisted = state.Intent.RRsets, state.Intent.Unlisted
	}
	state.Former = slices.Clone(state.Former)
	if !a.retains() && !old.Zone.IsZero() {
		state.Former = append(state.Former, old)
	}
	state.Zone, state.Serial, state.Hash, state.Intent = snapshot.FQDN(), 0, "", nil
	state.Drifted, state.Drift = Condition{}, nil
	i.pending, i.polls, i.formerAt = 0, 0, time.Time{}
	state.Former = slices.DeleteFunc(state.Former, func(former Former) bool {
		if former.Zone != state.Zone {
			return false
		}
		// It had this name before, and what it left there is not known to be gone.
		state.Intent = &Intent{Serial: snapshot.Serial(), From: former.From, Time: now, RRsets: former.RRsets, Unlisted: former.Unlisted}
		return true
	})
}

// state is a Former as withdrawal takes it.
func (f Former) state() State {
	return State{Zone: f.Zone, Serial: f.From, Intent: &Intent{Serial: f.From, From: f.From, RRsets: f.RRsets, Unlisted: f.Unlisted}}
}

// leaveFormer withdraws the oldest name that the zone had. What comes of it holds up no change of the zone that is delivered under its present name.
func (a *attempt) leaveFormer(ctx context.Context, snapshot *zoneview.Snapshot, now time.Time) {
	i, former, owed := a.item, a.item.state.Former[0], a.item.state.Intent
	i.formerAt = time.Time{}
	if !a.retains() && !a.given(former.Zone) && former.Zone != i.state.Zone {
		done, _, err := a.takeAway(ctx, snapshot, former.state(), nil)
		if err != nil {
			a.linger(ctx, snapshot, former, owed, err)
			return
		}
		if !done {
			return
		}
	}
	next := i.state
	next.Intent, next.Former = owed, slices.Clone(next.Former[1:])
	i.lingers, i.lingered = nil, 0
	if len(next.Former) > 0 || i.state.Zone != snapshot.FQDN() {
		a.again()
	}
	if owed != nil || i.state.Zone != snapshot.FQDN() {
		// What is owed, or the name under which nothing is delivered yet, is what the state and its Error speak of.
		if err := a.save(ctx, next); err != nil {
			a.storeFailed(ctx, "save", err)
		}
		return
	}
	event := Event{Outcome: OutcomeDelivered, Serial: snapshot.Serial(), Recovered: next.Error != nil}
	next.Error, next.Ready = nil, delivered
	a.store(ctx, next, event)
}

// linger says that a former name stays for the time being.
func (a *attempt) linger(ctx context.Context, snapshot *zoneview.Snapshot, former Former, owed *Intent, e *Error) {
	i, b, now := a.item, a.loop.config.Backoff, time.Now()
	switch {
	case e.RetryAfter > 0:
		i.formerAt = now.Add(e.RetryAfter)
	case e.Permanent || e.Reason == ReasonQuotaExceeded:
		i.formerAt = now.Add(jitter(b.Slow))
	default:
		i.formerAt = now.Add(b.delay(i.lingered))
	}
	i.lingered++
	if e.WholeClass {
		a.pause = e
	}
	next := i.state
	first := next.Error == nil
	next.Intent = owed
	message := fmt.Sprintf("the zone is delivered, and its former name %s is not withdrawn: %s", former.Zone, e.Message)
	if i.state.Zone != snapshot.FQDN() {
		message = fmt.Sprintf("the zone has %d former names that it is not withdrawn from, and is delivered under %s when it is withdrawn from the first of them, %s: %s", len(i.state.Former), snapshot.FQDN(), former.Zone, e.Message)
	}
	i.lingers = &StateError{e.Reason, e.Code, message, now}
	if owed == nil {
		next.Error, next.Ready = i.lingers, Condition{False, e.Reason, i.lingers.Message}
	}
	a.store(ctx, next, Event{Outcome: OutcomeFailed, Serial: snapshot.Serial(), First: first})
}

// replaced: every class in force has the zone. Until then those that were in force before keep it, or the name would be
// gone in between; but what is not to have it any more goes, lest a tenant keep it there by naming a class that never works.
func (a *attempt) replaced() bool {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(a.item.zone.Expelled, a.item.key.Class) {
		return true
	}
	for _, name := range a.item.zone.Classes {
		if other := a.item.zone.items[name]; other == nil || !other.delivered {
			return false
		}
	}
	return true
}

// handedOver: another class in force has the zone at the same place, where to withdraw it would take that one's data.
func (a *attempt) handedOver() bool {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	zone, target := a.item.zone, a.item.state.Target
	return target != "" && !zone.Withdraw && slices.ContainsFunc(zone.Classes, func(name string) bool {
		c, other := l.classes[name], zone.items[name]
		return c != nil && c.known && c.spec.Target == target && other != nil && other.delivered
	})
}

// inherit goes on from where a class that is not in force any more has brought the zone at the same place. It is false
// while that one is at work.
func (a *attempt) inherit(ctx context.Context, now time.Time) bool {
	i := a.item
	if a.spec.Target == "" {
		return true
	}
	for _, name := range a.leaving() {
		theirs, err := a.peek(ctx, name)
		if err == nil && (theirs.Zone.IsZero() || theirs.Target != a.spec.Target) {
			continue
		}
		if a.atWork(name) {
			i.retryAt = now.Add(jitter(time.Second))
			return false
		}
		if err == nil {
			theirs, err = a.peek(ctx, name) // as it is after its last attempt
		}
		if err != nil {
			a.storeFailed(ctx, "load", err)
			return false
		}
		// What it had begun and did not write down is what the zone changed since.
		intent := Intent{Serial: theirs.Serial, From: theirs.Serial, Time: now, Unlisted: true}
		if theirs.Intent != nil {
			if intent = *theirs.Intent; intent.Holder != "" {
				intent.Holder, i.repeatAt = "", now.Add(a.loop.config.repeatAfter())
			}
		}
		state := &i.state
		state.Zone, state.Target, state.Serial, state.Hash, state.Former, state.Intent = theirs.Zone, theirs.Target, theirs.Serial, theirs.Hash, slices.Concat(state.Former, theirs.Former), &intent
		return true
	}
	return true
}

// peek is the state of another class of the zone.
func (a *attempt) peek(ctx context.Context, class string) (State, error) {
	storing, cancel := a.storing(ctx)
	defer cancel()
	return a.loop.config.Store.Load(storing, Key{a.item.key.UID, class})
}

// leaving are the classes that the zone is to be withdrawn from.
func (a *attempt) leaving() []string {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, other := range a.item.zone.items {
		if !slices.Contains(a.item.zone.Classes, name) && !other.withdrawn {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (a *attempt) atWork(class string) bool {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	other := a.item.zone.items[class]
	return other != nil && other.running
}
