// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type Result struct {
	State delivery.State
	Event delivery.Event
	// SkipStore prevents the write of State, SkipAll the Event, too. OnlyIfChanged prevents both if State is as stored.
	SkipStore, SkipAll, OnlyIfChanged bool
}

var delivered = newCondition(delivery.True, delivery.ReasonDelivered, "everything in the class has confirmed the serial")

func confirmedBy(c *delivery.Class) delivery.Condition {
	ready := delivered
	if c.Servers != nil {
		ready.Reason = delivery.ReasonAllInstancesConfigured
	}
	return ready
}

// BeginState completes s for the write before the first call: the intent gets its time, and Ready is Unknown in a new
// state.
func BeginState(s delivery.State, now time.Time) delivery.State {
	intent := *s.Intent
	intent.Time = now
	if s.Intent = &intent; s.Version == "" {
		s.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, "the zone is being delivered for the first time")
	}
	return s
}

const (
	onTheirWay = "servers have not confirmed the serial yet"
	wentBack   = "a server answers an earlier serial than it had confirmed: it went back"
)

const remains = "; RRsets removed from the zone may still be there, since the journal no longer has the changes after the last " +
	"confirmed serial: compare the provider's data with zones/entries, and remove the rest there"

// RecordAnswer updates m after the provider's answer to a write, and returns the attempt's result. Refused RRsets are
// kept for retries. The attempt fails if the provider refuses all RRsets because it lacks the zone.
func (m *Memory) RecordAnswer(f *Facts, planned PlannedWrite, report delivery.Report, err error) Result {
	// The second write is done: late calls of the former worker can no longer win.
	if planned.Repeat && err == nil {
		m.due.clear(dueRepeat)
	}

	if err == nil {
		if zoneMissing := planned.findMissingZone(report.Failed); zoneMissing != nil {
			err = zoneMissing
		}
	}

	// An attempt retried only some of the refused RRsets: the others stay refused in the Delivery.
	report.Failed = m.appendUnretried(planned.Plans, report.Failed, err == nil)
	plan := planned.Plans[0] // all plans have the same zone and serial

	if err == nil {
		return m.recordSuccess(f, planned, plan, report)
	}
	e := delivery.AsError(err)
	// The zone was deleted at the provider. When the zone is back, all RRsets are missing.
	if e.Reason == delivery.ReasonZoneNotFound {
		m.loseZone(plan.Serial, f.Now)
	}
	return m.RecordFailure(f, plan.Serial, report, e)
}

// RecordFailure schedules the retry, and sets f.Pause if e concerns the whole class.
func (m *Memory) RecordFailure(f *Facts, at serial.Serial, report delivery.Report, e *delivery.Error) Result {
	next := m.State
	first := next.Error == nil
	next.Intent = m.withoutHolder(next.Intent, f.Identity)

	// The same fault goes on: the Delivery keeps the time of its beginning.
	since := f.Now
	if !first && sameReason(next.Error, e) {
		since = next.Error.Time
	}
	describeFailure(&next, e, since)

	next.Failed, next.Skipped, next.FailedWhole = len(report.Failed), report.Skipped, true
	if len(report.Failed) > 0 {
		next.Refused, next.Digests = limitRefusals(report.Failed)
	}
	if report.Servers != nil {
		next.Servers, next.AskedSerial = report.Servers, at
	}

	// The comparison answered the user's request, although the repair failed.
	if f.compared {
		next.Request = f.Zone.Request
	}

	m.failures++
	m.blocked = false
	m.due[dueRetry] = m.scheduleRetry(f, e, m.failures-1, at)
	m.due.clear(dueRefused) // the retry includes refused RRsets

	event := delivery.Event{Outcome: delivery.OutcomeFailed, Serial: at, Failed: report.Failed, First: first}
	if e.WholeClass {
		f.Pause, event.ClassError = e, e
	}
	return Result{State: next, Event: event}
}

// scheduleRetry returns the time of the retry after a number of failures before. After a permanent error it returns
// zero and blocks the serial at, unless the provider named a delay.
func (m *Memory) scheduleRetry(f *Facts, e *delivery.Error, failures int, at serial.Serial) time.Time {
	if e.Permanent && e.RetryAfter <= 0 {
		m.blocked, m.blockedAt = true, at
		return time.Time{}
	}
	return f.Now.Add(f.Backoff.RetryDelay(e, failures, f.jitter))
}

// recordSuccess updates m after a call without an error: the serial is confirmed, or servers still have to fetch it.
// RRsets in report.Failed are refused. If too many are refused for the intent, the attempt counts as failed.
func (m *Memory) recordSuccess(f *Facts, planned PlannedWrite, plan delivery.Plan, report delivery.Report) Result {
	if earlier, fresh := planned.splitFailed(report.Failed); min(len(earlier), len(fresh)) > maxListed {
		// An intent for the whole zone would not name removed RRsets.
		return m.RecordFailure(f, plan.Serial, report, newRefusal(report.Failed))
	}

	f.Worked = true
	next := m.State
	next.Zone, next.Target = plan.Zone, f.Class.Target
	next.Servers, next.AskedSerial = report.Servers, plan.Serial
	next.Failed, next.Skipped = len(report.Failed), report.Skipped
	next.FailedWhole = false
	next.Refused, next.Digests = limitRefusals(report.Failed)

	// The outcome is corrected below if a server lacks the serial.
	event := delivery.Event{Outcome: delivery.OutcomeDelivered, Serial: plan.Serial, Failed: report.Failed, Proven: report.Proven}
	had := next.Error
	next.Error = nil

	// A secondary has not transferred the serial yet. Webhooks and dynamic updates confirm at once.
	if report.Confirmed != plan.Serial {
		event.Outcome = delivery.OutcomePending
		m.awaitServers(f, &next, plan.Serial, report.Servers)
	} else {
		m.confirmSerial(f, planned, &next, plan, report)
	}
	if report.Remains {
		event.LeftoverZone = plan.Zone
	}

	event.First = had == nil && next.Error != nil
	event.Recovered = had != nil && next.Error == nil && event.Outcome == delivery.OutcomeDelivered
	// Still waiting: keep the error of the last attempt, so that the Delivery does not look repaired.
	if event.Outcome == delivery.OutcomePending && next.Error == nil {
		next.Error = had
	}
	return Result{State: next, Event: event}
}

const maxRefusedOctets = 32 << 10

// limitRefusals returns the failures that the Delivery names, in order of name and type, and the ascending digests of
// the RRsets beyond. Both are bounded, to keep the object in etcd small.
func limitRefusals(failed []delivery.Failure) (refused []delivery.Failure, digests []uint64) {
	failed = slices.Clone(failed)
	slices.SortFunc(failed, func(a, b delivery.Failure) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type))
	})

	// At most MaxRefused failures and maxRefusedOctets, whichever comes first.
	octets, n := 0, 0
	for n < min(len(failed), delivery.MaxRefused) {
		octets += len(failed[n].Key().String()) + min(len(failed[n].Err.Message), delivery.MaxRefusal)
		if octets > maxRefusedOctets {
			break
		}
		n++
	}

	for _, f := range failed[n:min(len(failed), n+delivery.MaxDigests)] {
		digests = append(digests, f.Key().Digest())
	}
	slices.Sort(digests)
	return failed[:n], digests
}

// awaitServers schedules the next poll of servers that fetch the zone, and describes the wait in next. The delay
// doubles from 500 ms to a minute. A server's error replaces the reason Pending.
func (m *Memory) awaitServers(f *Facts, next *delivery.State, at serial.Serial, servers []delivery.Server) {
	// A later serial was offered: poll fast again.
	if m.pending != at {
		m.pending, m.polls = at, 0
	}

	m.due[duePoll] = f.Now.Add(min(500*time.Millisecond<<min(m.polls, 7), time.Minute))
	m.polls++
	m.failures = 0

	next.Intent = m.withoutHolder(next.Intent, f.Identity)
	next.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, onTheirWay)
	// A secondary restarted from an old disk and answers serial 5, after 7 was confirmed.
	if slices.ContainsFunc(servers, next.WentBack) {
		next.Ready = newCondition(delivery.Unknown, delivery.ReasonServerWentBack, wentBack)
	}

	if i := slices.IndexFunc(servers, hasOtherData); i >= 0 { // a new serial repairs it, so the Zone reports it
		describeFailure(next, servers[i].Err, f.Now)
		return
	}

	// The first server with an error explains the wait. A note, as of a slow signer, only adds to the message.
	for _, server := range servers {
		if server.Err != nil {
			describeFailure(next, server.Err, f.Now)
			break
		}
		if server.Serial == 0 && server.Note != "" {
			next.Ready.Message = onTheirWay + "; " + server.Name + ": " + server.Note
		}
	}
}

// confirmSerial records in next that all servers have plan.Serial, and schedules the next comparison. RRsets in
// report.Failed are retried on their own schedule.
func (m *Memory) confirmSerial(f *Facts, planned PlannedWrite, next *delivery.State, plan delivery.Plan, report delivery.Report) {
	f.Settled = true
	// A repair at the same serial keeps the time of the first confirmation.
	if next.Serial != plan.Serial {
		next.SyncTime = f.Now
	}

	next.Serial, next.Hash, next.Holder = plan.Serial, plan.Hash, f.Identity
	next.Ready = confirmedBy(&f.Class)
	if report.Remains {
		next.Ready.Message += remains
	}

	m.pending, m.polls = 0, 0
	m.due.clear(duePoll)
	m.failures, m.blocked = 0, false

	if !m.due.isSet(dueCompare) && !m.cannotList {
		m.due[dueCompare] = f.Now.Add(f.jitter(f.Class.DriftInterval))
	}

	m.confirmDrift(f, next, report.Failed)
	m.confirmIntent(f, planned, next, plan, report.Failed)

	if len(report.Failed) == 0 {
		m.due.clear(dueRefused)
		m.refusals.rounds = 0
		return
	}

	e := newRefusal(report.Failed)
	describeFailure(next, e, f.Now)
	// Refused RRsets do not delay a change of the zone, nor does the change move their retry, unless an RRset is newly
	// refused.
	if slices.ContainsFunc(report.Failed, func(failure delivery.Failure) bool { return !planned.unconfirmedBefore[failure.Key()] }) {
		m.refusals.rounds = 0
		m.due.clear(dueRefused)
	}
	if len(m.refusals.remaining) > 0 {
		f.Again = true // the round's last attempt schedules the next round
	} else if e.RetryAfter > 0 || e.Permanent || !m.due.isFuture(dueRefused, f.Began) {
		m.refusals.rounds++
		m.due[dueRefused] = m.scheduleRetry(f, e, m.refusals.rounds-1, plan.Serial)
	}
}

// confirmDrift removes the repaired RRsets from the drift of next, all but failed. If a comparison or request became
// due in the meantime, another attempt follows at once.
func (m *Memory) confirmDrift(f *Facts, next *delivery.State, failed []delivery.Failure) {
	remain := keysOfFailed(failed)
	repaired := func(key delivery.RRsetKey) bool { return !remain[key] }
	if next.Drifted.Status == delivery.True {
		describeDrift(next, slices.DeleteFunc(slices.Clone(next.Drift), repaired), false)
	}
	maps.DeleteFunc(m.drift.rrsets, func(key delivery.RRsetKey, _ bool) bool { return repaired(key) })
	// This attempt compared and repaired, so the user's request is done.
	if f.compared {
		next.Request = f.Zone.Request
	} else if m.HasNewRequest(f) || m.due.isDue(dueCompare, f.Began) {
		f.Again = true
	}
}

// confirmIntent sets the intent after a confirmed write: the old one if a repeat is due, an intent with the refused
// RRsets of failed, or nil if nothing is open.
func (m *Memory) confirmIntent(f *Facts, planned PlannedWrite, next *delivery.State, plan delivery.Plan, failed []delivery.Failure) {
	intent := next.Intent
	switch {
	case m.due.isSet(dueRepeat) && intent != nil:
		// This process stays the holder, because a worker that takes over must repeat the write, too.
		kept := *intent
		kept.Holder, kept.Time = f.Identity, f.Now
		m.takeover.wroteWhole = m.takeover.wroteWhole || plan.Changes == nil && !m.takeover.oneSerial
		var unconfirmed []delivery.RRsetKey // also after the repeat; the intent lacks them if no fence was called
		for _, failure := range failed {
			unconfirmed = append(unconfirmed, failure.Key())
		}
		kept.RRsets, kept.Unlisted = addRRsets(unconfirmed, kept.Unlisted, kept.RRsets)
		// Too many for the intent: From 0 lets the next worker write the whole zone.
		if len(kept.RRsets) > maxListed {
			kept.From, kept.RRsets = 0, kept.RRsets[:maxListed]
		}
		next.Intent = &kept
	case len(failed) > 0:
		next.Intent = m.recordRefusals(planned, plan.Serial, failed, f.Now)
	default:
		next.Intent = nil
	}
	// All refused RRsets fit into the intent, or a repeat writes them anyway. Memory need not hold them.
	if next.Intent == nil || !next.Intent.Unlisted || next.Intent.Holder != "" {
		m.refusals.byRRset, m.refusals.remaining = nil, nil
	}
}

// The intent keeps the earliest serial, in case the old zone comes back.
func (m *Memory) loseZone(at serial.Serial, now time.Time) {
	state := &m.State
	if state.Serial == 0 {
		return
	}
	intent := delivery.Intent{Serial: at, Time: now}
	if state.Intent != nil {
		intent = *state.Intent
	}
	intent.From, intent.Unlisted = state.Earliest(), true
	state.Serial, state.Hash, state.Intent = 0, "", &intent
}

// RecordComparison ends a comparison. For a repair, it sets f.Repair and adds the RRsets to the intent.
func (m *Memory) RecordComparison(f *Facts, drift delivery.Drift, err error) Result {
	at := f.View.Serial
	m.due[dueCompare] = f.Now.Add(f.jitter(f.Class.DriftInterval))
	f.compared = true

	if err != nil {
		return m.recordComparisonError(f, drift, err)
	}

	f.Worked = true
	m.State.DriftCheckTime = f.Now
	// Secondaries answered with their serials, which the Delivery shows for each server.
	if drift.Servers != nil {
		m.State.Servers, m.State.AskedSerial = drift.Servers, at
	}

	differs := slices.ContainsFunc(drift.Servers, func(s delivery.Server) bool { return s.Content == delivery.ContentDiffers })
	behind := differs || slices.ContainsFunc(drift.Servers, func(s delivery.Server) bool { return s.Err != nil || s.Serial != at })
	keys := keysOf(drift.Missing, drift.Differing)

	// A refused RRset is missing as expected. It is drift only if it was drift before the refusal.
	unconfirmed := m.listUnconfirmed()
	refused := func(set delivery.RRset) bool {
		return unconfirmed[set.Key()] && !slices.Contains(m.State.Drift, set.Key())
	}
	drift.Missing, drift.Differing = slices.DeleteFunc(drift.Missing, refused), slices.DeleteFunc(drift.Differing, refused)

	drifted := keysOf(drift.Missing, drift.Differing)
	m.countDrift(f, drift)
	describeDrift(&m.State, drifted, differs)
	// A secondary with an earlier serial than confirmed has lost changes: drift, even if no RRset is named.
	if !differs && slices.ContainsFunc(drift.Servers, m.State.WentBack) {
		m.State.Drifted = newCondition(delivery.True, delivery.ReasonDriftFound, wentBack)
	}

	// No difference: nothing to repair.
	if len(keys) == 0 && !behind && m.State.Intent == nil {
		return m.reportComparison(f)
	}

	f.Repair = true
	// Repair the RRsets, or the whole zone if the intent cannot list them.
	intent := delivery.Intent{Serial: at, From: at, Time: f.Now}
	if m.State.Intent != nil {
		intent, f.unconfirmedBefore = *m.State.Intent, unconfirmed
	}

	// Lost RRsets go first, then the refused.
	if m.hasUnlistedRefusals() {
		m.retryFirst(slices.DeleteFunc(keys, func(key delivery.RRsetKey) bool { return unconfirmed[key] }))
	} else if rrsets, unlisted := addRRsets(intent.RRsets, false, keys); unlisted {
		m.State.Serial, m.State.Hash = 0, ""
	} else {
		intent.RRsets = rrsets
		m.State.Intent = &intent
	}

	event := delivery.Event{Outcome: delivery.OutcomeDrifted, Serial: at, State: m.State, Drift: drift}
	return Result{Event: event, SkipStore: true, SkipAll: len(drifted) == 0 && !behind}
}

// countDrift counts the RRsets that drifted since the last comparison, for metrics. Foreign RRsets count only from the
// second comparison on, because the first cannot tell which are new.
func (m *Memory) countDrift(f *Facts, drift delivery.Drift) {
	others := 0
	if m.drift.known {
		others = max(0, len(drift.Foreign)-m.drift.foreign)
	}
	before, now := m.drift.rrsets, map[delivery.RRsetKey]bool{}
	countNew := func(sets []delivery.RRset) (count int) {
		for _, set := range sets {
			if now[set.Key()] = true; !before[set.Key()] {
				count++
			}
		}
		return count
	}
	f.Missing, f.Differing, f.Foreign = countNew(drift.Missing), countNew(drift.Differing), others
	m.drift = driftCount{now, len(drift.Foreign), true}
}

// recordComparisonError ends a comparison that failed with err. A missing zone and servers that left the class fail the
// attempt. Other errors leave Ready as it is, and the comparison is retried after at most Backoff.Slow.
func (m *Memory) recordComparisonError(f *Facts, drift delivery.Drift, err error) Result {
	// A webhook without a list of its records: no further comparison until the class changes or a user asks.
	if errors.Is(err, delivery.ErrCannotList) {
		m.cannotList = true
		m.due.clear(dueCompare)
		if m.HasNewRequest(f) {
			m.State.Drifted = newCondition(delivery.Unknown, delivery.ReasonCannotList, "the provider cannot list its data")
		}
		return m.reportComparison(f)
	}

	e := delivery.AsError(err)
	// Zone example.org. was deleted at the provider: deliver the whole zone when the zone is there again.
	if e.Reason == delivery.ReasonZoneNotFound {
		f.Settled = false
		m.loseZone(f.View.Serial, f.Now)
		return m.RecordFailure(f, f.View.Serial, delivery.Report{}, e)
	}

	// Servers left the class and may keep the zone: the Delivery shows their rows.
	if e.Reason == delivery.ReasonInvalidConfiguration && drift.Servers != nil {
		f.Settled = false
		return m.RecordFailure(f, f.View.Serial, delivery.Report{Servers: drift.Servers}, e)
	}

	// Wrong credentials: comparisons of other zones would fail, too.
	if e.WholeClass {
		f.Pause = e
	}

	m.due[dueCompare] = f.Now.Add(f.jitter(min(f.Class.DriftInterval, f.Backoff.Slow)))
	// Known drift stays reported. Unknown would hide it.
	if m.State.Drifted.Status != delivery.True {
		m.State.Drifted = newCondition(delivery.Unknown, e.Reason, e.Message)
	}
	return m.reportComparison(f)
}

// reportComparison ends a comparison without a repair. Nothing is stored or reported if neither drift nor servers
// changed and no user asked, so that hourly comparisons write nothing to etcd.
func (m *Memory) reportComparison(f *Facts) Result {
	next := m.State
	sameServers := slices.EqualFunc(m.Stored.Servers, next.Servers, delivery.Server.Alike)
	if !m.HasNewRequest(f) && sameServers && next.Drifted.Status != delivery.Unknown && m.Stored.Drifted.Status != delivery.True &&
		m.Stored.Drifted.Status != delivery.Unknown {
		return Result{SkipAll: true}
	}
	next.Request = f.Zone.Request
	event := delivery.Event{Outcome: delivery.OutcomeCompared, Serial: next.Serial, ClassError: f.Pause}
	return Result{State: next, Event: event, OnlyIfChanged: true}
}

// A zone missing at the provider counts as removed after absentTime and absentAttempts removals in a row. A server
// under reconstruction has the zone again before.
const (
	absentTime     = 24 * time.Hour
	absentAttempts = 10
)

// CountAbsence counts a failed removal, and reports whether the zone has been missing at the provider for so long that
// it counts as removed. Another error than ZoneNotFound begins a new count.
func (m *Memory) CountAbsence(f *Facts, e *delivery.Error) bool {
	since := m.State.Error
	if e.Reason != delivery.ReasonZoneNotFound {
		m.absences = 0
		return false
	}
	// A server rebuilt overnight must not lose the removal: time and number of attempts are both needed.
	m.absences++
	return since != nil && sameReason(since, e) && f.Began.Sub(since.Time) >= absentTime && m.absences >= absentAttempts
}

// ForgetDelivery resets m after the state was deleted. absent is the zone's name if the provider has lacked the zone
// for a day, else zero. If the zone is wanted again by now, f.Again is true.
func (m *Memory) ForgetDelivery(f *Facts, absent name.Name) Result {
	f.Settled, f.Again = true, f.ShouldDeliver()
	event := delivery.Event{Outcome: delivery.OutcomeRemoved, Serial: m.State.Serial, AbsentZone: absent}
	m.Loaded, m.Stored, m.State, m.unsavedIntent = false, delivery.State{}, delivery.State{}, nil
	m.failures, m.refusals.rounds, m.blocked, m.pending, m.polls, m.absences = 0, 0, false, 0, 0, 0
	m.due.clear(dueRepeat, dueRefused, duePoll, dueCompare, dueView)
	return Result{Event: event, SkipStore: true}
}

// StateDuringRemoval returns the state to store before the first removal, with an intent of this worker, and without
// the confirmed hash.
func (m *Memory) StateDuringRemoval(f *Facts, at serial.Serial) delivery.State {
	next := m.State
	intent := delivery.Intent{Serial: at, From: cmp.Or(m.State.Earliest(), at), Holder: f.Identity, Unlisted: true}
	// An earlier intent keeps its RRsets, for example those that the provider refused.
	if m.State.Intent != nil {
		intent.RRsets, intent.Unlisted = m.State.Intent.RRsets, m.State.Intent.Unlisted
	}
	next.Intent = &intent
	next.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, "the zone is being withdrawn")
	next.Hash = "" // the removal changes the confirmed content
	next.Drifted, next.Drift = delivery.Condition{}, nil
	return next
}

// StateAfterStop returns the state after the Loop stopped an attempt without a call in flight. Any worker may continue.
// While a repeat is due, mayStore is false.
func (m *Memory) StateAfterStop(f *Facts) (next delivery.State, mayStore bool) {
	next = m.State
	next.Intent = m.withoutHolder(next.Intent, f.Identity)
	return next, !m.due.isSet(dueRepeat)
}

// RetryStore schedules a retry after the state could not be read or stored, and lets it be loaded again. If fenced,
// another worker has the delivery: retry soon, from the state stored by then.
func (m *Memory) RetryStore(f *Facts, fenced bool) {
	m.Loaded = false
	wait := f.Backoff.Base
	if fenced {
		m.due.clear(dueRepeat)
		wait = time.Second
	}
	m.due[dueRetry] = f.Now.Add(f.jitter(wait))
}

func (m *Memory) RetrySoon(f *Facts) { m.due[dueRetry] = f.Began.Add(f.jitter(time.Second)) }

// InheritState begins with the state of another class at the same target, so that the zone is not written again. If the
// other worker's write may still be in flight, a repeat is scheduled.
func (m *Memory) InheritState(f *Facts, inherited delivery.State) {
	// The other class may have written the changes since inherited.Serial without an intent.
	intent := delivery.Intent{Serial: inherited.Serial, From: inherited.Serial, Time: f.Began, Unlisted: true}
	if inherited.Intent != nil {
		if intent = *inherited.Intent; intent.Holder != "" {
			intent.Holder, m.due[dueRepeat] = "", f.Began.Add(f.RepeatAfter)
		}
	}
	state := &m.State
	state.Zone, state.Target, state.Serial, state.Hash = inherited.Zone, inherited.Target, inherited.Serial, inherited.Hash
	state.Intent = &intent
}

func newNameConflict(zone name.Name) *delivery.Error {
	return delivery.Errorf(delivery.ReasonConflict, "another zone of the class is named %s, or was and is being withdrawn, and a class "+
		"delivers one zone of a name, whatever their views; this zone is delivered when the other has left: delete one of the two, or "+
		"use another class", zone)
}

func keysOf(lists ...[]delivery.RRset) []delivery.RRsetKey {
	var keys []delivery.RRsetKey
	for _, set := range slices.Concat(lists...) {
		keys = append(keys, set.Key())
	}
	slices.SortFunc(keys, delivery.RRsetKey.Compare)
	return keys
}

func newCondition(status delivery.Status, reason delivery.Reason, message string) delivery.Condition {
	return delivery.Condition{Status: status, Reason: reason, Message: message}
}

func describeFailure(s *delivery.State, e *delivery.Error, since time.Time) {
	s.Error = &delivery.StateError{Reason: e.Reason, Code: e.Code, Message: e.Message, Detail: e.Detail, Time: since}
	s.Ready = newCondition(delivery.False, e.Reason, e.Message)
}

func hasOtherData(s delivery.Server) bool {
	return s.Err != nil && s.Err.Reason == delivery.ReasonContentDiffers
}

// describeDrift sets the condition Drifted and at most maxListed RRsets of the state. differs is true if a server has
// the zone's serial, and other data. Without keys and differs, Drifted becomes False.
func describeDrift(s *delivery.State, keys []delivery.RRsetKey, differs bool) {
	// The capacity is cut, too, so that an append elsewhere cannot write into the array of keys.
	s.Drift = keys[:min(len(keys), maxListed):min(len(keys), maxListed)]
	if differs {
		where := ""
		if len(keys) > 0 {
			where = fmt.Sprintf(" at %s%s", keys[0], moreRRsets(len(keys)-1))
		}
		s.Drifted = newCondition(delivery.True, delivery.ReasonDriftFound, "a server has the zone's serial, and other data"+where)
		return
	}
	if len(keys) == 0 {
		s.Drift, s.Drifted = nil, newCondition(delivery.False, delivery.ReasonCompared,
			"the provider had the zone at the last comparison, or got the missing data then")
		return
	}
	s.Drifted = newCondition(delivery.True, delivery.ReasonDriftFound, fmt.Sprintf("the provider lost %s, which it had%s; Ready says "+
		"why it is not repaired", keys[0], moreRRsets(len(keys)-1)))
}

// sameReason ignores messages, because a Store does not keep messages of providers.
func sameReason(s *delivery.StateError, e *delivery.Error) bool {
	return s.Reason == e.Reason && s.Code == e.Code
}
