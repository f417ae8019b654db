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

// Result is what an attempt leaves behind: a state to be stored and an event to be told of it. A state that is
// stored already is not stored again.
type Result struct {
	State delivery.State
	Event delivery.Event
	// Unsaved says that the event is told and nothing is stored, Untold that it is not told either, and IfNew that
	// this holds where nothing new is to be stored.
	Unsaved, Untold, IfNew bool
}

var delivered = newCondition(delivery.True, delivery.ReasonDelivered, "everything in the class has confirmed the serial")

// confirmedBy is the condition of a delivery that everything in its class has confirmed.
func confirmedBy(c *delivery.Class) delivery.Condition {
	ready := delivered
	if c.Servers != nil {
		ready.Reason = delivery.ReasonAllInstancesConfigured
	}
	return ready
}

// BeginState is the state that is recorded before the first call outside.
func BeginState(s delivery.State, now time.Time) delivery.State {
	intent := *s.Intent
	intent.Time = now
	if s.Intent = &intent; s.Version == "" {
		s.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, "the zone is being delivered for the first time")
	}
	return s
}

// onTheirWay is what Ready says of servers that have not fetched yet.
const onTheirWay = "servers are on their way to the serial"

// remains is what Ready says besides, until the next serial is confirmed, where the history of the zone did not reach
// back to what the provider had.
const remains = "; RRsets that the zone had and has no more may still stand there, since what it lost after the last confirmed serial is " +
	"not kept that long: " +
	"compare what the provider has with zones/entries, and remove the rest there"

// RecordAnswer is what comes of a delivery that the provider has answered, with what it did and with err.
func (m *Memory) RecordAnswer(f *Facts, t Tried, report delivery.Report, err error) Result {
	if t.Repeat && err == nil {
		m.due.clear(dueRepeat)
	}
	if err == nil {
		if e := t.splitZoneless(report.Failed); e != nil {
			err = e
		}
	}
	report.Failed = m.withAside(t.Plans, report.Failed, err == nil)
	plan := t.Plans[0]
	if err == nil {
		return m.recordSuccess(f, t, plan, report)
	}
	e := delivery.AsError(err)
	if e.Reason == delivery.ReasonZoneNotFound {
		m.loseZone(plan.Serial, f.Now)
	}
	return m.RecordFailure(f, plan.Serial, report, e)
}

// RecordFailure says why an attempt failed and decides when the next one is.
func (m *Memory) RecordFailure(f *Facts, at serial.Serial, report delivery.Report, e *delivery.Error) Result {
	next := m.State
	first := next.Error == nil
	next.Intent = m.freeIntent(next.Intent, f.Identity)
	since := f.Now
	if !first && sameReason(next.Error, e) {
		since = next.Error.Time
	}
	describeFailure(&next, e, since)
	next.Failed, next.Skipped = len(report.Failed), report.Skipped
	if report.Servers != nil {
		next.Servers = report.Servers
	}
	if f.compared {
		next.Request = f.Zone.Request
	}
	m.failures++
	m.blocked = false
	m.due[dueRetry] = m.scheduleRetry(f, e, m.failures-1, at)
	m.due.clear(dueOwed)
	event := delivery.Event{Outcome: delivery.OutcomeFailed, Serial: at, Failed: report.Failed, First: first}
	if e.WholeClass {
		f.Pause, event.OfClass = e, e
	}
	return Result{State: next, Event: event}
}

// scheduleRetry is when what failed, after so many failures before, is tried again: zero where that waits for a change.
func (m *Memory) scheduleRetry(f *Facts, e *delivery.Error, failures int, at serial.Serial) time.Time {
	if e.Permanent && e.RetryAfter <= 0 {
		m.blocked, m.blockedAt = true, at
		return time.Time{}
	}
	return f.Now.Add(f.Backoff.After(e, failures, f.jitter))
}

// recordSuccess is what comes of a delivery without an error of its own: delivered, but for RRsets refused, or on the
// way.
func (m *Memory) recordSuccess(f *Facts, t Tried, plan delivery.Plan, report delivery.Report) Result {
	if stood, fresh := t.splitFailed(report.Failed); min(len(stood), len(fresh)) > maxListed {
		// An Intent that has the whole zone written does not reach back to what was removed: the whole change is
		// tried again.
		return m.RecordFailure(f, plan.Serial, report, newRefusal(report.Failed))
	}
	f.Worked = true
	next := m.State
	next.Zone, next.Target = plan.Zone, f.Class.Target
	next.Servers, next.Failed, next.Skipped = report.Servers, len(report.Failed), report.Skipped
	event := delivery.Event{Outcome: delivery.OutcomeDelivered, Serial: plan.Serial, Failed: report.Failed, Proven: report.Proven}
	had := next.Error
	next.Error = nil
	if report.Confirmed != plan.Serial {
		event.Outcome = delivery.OutcomePending
		m.awaitServers(f, &next, plan.Serial, report.Servers)
	} else {
		m.confirmSerial(f, t, &next, plan, report)
	}
	if report.Remains {
		event.Remains = plan.Zone
	}
	event.First = had == nil && next.Error != nil
	event.Recovered = had != nil && next.Error == nil && event.Outcome == delivery.OutcomeDelivered
	if event.Outcome == delivery.OutcomePending && next.Error == nil {
		next.Error = had // It has not recovered before it has arrived.
	}
	return Result{State: next, Event: event}
}

// awaitServers has servers asked again that are on their way to a serial.
func (m *Memory) awaitServers(f *Facts, next *delivery.State, at serial.Serial, servers []delivery.Server) {
	if m.pending != at {
		m.pending, m.polls = at, 0
	}
	m.due[duePoll] = f.Now.Add(min(500*time.Millisecond<<min(m.polls, 7), time.Minute))
	m.polls++
	m.failures = 0
	next.Intent = m.freeIntent(next.Intent, f.Identity)
	next.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, onTheirWay)
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

// confirmSerial says that everything in the class has the serial, but for what was refused.
func (m *Memory) confirmSerial(f *Facts, t Tried, next *delivery.State, plan delivery.Plan, report delivery.Report) {
	f.Settled = true
	next.Serial, next.Hash, next.SyncTime, next.Holder = plan.Serial, plan.Hash, f.Now, f.Identity
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
	m.confirmIntent(f, t, next, plan, report.Failed)
	if len(report.Failed) == 0 {
		m.due.clear(dueOwed)
		m.refused.times = 0
		return
	}
	e := newRefusal(report.Failed)
	describeFailure(next, e, f.Now)
	// A change of the zone goes out meanwhile: what is refused is set aside, it holds up nothing. Nor does a change
	// that goes out before it is due bring it forward or put it off.
	if slices.ContainsFunc(report.Failed, func(failure delivery.Failure) bool { return !t.owed[failure.Key()] }) {
		m.refused.times = 0
		m.due.clear(dueOwed)
	}
	if len(m.refused.turn) > 0 {
		f.Again = true // When the next time is, is decided at the end of this one.
	} else if e.RetryAfter > 0 || e.Permanent || !m.due.waits(dueOwed, f.Began) {
		m.refused.times++
		m.due[dueOwed] = m.scheduleRetry(f, e, m.refused.times-1, plan.Serial)
	}
}

// confirmDrift forgets drift that is mended, and has the provider compared after what an attempt did in the place of
// that.
func (m *Memory) confirmDrift(f *Facts, next *delivery.State, failed []delivery.Failure) {
	remain := map[delivery.RRsetKey]bool{}
	for _, failure := range failed {
		remain[failure.Key()] = true
	}
	mended := func(key delivery.RRsetKey) bool { return !remain[key] }
	if next.Drifted.Status == delivery.True {
		describeDrift(next, slices.DeleteFunc(slices.Clone(next.Drift), mended))
	}
	maps.DeleteFunc(m.drift.rrsets, func(key delivery.RRsetKey, _ bool) bool { return mended(key) })
	if f.compared {
		next.Request = f.Zone.Request
	} else if m.requested(f) || m.due.isSet(dueCompare) && !m.due.waits(dueCompare, f.Began) {
		f.Again = true // A comparison fell due while something else was done.
	}
}

// confirmIntent says what is owed although the serial is confirmed.
func (m *Memory) confirmIntent(f *Facts, t Tried, next *delivery.State, plan delivery.Plan, failed []delivery.Failure) {
	intent := next.Intent
	switch {
	case m.due.isSet(dueRepeat) && intent != nil:
		// Kept until the repeat, and mine until then: another worker that takes it over repeats it too.
		kept := *intent
		kept.Holder, kept.Time = f.Identity, f.Now
		m.takeover.whole = m.takeover.whole || plan.Changes == nil && !m.takeover.atOne
		var owed []delivery.RRsetKey // A refused RRset is owed after the repeat too, and is not listed where the fence was not asked.
		for _, failure := range failed {
			owed = append(owed, failure.Key())
		}
		kept.RRsets, kept.Unlisted = addRRsets(owed, kept.Unlisted, kept.RRsets)
		if len(kept.RRsets) > maxListed {
			kept.From, kept.RRsets = 0, kept.RRsets[:maxListed]
		}
		next.Intent = &kept
	case len(failed) > 0:
		next.Intent = m.setAside(t, plan.Serial, failed, f.Now)
	default:
		next.Intent = nil
	}
	if next.Intent == nil || !next.Intent.Unlisted || next.Intent.Holder != "" {
		m.refused.aside, m.refused.turn = nil, nil
	}
}

// loseZone takes in that the provider has the zone no more. Made again there it is empty, so the next plan is of the
// whole zone; what may stand there all the same, if it comes back as it was, stays known.
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

// RecordComparison takes in what the provider was found to hold. Where that is to be repaired it is put into the
// intent, beside what is owed, and f.Repair is set.
func (m *Memory) RecordComparison(f *Facts, drift delivery.Drift, err error) Result {
	at := f.View.Serial
	m.due[dueCompare] = f.Now.Add(f.jitter(f.Class.DriftInterval))
	f.compared = true
	if err != nil {
		return m.notCompared(f, drift, err)
	}
	f.Worked = true
	m.State.DriftCheckTime = f.Now
	if drift.Servers != nil {
		m.State.Servers = drift.Servers
	}
	behind := slices.ContainsFunc(drift.Servers, func(s delivery.Server) bool { return s.Err != nil || s.Serial != at })
	keys := keysOf(drift.Missing, drift.Differing)
	// A refused RRset is not there, and Ready says so: that is drift only where it was there before.
	owed := m.listOwed()
	refused := func(set delivery.RRset) bool { return owed[set.Key()] && !slices.Contains(m.State.Drift, set.Key()) }
	drift.Missing, drift.Differing = slices.DeleteFunc(drift.Missing, refused), slices.DeleteFunc(drift.Differing, refused)
	drifted := keysOf(drift.Missing, drift.Differing)
	m.countDrift(f, drift)
	describeDrift(&m.State, drifted)
	if len(keys) == 0 && !behind && m.State.Intent == nil {
		return m.reportComparison(f)
	}
	f.Repair = true
	intent := delivery.Intent{Serial: at, From: at, Time: f.Now}
	if m.State.Intent != nil {
		intent, f.owed = *m.State.Intent, owed
	}
	// A refused RRset, for good too, is tried once more.
	if m.knowsAside() {
		m.turnTo(slices.DeleteFunc(keys, func(key delivery.RRsetKey) bool { return owed[key] }))
	} else if rrsets, unlisted := addRRsets(intent.RRsets, false, keys); unlisted {
		m.State.Serial, m.State.Hash = 0, ""
	} else {
		intent.RRsets = rrsets
		m.State.Intent = &intent
	}
	event := delivery.Event{Outcome: delivery.OutcomeDrifted, Serial: at, State: m.State, Drift: drift}
	return Result{Event: event, Unsaved: true, Untold: len(drifted) == 0 && !behind}
}

// countDrift counts each RRset once that the provider does not hold, until it is mended, and those of others that came
// since the last comparison.
func (m *Memory) countDrift(f *Facts, drift delivery.Drift) {
	others := 0
	if m.drift.known {
		others = max(0, len(drift.Foreign)-m.drift.others)
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
	f.Missing, f.Differing, f.Others = countNew(drift.Missing), countNew(drift.Differing), others
	m.drift = driftCount{now, len(drift.Foreign), true}
}

// notCompared is what comes of a comparison that failed. The zone was delivered and nothing says that it no longer
// is, so Ready stays, unless the provider says that it has no such zone, or that its servers are none to deliver to.
func (m *Memory) notCompared(f *Facts, drift delivery.Drift, err error) Result {
	if errors.Is(err, delivery.ErrCannotList) {
		m.cannotList = true
		m.due.clear(dueCompare)
		if m.requested(f) {
			m.State.Drifted = newCondition(delivery.Unknown, delivery.ReasonCannotList, "the provider cannot say what it holds")
		}
		return m.reportComparison(f)
	}
	e := delivery.AsError(err)
	if e.Reason == delivery.ReasonZoneNotFound {
		f.Settled = false
		m.loseZone(f.View.Serial, f.Now)
		return m.RecordFailure(f, f.View.Serial, delivery.Report{}, e)
	}
	if e.Reason == delivery.ReasonInvalidConfiguration && drift.Servers != nil {
		f.Settled = false
		return m.RecordFailure(f, f.View.Serial, delivery.Report{Servers: drift.Servers}, e)
	}
	if e.WholeClass {
		f.Pause = e
	}
	m.due[dueCompare] = f.Now.Add(f.jitter(min(f.Class.DriftInterval, f.Backoff.Slow)))
	if m.State.Drifted.Status != delivery.True {
		m.State.Drifted = newCondition(delivery.Unknown, e.Reason, e.Message)
	}
	return m.reportComparison(f)
}

// reportComparison is what a comparison leaves behind where nothing is to be repaired: a request that was carried
// out, and news. That the provider holds the zone is none.
func (m *Memory) reportComparison(f *Facts) Result {
	next := m.State
	sameServers := slices.EqualFunc(m.Stored.Servers, next.Servers, delivery.Server.Alike) // They may come and go.
	if !m.requested(f) && sameServers && next.Drifted.Status != delivery.Unknown && m.Stored.Drifted.Status != delivery.True &&
		m.Stored.Drifted.Status != delivery.Unknown {
		return Result{Untold: true}
	}
	next.Request = f.Zone.Request
	event := delivery.Event{Outcome: delivery.OutcomeCompared, Serial: next.Serial, OfClass: f.Pause}
	return Result{State: next, Event: event, IfNew: true}
}

// A provider that has lost a zone for good cannot be asked to remove it. It is taken for removed where the
// provider has said nothing but that it has no such zone for absentTime, and to this process absentAttempts times in
// a row: a server that is being set up anew, or loads its zones, has it again before that.
const (
	absentTime     = 24 * time.Hour
	absentAttempts = 10
)

// IsAbsent reports whether the provider, which answers so when it is asked to remove a zone, is taken not to have it
// any more.
func (m *Memory) IsAbsent(f *Facts, e *delivery.Error) bool {
	since := m.State.Error
	if e.Reason != delivery.ReasonZoneNotFound {
		m.absent = 0
		return false
	}
	m.absent++
	return since != nil && sameReason(since, e) && f.Began.Sub(since.Time) >= absentTime && m.absent >= absentAttempts
}

// ForgetDelivery forgets a delivery of which nothing is at the provider any more.
func (m *Memory) ForgetDelivery(f *Facts, absent name.Name) Result {
	f.Settled, f.Again = true, f.Wanted() // what is wanted all the same begins anew
	event := delivery.Event{Outcome: delivery.OutcomeRemoved, Serial: m.State.Serial, Absent: absent}
	m.Loaded, m.Stored, m.State, m.unsaved = false, delivery.State{}, delivery.State{}, nil
	m.failures, m.refused.times, m.blocked, m.pending, m.polls, m.absent = 0, 0, false, 0, 0, 0
	m.due.clear(dueRepeat, dueOwed, duePoll, dueCompare, dueView)
	return Result{Event: event, Unsaved: true}
}

// StateRemoving is the state while the zone is removed with a plan.
func (m *Memory) StateRemoving(f *Facts, at serial.Serial) delivery.State {
	next := m.State
	intent := delivery.Intent{Serial: at, From: cmp.Or(m.State.Earliest(), at), Holder: f.Identity, Unlisted: true}
	if m.State.Intent != nil {
		intent.RRsets, intent.Unlisted = m.State.Intent.RRsets, m.State.Intent.Unlisted
	}
	next.Intent = &intent
	next.Ready = newCondition(delivery.Unknown, delivery.ReasonPending, "the zone is being withdrawn")
	next.Hash = "" // The confirmed content does not stand any more.
	next.Drifted, next.Drift = delivery.Condition{}, nil
	return next
}

// StateStopped is the state that an attempt leaves behind which ends between two calls. owed says that it is to be
// stored: no call is on its way, so no worker has to wait for one.
func (m *Memory) StateStopped(f *Facts) (next delivery.State, owed bool) {
	next = m.State
	next.Intent = m.freeIntent(next.Intent, f.Identity)
	return next, !m.due.isSet(dueRepeat)
}

// RetryStore has the state loaded anew after the store failed, or where it is fenced.
func (m *Memory) RetryStore(f *Facts, fenced bool) {
	m.Loaded = false
	wait := f.Backoff.Base
	if fenced {
		m.due.clear(dueRepeat)
		wait = time.Second
	}
	m.due[dueRetry] = f.Now.Add(f.jitter(wait))
}

// AwaitClass has the delivery tried again when another class, which is at work on the zone, may have ended.
func (m *Memory) AwaitClass(f *Facts) { m.due[dueRetry] = f.Began.Add(f.jitter(time.Second)) }

// InheritState goes on from the state of another class that has brought the zone to the same place.
func (m *Memory) InheritState(f *Facts, theirs delivery.State) {
	// The changes that it had begun and did not write down are those of the zone since.
	intent := delivery.Intent{Serial: theirs.Serial, From: theirs.Serial, Time: f.Began, Unlisted: true}
	if theirs.Intent != nil {
		if intent = *theirs.Intent; intent.Holder != "" {
			intent.Holder, m.due[dueRepeat] = "", f.Began.Add(f.RepeatAfter)
		}
	}
	state := &m.State
	state.Zone, state.Target, state.Serial, state.Hash, state.Intent = theirs.Zone, theirs.Target, theirs.Serial, theirs.Hash, &intent
}

// nameTaken is why a zone is not delivered under its name.
func nameTaken(zone name.Name) *delivery.Error {
	return delivery.Errorf(delivery.ReasonConflict, "another zone of the class is named %s, or was and is being withdrawn, "+
		"and the class has one zone of a name, whatever their views; "+
		"this one is delivered when that one leaves: remove one of both, or deliver it by another class", zone)
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

// describeFailure says in a state what failed since when.
func describeFailure(s *delivery.State, e *delivery.Error, since time.Time) {
	s.Error = &delivery.StateError{Reason: e.Reason, Code: e.Code, Message: e.Message, Said: e.Said, Time: since}
	s.Ready = newCondition(delivery.False, e.Reason, e.Message)
}

// describeDrift says in a state what provider and zone differ in, as far as is known.
func describeDrift(s *delivery.State, keys []delivery.RRsetKey) {
	s.Drift = keys[:min(len(keys), maxListed):min(len(keys), maxListed)]
	if len(keys) == 0 {
		s.Drift, s.Drifted = nil, newCondition(delivery.False, delivery.ReasonCompared,
			"the provider held the zone when they were compared last, or was given what it lacked")
		return
	}
	s.Drifted = newCondition(delivery.True, delivery.ReasonDriftFound, fmt.Sprintf("the provider does not hold %s, which it did%s; "+
		"Ready says why it is not mended", keys[0], moreRRsets(len(keys)-1)))
}

// sameReason reports whether a failure is for the reason of the one before. The Message that a Store keeps is not the
// provider's.
func sameReason(s *delivery.StateError, e *delivery.Error) bool {
	return s.Reason == e.Reason && s.Code == e.Code
}
