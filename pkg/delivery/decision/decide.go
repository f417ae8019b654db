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

// Next returns the next action of an attempt, and the memory after the decision. The caller performs the action, adds
// the result to f, and calls Next again, until the action is DoWait.
func Next(m Memory, f *Facts) (Memory, Action) {
	act := m.nextAction(f)
	return m, act
}

// nextAction decides the next step. The cases come in the order of precedence: a wait, a takeover, a removal, a claim
// of the name, a delivery.
func (m *Memory) nextAction(f *Facts) Action {
	// 1. Nothing to decide.
	wanted := f.ShouldDeliver()
	switch {
	// The server was down a moment ago: even a change of the zone waits until the retry.
	case m.due.isFuture(dueRetry, f.Began):
		return Action{Do: DoWait, Until: m.due[dueRetry], Why: m.WaitReason("it failed")}
	// The removal ended, and the Delivery is deleted. The delivery begins again if the zone names the class.
	case !wanted && f.Removed:
		return Action{Do: DoWait, Settled: true, Why: "the zone is withdrawn from the class"}
	// A pause stops deliveries, but no removal: a paused zone can be deleted.
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

	// After a start of the process, the feed has not read the zone yet.
	if f.View == nil {
		return Action{Do: DoWait, Why: "the zone has no settled content here yet"}
	}

	// The zone was example.org. and is example.com. now: first remove the data under the former name.
	if had := m.State.Zone; !had.IsZero() && had != f.View.FQDN {
		return m.nextRemoval(f, "the provider has the zone under its former name")
	}

	// 4. Continue the state of a former class with the same target.
	if m.State.Zone.IsZero() && f.Class.Target != "" && len(f.Claims.LeavingClasses) > 0 && !f.Inherited {
		return Action{Do: DoInherit, Why: "another class that the zone leaves may have it at the same place"}
	}

	// 5. Write only with a provider and the right to the name, and no earlier serial.
	fqdn, at := f.View.FQDN, f.View.Serial
	// This process reads the journal late: another worker delivered serial 8, and the view here ends at 7.
	if m.State.Serial != 0 && m.State.Serial.Ahead(at) || m.State.Intent != nil && m.State.Intent.Serial.Ahead(at) {
		return Action{Do: DoWait, Notable: true, Why: fmt.Sprintf("the view has serial %d and is behind the delivered serial", at)}
	}

	if f.Class.Provider == nil {
		return Action{Do: DoFail, Err: f.Class.Err, Why: "the class has no provider"}
	}

	if !f.NameClaimed {
		return Action{Do: DoClaim, Why: "a class delivers one zone of a name"}
	}
	// Zone example.org. of view "internal" waits while the zone of the default view is at the class.
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

// endDelivery decides about a zone that leaves the class. To lose no name at a change of classes, the old class keeps
// the zone until the new classes have it.
func (m *Memory) endDelivery(f *Facts) Action {
	// Four reasons end the wait: deletion, data that stays anyway, delivery by the new classes, and a zone of the same
	// name that waits for this class.
	if !f.Zone.Remove && !f.retains() && !f.Claims.Replaced && !f.Claims.AwaitedByOther {
		return Action{Do: DoWait, Why: "the zone is withdrawn when the classes in force have it"}
	}
	return m.nextRemoval(f, "the class must not have the zone")
}

// nextRemoval decides how to remove the zone from the provider. It first waits for a view, or looks up the RRsets,
// because without both the names of the RRsets to remove are unknown.
func (m *Memory) nextRemoval(f *Facts, why string) Action {
	// Without State.Zone no call was made. RRsets under the name of another zone must stay.
	if m.State.Zone.IsZero() || f.Claims.HeldByOther || f.retains() || f.Claims.HandedOver {
		return Action{Do: DoForget, Why: "there is nothing to withdraw from the provider"}
	}

	// A removal needs the content, to name RRsets such as www A.
	if f.View == nil {
		// The view ended with the zone, and its last content arrives by an event of its own.
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

	// The class lost its Secret, for example: the data stays, and the Delivery reports the fault.
	if f.Class.Provider == nil {
		return Action{Do: DoFail, Err: f.Class.Err, Why: "the class has no provider"}
	}

	// A permanent error: only a change of the class, or a request of a user, leads to another removal.
	if m.blocked && m.blockedAt == m.State.Serial {
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	}
	return Action{Do: DoRemove, Why: why}
}

// awaitsView reports whether the removal still waits for a view. The first call starts the wait of viewWait.
func (m *Memory) awaitsView(f *Facts) bool {
	if !m.due.isSet(dueView) {
		m.due[dueView] = f.Began.Add(viewWait)
	}
	return m.due.isFuture(dueView, f.Began)
}

// nextDelivery decides about a zone with a view, a provider and the right to its name: write, compare or wait. It
// resets the confirmed serial if the content at the provider is uncertain.
func (m *Memory) nextDelivery(f *Facts) Action {
	state, at, now := &m.State, f.View.Serial, f.Began
	// The comparison of this attempt found drift, so write at once.
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

	// fresh: the provider has this serial. repeats: a second write after a takeover is still due.
	fresh, repeats := state.Serial == at, m.due.isSet(dueRepeat)
	switch {
	// The grace of the former worker is over: its last call has arrived by now, and this write has the last word.
	case repeats && !m.due.isFuture(dueRepeat, now):
		return Action{Do: DoDeliver, Repeat: true, Why: "a call of the worker before this one may have arrived late"}
	// After a permanent error the same serial would fail again. A new serial has unblocked above.
	case m.blocked && !fresh:
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	// Secondaries were notified and fetch the zone. Asking them again at once would only load them.
	case !fresh && m.pending == at && m.due.isFuture(duePoll, now):
		return Action{Do: DoWait, Until: m.due[duePoll], Why: onTheirWay}
	// The poll is due: Deliver asks the secondaries for their serials.
	case !fresh && m.pending == at:
		return Action{Do: DoDeliver, Why: onTheirWay}
	// First delivery, a new target, or a zone that the provider had lost: write the whole zone.
	case !fresh && state.Serial == 0:
		return Action{Do: DoDeliver, Why: "no serial is confirmed there"}
	// The usual case: a Record changed, and its RRset is written.
	case !fresh:
		return Action{Do: DoDeliver, Why: fmt.Sprintf("the zone changed since serial %d", state.Serial)}
	// Thousands of RRsets were refused: the round goes on with the next 64.
	case m.hasUnlistedRefusals() && len(m.refusals.remaining) > 0:
		return Action{Do: DoDeliver, Why: "more refused RRsets are tried"}
	case state.Error != nil && state.Intent == nil && !m.blocked:
		return Action{Do: DoDeliver, Why: "the last attempt failed before its first call, for lack of a provider or a name, so only a " +
			"call can clear the error"}
	// Refused RRsets are due again, or the last worker crashed in the middle of a write. This worker's own intent
	// before a repeat is neither.
	case state.Intent != nil && !m.blocked && !m.due.isFuture(dueRefused, now) && (!repeats || state.Intent.Holder != f.Identity):
		return Action{Do: DoDeliver, Why: "some RRsets were refused, or may be half written"}
	// Before the repeat, a comparison could find late writes of the former worker and call them drift.
	case m.due.isSet(dueCompare) && !m.due.isFuture(dueCompare, now) && !repeats:
		return Action{Do: DoVerify, Settled: true, Why: "a comparison is due"}
	}
	return Action{Do: DoWait, Settled: true, Until: m.NextWake(now), Why: m.WaitReason(delivered.Message)}
}

// updateServers remembers the servers of the class, and reports whether the Delivery's rows name other servers, so the
// zone has to be compared soon.
func (m *Memory) updateServers(f *Facts) bool {
	if f.Class.Servers == nil || m.servers != nil && slices.Equal(f.Class.Servers, m.servers) {
		return false
	}
	// A new server may be able to list its data, although the former could not.
	m.servers, m.cannotList = f.Class.Servers, false
	return !slices.Equal(slices.Sorted(slices.Values(m.State.ServerNames())), m.servers)
}

// scheduleComparison sets the time of the next comparison with the provider, at most a DriftInterval ahead. Events
// bring the comparison forward: other servers, a lost zone, a request of a user.
func (m *Memory) scheduleComparison(f *Facts) {
	now, interval := f.Began, f.Class.DriftInterval
	others := m.updateServers(f)

	// Nothing to compare: the webhook cannot list its records, or no serial is confirmed.
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

	// The DriftInterval of the class became shorter, for example 1h in place of 24h.
	if m.due[dueCompare].After(now.Add(interval)) {
		m.due[dueCompare] = now.Add(f.jitter(interval))
	}

	// The servers of the class changed.
	if soon := now.Add(time.Duration(f.Random(int64(min(interval, compareWithin))))); others && m.due[dueCompare].After(soon) {
		m.due[dueCompare] = soon
	}

	// A server lost a zone.
	if f.LostAt.After(m.lostAt) {
		// A zone confirmed after the loss is at the server, and needs no comparison.
		if m.lostAt = f.LostAt; m.State.SyncTime.Before(f.LostAt) {
			m.due[dueCompare] = now
		}
	}

	// A user asked for a comparison. A request that came too early waits until the end of requestInterval.
	if m.HasNewRequest(f) && m.due.isFuture(dueCompare, now) {
		if m.due[dueCompare] = now; m.request != f.Zone.Request {
			m.due[dueCompare] = m.due[dueRequest]
		}
	}
}
