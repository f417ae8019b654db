// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

// requestInterval is the time between two requests of a zone that are taken up: every user with the right to write the
// Zone may ask.
const requestInterval = 10 * time.Second

// soonCompared is the time within which all zones of a class are compared whose servers are others than before.
const soonCompared = 10 * time.Second

// viewWait is the time for which the view of a zone that is to be withdrawn is waited for.
const viewWait = 5 * time.Minute

// beginAttempt takes in what an attempt is told. A zone that failed is tried at once where the class or the
// zone changed since, or where its condition for a retry has come about.
func (m *memory) beginAttempt(f *facts) {
	if f.revision != m.revision {
		m.revision = f.revision
		m.failures, m.refused.times, m.blocked, m.cannotList = 0, 0, false, false
		m.due.clear(dueRetry, dueOwed, duePoll)
	}
	if wanted := f.wanted(); wanted == m.leaving {
		m.leaving = !wanted
		m.failures, m.blocked = 0, false
		m.due.clear(dueRetry, dueView)
	}
	m.viewed = m.viewed || f.view != nil
	woken := f.woken
	if request := f.zone.Request; request != "" && request != m.request {
		if !m.due.waits(dueRequest, f.began) {
			m.request, m.cannotList, woken = request, false, true
			m.due[dueRequest] = f.began.Add(requestInterval)
		} else if m.due[dueRetry].After(m.due[dueRequest]) {
			m.due[dueRetry] = m.due[dueRequest]
		}
	}
	if woken {
		m.blocked = false
		m.due.clear(dueRetry, dueOwed)
	}
	if !m.due.waits(dueRetry, f.began) {
		m.due.clear(dueRetry)
	}
}

// next decides what is done next for a delivery. It asks nothing and changes nothing: m is a copy, and the one that
// it returns is what is remembered from then on. After an action that only finds something out, or makes room, it is
// asked again. It answers in this order:
//
//	what failed waits until it is due;
//	what is withdrawn, or paused, waits for a change;
//	the state is loaded, and another worker's intent is taken over;
//	a zone that is to go is withdrawn, when those that take its place are there;
//	the zone's name is claimed;
//	what changed is delivered, what was refused is tried again, the provider is compared.
func next(m memory, f *facts) (memory, action) {
	act := m.nextAction(f)
	return m, act
}

func (m *memory) nextAction(f *facts) action {
	wanted := f.wanted()
	switch {
	case m.due.waits(dueRetry, f.began):
		return action{do: doWait, until: m.due[dueRetry], why: m.waitReason("it failed")}
	case !wanted && f.withdrawn:
		return action{do: doWait, settled: true, why: "the zone is withdrawn from the class"}
	case wanted && f.zone.Paused:
		return action{do: doWait, why: "the zone is paused"}
	case !m.loaded:
		return action{do: doLoad, why: "the stored state is not known"}
	}
	if act, mine := m.nextForeign(f); !mine {
		return act
	}
	if !wanted {
		return m.nextWithdrawal(f)
	}
	if f.view == nil {
		return action{do: doWait, why: "the zone has no settled content here yet"}
	}
	if had := m.state.Zone; !had.IsZero() && had != f.view.fqdn {
		return m.nextRemoval(f, "the provider has the zone under a name that it has no more")
	}
	if m.state.Zone.IsZero() && f.class.Target != "" && len(f.claims.leaving) > 0 && !f.inherited {
		return action{do: doInherit, why: "another class that the zone leaves may have it at the same place"}
	}
	fqdn, at := f.view.fqdn, f.view.serial
	if m.state.Serial != 0 && m.state.Serial.Ahead(at) || m.state.Intent != nil && m.state.Intent.Serial.Ahead(at) {
		return action{do: doWait, notable: true, why: fmt.Sprintf("the view has serial %d and is behind what was delivered", at)}
	}
	if f.class.Provider == nil {
		return action{do: doFail, err: f.class.Broken(), why: "the class has no provider"}
	}
	if !f.claimed {
		return action{do: doClaim, why: "one zone of the class has a name"}
	}
	if f.taken {
		m.state.Hash = "" // Another zone writes there, and takes away what both have when it goes.
		return action{do: doFail, err: nameTaken(fqdn), why: "another zone has the name"}
	}
	return m.nextDelivery(f)
}

// waitReason is why a delivery that failed waits.
func (m *memory) waitReason(otherwise string) string {
	if m.state.Error == nil {
		return otherwise
	}
	return m.state.Error.Message
}

// nextWithdrawal ends a delivery.
func (m *memory) nextWithdrawal(f *facts) action {
	if !f.zone.Withdraw && !f.retains() && !f.claims.replaced && !f.claims.awaited {
		return action{do: doWait, why: "the zone is withdrawn when the classes in force have it"}
	}
	return m.nextRemoval(f, "the class is not to have the zone")
}

// nextRemoval has what the provider has of the zone withdrawn, and the state with it.
func (m *memory) nextRemoval(f *facts, why string) action {
	// Without a name nothing was ever begun: no provider has to be asked, and none may be there to be. A name
	// that is another zone's now stays.
	if m.state.Zone.IsZero() || f.claims.given || f.retains() || f.claims.handedOver {
		return action{do: doForget, why: "nothing of the zone has to leave the provider"}
	}
	if f.view == nil {
		if m.viewed {
			// The view goes before the event that says what it had (Loop.Run): this attempt began between the two.
			if m.awaitsView(f) {
				return action{do: doWait, until: m.due[dueView], why: "the view of the zone has just gone, " +
					"and what it had has not been told yet"}
			}
			m.viewed = false
		}
		if !f.lookedUp {
			return action{do: doLookUp, why: "the zone has no view"}
		}
		// A view may be late after a restart, and without it a provider that cannot list does not learn what to remove.
		if f.left == nil && m.awaitsView(f) {
			return action{do: doWait, until: m.due[dueView], why: "the view of the zone says what to withdraw, and has not come yet"}
		}
	}
	if f.class.Provider == nil {
		return action{do: doFail, err: f.class.Broken(), why: "the class has no provider"}
	}
	if m.blocked && m.blockedAt == m.state.Serial {
		return action{do: doWait, why: m.waitReason("the provider refuses for good")}
	}
	return action{do: doWithdraw, why: why}
}

// awaitsView reports whether the view of a zone that is to be withdrawn is waited for, from the first call on.
func (m *memory) awaitsView(f *facts) bool {
	if !m.due.isSet(dueView) {
		m.due[dueView] = f.began.Add(viewWait)
	}
	return m.due.waits(dueView, f.began)
}

// nextDelivery is what is left to do for the zone to be at its serial.
func (m *memory) nextDelivery(f *facts) action {
	state, at, now := &m.state, f.view.serial, f.began
	if f.repair {
		return action{do: doDeliver, why: "the provider does not hold what it did"}
	}
	if state.Target != f.class.Target || state.Hash == "" || state.Serial == at && state.Hash != f.view.hash() {
		state.Serial, state.Hash = 0, ""
		state.Drifted, state.Drift = delivery.Condition{}, nil
	}
	m.scheduleComparison(f)
	if m.blocked && m.blockedAt != at {
		m.blocked = false
	}
	fresh, repeats := state.Serial == at, m.due.isSet(dueRepeat)
	switch {
	case repeats && !m.due.waits(dueRepeat, now):
		return action{do: doDeliver, repeat: true, why: "a call of the worker before this one may have arrived late"}
	case m.blocked && !fresh:
		return action{do: doWait, why: m.waitReason("the provider refuses for good")}
	case !fresh && m.pending == at && m.due.waits(duePoll, now):
		return action{do: doWait, until: m.due[duePoll], why: onTheirWay}
	case !fresh && m.pending == at:
		return action{do: doDeliver, why: onTheirWay}
	case !fresh && state.Serial == 0:
		return action{do: doDeliver, why: "no serial is confirmed there"}
	case !fresh:
		return action{do: doDeliver, why: fmt.Sprintf("the zone changed since serial %d", state.Serial)}
	case m.knowsAside() && len(m.refused.turn) > 0:
		return action{do: doDeliver, why: "more RRsets that were refused have their turn"}
	case state.Error != nil && state.Intent == nil && !m.blocked:
		return action{do: doDeliver, why: "it failed with nothing left to do, for want of a provider or a name, " +
			"and the provider alone can say that it works now"}
	case state.Intent != nil && !m.blocked && !m.due.waits(dueOwed, now) && (!repeats || state.Intent.Holder != f.config.Identity):
		return action{do: doDeliver, why: "RRsets are owed that were refused, or may stand half written"}
	case m.due.isSet(dueCompare) && !m.due.waits(dueCompare, now) && !repeats:
		return action{do: doVerify, settled: true, why: "a comparison is due"}
	}
	return action{do: doWait, settled: true, until: m.wake(now), why: m.waitReason(delivered.Message)}
}

// takeServers reports whether the class has other servers than the delivery has rows: those that came have nothing of
// the zone, and those that went may have it still. It says so once for each set of servers, since a server that went
// keeps its row until it has confirmed that, which is a matter of retries.
func (m *memory) takeServers(f *facts) bool {
	if f.class.Servers == nil || m.servers != nil && slices.Equal(f.class.Servers, m.servers) {
		return false
	}
	m.servers, m.cannotList = f.class.Servers, false
	return !slices.Equal(slices.Sorted(slices.Values(m.state.ServerNames())), m.servers)
}

// scheduleComparison sets when provider and zone are compared next. Comparisons that are overdue after a
// restart come within ten minutes, and not all at once.
func (m *memory) scheduleComparison(f *facts) {
	now, interval := f.began, f.class.DriftInterval
	others := m.takeServers(f)
	if m.cannotList || m.state.Serial == 0 {
		m.due.clear(dueCompare)
		return
	}
	if !m.due.isSet(dueCompare) {
		last := m.state.DriftCheckTime
		if last.IsZero() {
			last = m.state.SyncTime
		}
		if m.due[dueCompare] = last.Add(f.jitter(interval)); !m.due.waits(dueCompare, now) {
			m.due[dueCompare] = now.Add(time.Duration(f.random(int64(min(interval, 10*time.Minute)))))
		}
	}
	if m.due[dueCompare].After(now.Add(interval)) {
		m.due[dueCompare] = now.Add(f.jitter(interval))
	}
	if soon := now.Add(time.Duration(f.random(int64(min(interval, soonCompared))))); others && m.due[dueCompare].After(soon) {
		m.due[dueCompare] = soon
	}
	if m.requested(f) && m.due.waits(dueCompare, now) {
		if m.due[dueCompare] = now; m.request != f.zone.Request {
			m.due[dueCompare] = m.due[dueRequest]
		}
	}
}
