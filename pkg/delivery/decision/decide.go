// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

// requestInterval limits Zone.Requests, since any writer of the Zone can send them.
const requestInterval = 10 * time.Second

const compareWithin = 10 * time.Second // after a change of the class's servers

const viewWait = 5 * time.Minute // bounds a removal's wait for its zone's view

// BeginAttempt updates m from the facts before an attempt to deliver. Afterwards, m.Leaving is true if the class must
// give up the zone.
func (m *Memory) BeginAttempt(f *Facts) {
	// The class changed.
	if f.Revision != m.revision {
		m.revision = f.Revision
		m.failures, m.refusals.rounds = 0, 0
		m.blocked, m.cannotList = false, false
		m.due.clear(dueRetry, dueRefused, duePoll)
	}

	// The zone joined or left.
	if leaving := !f.ShouldDeliver(); leaving != m.Leaving {
		m.Leaving = leaving
		m.failures, m.blocked = 0, false
		m.due.clear(dueRetry, dueView)
	}

	if f.View != nil {
		m.viewed = true
	}

	// Accept one request per requestInterval. Another only moves a retry to the end of the interval.
	woken := f.Woken
	isNewRequest := f.Zone.Request != "" && f.Zone.Request != m.request
	tooEarly := m.due.isFuture(dueRequest, f.Began)
	if isNewRequest && !tooEarly {
		m.request, m.cannotList, woken = f.Zone.Request, false, true
		m.due[dueRequest] = f.Began.Add(requestInterval)
	}
	if isNewRequest && tooEarly && m.due[dueRetry].After(m.due[dueRequest]) {
		m.due[dueRetry] = m.due[dueRequest]
	}

	// A wake-up ends the waits after failures.
	if woken {
		m.blocked = false
		m.due.clear(dueRetry, dueRefused)
	}

	// This attempt is the due retry.
	if !m.due.isFuture(dueRetry, f.Began) {
		m.due.clear(dueRetry)
	}
}

func Next(m Memory, f *Facts) (Memory, Action) {
	act := m.nextAction(f)
	return m, act
}

func (m *Memory) nextAction(f *Facts) Action {
	// 1. Nothing to decide.
	wanted := f.ShouldDeliver()
	switch {
	case m.due.isFuture(dueRetry, f.Began):
		return Action{Do: DoWait, Until: m.due[dueRetry], Why: m.WaitReason("it failed")}
	case !wanted && f.Removed:
		return Action{Do: DoWait, Settled: true, Why: "the zone is withdrawn from the class"}
	case wanted && f.Zone.Paused:
		return Action{Do: DoWait, Why: "the zone is paused"}
	case !m.Loaded:
		return Action{Do: DoLoad, Why: "the stored state is not loaded yet"}
	}

	// 2. Take over another worker's intent.
	if act, mine := m.nextForeign(f); !mine {
		return act
	}
	// 3. Remove a zone that is deleted, left the class, or has a former name.
	if !wanted {
		return m.endDelivery(f)
	}

	if f.View == nil {
		return Action{Do: DoWait, Why: "the zone has no settled content here yet"}
	}

	if had := m.State.Zone; !had.IsZero() && had != f.View.FQDN {
		return m.nextRemoval(f, "the provider has the zone under its former name")
	}

	// 4. Continue the state of a former class with the same target.
	if m.State.Zone.IsZero() && f.Class.Target != "" && len(f.Claims.LeavingClasses) > 0 && !f.Inherited {
		return Action{Do: DoInherit, Why: "another class that the zone leaves may have it at the same place"}
	}

	// 5. Write only with a provider and the right to the name, and no earlier serial.
	fqdn, at := f.View.FQDN, f.View.Serial
	if m.State.Serial != 0 && m.State.Serial.Ahead(at) || m.State.Intent != nil && m.State.Intent.Serial.Ahead(at) {
		return Action{Do: DoWait, Notable: true, Why: fmt.Sprintf("the view has serial %d and is behind the delivered serial", at)}
	}

	if f.Class.Provider == nil {
		return Action{Do: DoFail, Err: f.Class.Err, Why: "the class has no provider"}
	}

	if !f.NameClaimed {
		return Action{Do: DoClaim, Why: "a class delivers one zone of a name"}
	}
	if f.NameTaken {
		m.State.Hash = "" // the removal of the other zone will remove RRsets of both
		return Action{Do: DoFail, Err: newNameConflict(fqdn), Why: "another zone has the name"}
	}
	return m.nextDelivery(f)
}

func (m *Memory) WaitReason(otherwise string) string {
	if m.State.Error == nil {
		return otherwise
	}
	return m.State.Error.Message
}

func (m *Memory) endDelivery(f *Facts) Action {
	if !f.Zone.Remove && !f.retains() && !f.Claims.Replaced && !f.Claims.AwaitedByOther {
		return Action{Do: DoWait, Why: "the zone is withdrawn when the classes in force have it"}
	}
	return m.nextRemoval(f, "the class must not have the zone")
}

func (m *Memory) nextRemoval(f *Facts, why string) Action {
	// Without State.Zone no call was made. RRsets under the name of another zone must stay.
	if m.State.Zone.IsZero() || f.Claims.HeldByOther || f.retains() || f.Claims.HandedOver {
		return Action{Do: DoForget, Why: "there is nothing to withdraw from the provider"}
	}

	if f.View == nil {
		if m.viewed {
			if m.awaitsView(f) {
				return Action{Do: DoWait, Until: m.due[dueView], Why: "the view of the zone has just been removed, and its last content " +
					"has not been reported yet"}
			}
			m.viewed = false
		}
		if !f.LookedUp {
			return Action{Do: DoLookUp, Why: "the zone has no view"}
		}
		// After a restart the view may load late. A provider without Lists needs the view to find the RRsets to remove.
		if f.EndedRRsets == nil && m.awaitsView(f) {
			return Action{Do: DoWait, Until: m.due[dueView], Why: "the view of the zone, which has the data to withdraw, is not loaded yet"}
		}
	}

	if f.Class.Provider == nil {
		return Action{Do: DoFail, Err: f.Class.Err, Why: "the class has no provider"}
	}

	if m.blocked && m.blockedAt == m.State.Serial {
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	}
	return Action{Do: DoRemove, Why: why}
}

func (m *Memory) awaitsView(f *Facts) bool {
	if !m.due.isSet(dueView) {
		m.due[dueView] = f.Began.Add(viewWait)
	}
	return m.due.isFuture(dueView, f.Began)
}

func (m *Memory) nextDelivery(f *Facts) Action {
	state, at, now := &m.State, f.View.Serial, f.Began
	if f.Repair {
		return Action{Do: DoDeliver, Why: "the provider lost data that it had"}
	}

	// Deliver the whole zone to a new target, or over uncertain content.
	if state.Target != f.Class.Target || state.Hash == "" || state.Serial == at && state.Hash != f.View.Hash() {
		state.Serial, state.Hash = 0, ""
		state.Drifted, state.Drift = delivery.Condition{}, nil
	}

	m.scheduleComparison(f)
	if m.blocked && m.blockedAt != at {
		m.blocked = false
	}

	fresh, repeats := state.Serial == at, m.due.isSet(dueRepeat)
	switch {
	case repeats && !m.due.isFuture(dueRepeat, now):
		return Action{Do: DoDeliver, Repeat: true, Why: "a call of the worker before this one may have arrived late"}
	case m.blocked && !fresh:
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	case !fresh && m.pending == at && m.due.isFuture(duePoll, now):
		return Action{Do: DoWait, Until: m.due[duePoll], Why: onTheirWay}
	case !fresh && m.pending == at:
		return Action{Do: DoDeliver, Why: onTheirWay}
	case !fresh && state.Serial == 0:
		return Action{Do: DoDeliver, Why: "no serial is confirmed there"}
	case !fresh:
		return Action{Do: DoDeliver, Why: fmt.Sprintf("the zone changed since serial %d", state.Serial)}
	case m.hasUnlistedRefusals() && len(m.refusals.remaining) > 0:
		return Action{Do: DoDeliver, Why: "more refused RRsets are tried"}
	case state.Error != nil && state.Intent == nil && !m.blocked:
		return Action{Do: DoDeliver, Why: "the last attempt failed before its first call, for lack of a provider or a name, so only a " +
			"call can clear the error"}
	case state.Intent != nil && !m.blocked && !m.due.isFuture(dueRefused, now) && (!repeats || state.Intent.Holder != f.Identity):
		return Action{Do: DoDeliver, Why: "some RRsets were refused, or may be half written"}
	case m.due.isSet(dueCompare) && !m.due.isFuture(dueCompare, now) && !repeats:
		return Action{Do: DoVerify, Settled: true, Why: "a comparison is due"}
	}
	return Action{Do: DoWait, Settled: true, Until: m.NextWake(now), Why: m.WaitReason(delivered.Message)}
}

func (m *Memory) updateServers(f *Facts) bool {
	if f.Class.Servers == nil || m.servers != nil && slices.Equal(f.Class.Servers, m.servers) {
		return false
	}
	m.servers, m.cannotList = f.Class.Servers, false
	return !slices.Equal(slices.Sorted(slices.Values(m.State.ServerNames())), m.servers)
}

func (m *Memory) scheduleComparison(f *Facts) {
	now, interval := f.Began, f.Class.DriftInterval
	others := m.updateServers(f)

	if m.cannotList || m.State.Serial == 0 {
		m.due.clear(dueCompare)
		return
	}

	if !m.due.isSet(dueCompare) {
		// Spread overdue comparisons after a restart.
		last := m.State.DriftCheckTime
		if last.IsZero() {
			last = m.State.SyncTime
		}
		if m.due[dueCompare] = last.Add(f.jitter(interval)); !m.due.isFuture(dueCompare, now) {
			m.due[dueCompare] = now.Add(time.Duration(f.Random(int64(min(interval, 10*time.Minute)))))
		}
	}

	if m.due[dueCompare].After(now.Add(interval)) {
		m.due[dueCompare] = now.Add(f.jitter(interval))
	}

	// The servers of the class changed.
	if soon := now.Add(time.Duration(f.Random(int64(min(interval, compareWithin))))); others && m.due[dueCompare].After(soon) {
		m.due[dueCompare] = soon
	}

	// A server lost a zone.
	if f.LostAt.After(m.lostAt) {
		if m.lostAt = f.LostAt; m.State.SyncTime.Before(f.LostAt) {
			m.due[dueCompare] = now
		}
	}

	if m.HasNewRequest(f) && m.due.isFuture(dueCompare, now) {
		if m.due[dueCompare] = now; m.request != f.Zone.Request {
			m.due[dueCompare] = m.due[dueRequest]
		}
	}
}
