// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
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
	switch isNewRequest := f.Zone.Request != "" && f.Zone.Request != m.request; {
	case !isNewRequest:
	case m.due.isFuture(dueRequest, f.Began):
		m.due.advance(dueRetry, m.due[dueRequest])
	default:
		m.request, m.cannotList, woken = f.Zone.Request, false, true
		m.due[dueRequest] = f.Began.Add(requestInterval)
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
	// 3. Remove a zone that is deleted, or left the class.
	if !wanted {
		return m.endDelivery(f)
	}
	// 4. Deliver a zone of the class, as soon as its content is known here. After a start of the process, the feed has
	// not read the zone yet.
	if f.View == nil {
		return Action{Do: DoWait, Why: "the zone has no settled content here yet"}
	}
	return m.nextPlace(f)
}

// nextPlace decides whether the provider may get a zone with a view under its name now: after the removal of a former
// name, with the state of a former class, a provider and the right to the name. If so, the delivery follows.
func (m *Memory) nextPlace(f *Facts) Action {
	fqdn, at := f.View.FQDN, f.View.Serial
	switch m.State.Zone {
	case fqdn:
	// Nothing is there by this class: continue the state of a former class with the same target.
	case name.Name{}:
		if f.Class.Target != "" && len(f.Claims.LeavingClasses) > 0 && !f.Inherited {
			return Action{Do: DoInherit, Why: "another class that the zone leaves may have it at the same place"}
		}
	// The zone was example.org. and is example.com. now: first remove the data under the former name.
	default:
		return m.nextRemoval(f, "the provider has the zone under its former name")
	}

	// This process reads the journal late: another worker delivered serial 8, and the view here ends at 7.
	if m.hasBegunAfter(at) {
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

// hasBegunAfter reports whether a worker has confirmed or begun a later serial than at.
func (m *Memory) hasBegunAfter(at serial.Serial) bool {
	hasConfirmed := m.State.Serial != 0 && m.State.Serial.Ahead(at)
	return hasConfirmed || m.State.Intent != nil && m.State.Intent.Serial.Ahead(at)
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

// nextRemoval decides how to remove the zone from the provider.
func (m *Memory) nextRemoval(f *Facts, why string) Action {
	// Without State.Zone no call was made. RRsets that the user keeps, or another delivery has, must stay.
	if m.State.Zone.IsZero() || f.retains() || f.Claims.NeededByOther {
		return Action{Do: DoForget, Why: "there is nothing to withdraw from the provider"}
	}
	if act, known := m.nextLookUp(f); !known {
		return act
	}

	// The class lost its Secret, for example: the data stays, and the Delivery reports the fault.
	if f.Class.Provider == nil {
		return Action{Do: DoFail, Err: f.Class.Err, Why: "the class has no provider"}
	}

	// example.org. got the name example.com.: a refused delivery of the former says nothing about the removal.
	if !m.removing {
		m.removing, m.blocked = true, false
	}
	// A permanent error: only a change of the class, or a request of a user, leads to another removal.
	if m.blocked {
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	}
	return Action{Do: DoRemove, Why: why}
}

// nextLookUp decides how a removal learns the RRsets to remove, such as www A. known is true if the removal can begin;
// otherwise act waits for the view, or looks the RRsets up.
func (m *Memory) nextLookUp(f *Facts) (act Action, known bool) {
	if f.View != nil {
		return Action{}, true
	}
	// The view ended with the zone, and its last content arrives by an event of its own.
	if m.viewed {
		if m.awaitsView(f) {
			return Action{Do: DoWait, Until: m.due[dueView], Why: "the view of the zone has just been removed, and its last content " +
				"has not been reported yet"}, false
		}
		m.viewed = false
	}
	if !f.LookedUp {
		return Action{Do: DoLookUp, Why: "the zone has no view"}, false
	}
	// After a restart the view may load late. A provider without Lists needs the view to find the RRsets to remove.
	if f.EndedRRsets == nil && m.awaitsView(f) {
		return Action{Do: DoWait, Until: m.due[dueView], Why: "the view of the zone, which has the data to withdraw, is not loaded " +
			"yet"}, false
	}
	return Action{}, true
}

// awaitsView reports whether the removal still waits for a view. The first call starts the wait of viewWait.
func (m *Memory) awaitsView(f *Facts) bool {
	if !m.due.isSet(dueView) {
		m.due[dueView] = f.Began.Add(viewWait)
	}
	return m.due.isFuture(dueView, f.Began)
}

// nextDelivery decides about a zone with a view, a provider and the right to its name. The delivery is in one of four
// states: a comparison found drift, a second write is due, the provider lacks the serial, or has the serial.
func (m *Memory) nextDelivery(f *Facts) Action {
	// www was lost at the provider: write at once.
	if f.Repair {
		return Action{Do: DoDeliver, Why: "the provider lost data that it had"}
	}

	m.beginSerial(f)
	m.scheduleComparison(f)

	// The grace of the former worker is over: its last call has arrived by now, and this write has the last word.
	if m.due.isDue(dueRepeat, f.Began) {
		return Action{Do: DoDeliver, Repeat: true, Why: "a call of the worker before this one may have arrived late"}
	}
	if m.State.Serial != f.View.Serial {
		return m.nextWrite(f)
	}
	return m.nextConfirmed(f)
}

// beginSerial drops a confirmation that says nothing about the content to deliver, so that the zone is written whole,
// and ends the waits of other serials.
func (m *Memory) beginSerial(f *Facts) {
	state, at := &m.State, f.View.Serial
	switch {
	// The class names another server now.
	case state.Target != f.Class.Target,
		// A removal began, or another zone of the name was there.
		state.Hash == "",
		// etcd was restored from a backup, and serial 7 has other content than the 7 delivered before.
		state.Serial == at && state.Hash != f.View.Hash():
		state.Serial, state.Hash = 0, ""
		state.Drifted, state.Drift = delivery.Condition{}, nil
	}

	// A permanent error of serial 7, or of a removal, says nothing about 8, nor do secondaries that still fetch 7.
	m.blocked = m.blocked && m.blockedAt == at && !m.removing
	m.removing = false
	if m.pending != at {
		m.due.clear(duePoll)
	}
}

// nextWrite decides about a serial that the provider has not confirmed: write, or wait for the provider.
func (m *Memory) nextWrite(f *Facts) Action {
	switch {
	// After a permanent error the same serial would fail again.
	case m.blocked:
		return Action{Do: DoWait, Why: m.WaitReason("the provider refuses for good")}
	// Secondaries were notified and fetch the zone. Asking them again at once would only load them.
	case m.due.isFuture(duePoll, f.Began):
		return Action{Do: DoWait, Until: m.due[duePoll], Why: onTheirWay}
	// The poll is due: Deliver asks the secondaries for their serials.
	case m.pending == f.View.Serial:
		return Action{Do: DoDeliver, Why: onTheirWay}
	// First delivery, a new target, or a zone that the provider had lost: write the whole zone.
	case m.State.Serial == 0:
		return Action{Do: DoDeliver, Why: "no serial is confirmed there"}
	}
	// The usual case: a Record changed, and its RRset is written.
	return Action{Do: DoDeliver, Why: fmt.Sprintf("the zone changed since serial %d", m.State.Serial)}
}

// nextConfirmed decides about a serial that the provider has confirmed: write what may be missing all the same, compare
// or wait.
func (m *Memory) nextConfirmed(f *Facts) Action {
	// After a permanent error the same write would fail again, so only a comparison can follow.
	if why := m.findUnwritten(f); why != "" && !m.blocked {
		return Action{Do: DoDeliver, Why: why}
	}
	// Before the repeat, a comparison could find late writes of the former worker and call them drift.
	if m.due.isDue(dueCompare, f.Began) && !m.due.isSet(dueRepeat) {
		return Action{Do: DoVerify, Settled: true, Why: "a comparison is due"}
	}
	return Action{Do: DoWait, Settled: true, Until: m.NextWake(f.Began), Why: m.WaitReason(delivered.Message)}
}

// findUnwritten returns why a write of the confirmed serial is due, or "".
func (m *Memory) findUnwritten(f *Facts) string {
	// Thousands of RRsets were refused: the round goes on with the next 64.
	if len(m.refusals.remaining) > 0 {
		return "more refused RRsets are tried"
	}
	intent := m.State.Intent
	if intent == nil {
		if m.State.Error == nil {
			return ""
		}
		return "the last attempt failed before its first call, for lack of a provider or a name, so only a call can clear the error"
	}
	// www was refused a minute ago, and waits for the retry.
	if m.due.isFuture(dueRefused, f.Began) {
		return ""
	}
	// This worker took the delivery over, wrote, and keeps the intent for its second write.
	if intent.Holder == f.Identity && m.due.isSet(dueRepeat) {
		return ""
	}
	// www was refused an hour ago, or the last worker crashed in the middle of a write.
	return "some RRsets were refused, or may be half written"
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
		last := cmp.Or(m.State.DriftCheckTime, m.State.SyncTime)
		if m.due[dueCompare] = last.Add(f.jitter(interval)); !m.due.isFuture(dueCompare, now) {
			m.due[dueCompare] = now.Add(time.Duration(f.Random(int64(min(interval, 10*time.Minute)))))
		}
	}

	// The DriftInterval of the class became shorter, for example 1h in place of 24h.
	if m.due[dueCompare].After(now.Add(interval)) {
		m.due[dueCompare] = now.Add(f.jitter(interval))
	}

	// The servers of the class changed.
	if others {
		m.due.advance(dueCompare, now.Add(time.Duration(f.Random(int64(min(interval, compareWithin))))))
	}

	// A server lost a zone. A zone confirmed after the loss is at the server, and needs no comparison.
	if f.LostAt.After(m.lostAt) && m.State.SyncTime.Before(f.LostAt) {
		m.due.advance(dueCompare, now)
	}
	m.lostAt = f.LostAt

	// A user asked for a comparison. A request that came too early waits until the end of requestInterval.
	if m.HasNewRequest(f) {
		at := now
		if m.request != f.Zone.Request {
			at = m.due[dueRequest]
		}
		m.due.advance(dueCompare, at)
	}
}
