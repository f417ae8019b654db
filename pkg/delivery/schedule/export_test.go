// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Story is one delivery that is decided step by step, without a Loop, a Store and a provider: what these would
// answer, the story says.
type Story struct {
	Config Config
	Zone   delivery.Zone
	Class  delivery.Class
	Now    time.Time
	// Snapshot is what there is of the zone, nil for nothing.
	Snapshot *zoneview.Snapshot
	Stored   delivery.State
	// Taken: another zone has the name. Awaited, Given: another one waits for it, or has it first. Replaced: the
	// classes in force have the zone.
	Taken, Awaited, Given, Replaced bool

	withdrawnNow bool
	m            memory
	f            facts
	act          action
	tried        tried
	unasked      func() // takes back what the fence recorded
}

// Restart forgets what the process knew, as a crash does.
func (s *Story) Restart() { s.m = memory{} }

// Next decides, and carries out what needs no provider, until there is something to wait for or to ask.
func (s *Story) Next() []string {
	s.f = facts{
		began: s.Now, now: s.Now, random: func(int64) int64 { return 0 }, config: &s.Config, zone: s.Zone, class: s.Class, revision: 1,
		changed: s.Now, withdrawn: s.withdrawnNow,
	}
	if s.Snapshot != nil {
		s.f.view = &view{s.Snapshot.FQDN(), s.Snapshot.Serial(), s.Snapshot.Hash}
	}
	s.m.beginAttempt(&s.f)
	var said []string
	for range 20 {
		s.f.claims = claims{awaited: s.Awaited, given: s.Given, replaced: s.Replaced}
		s.m, s.act = next(s.m, &s.f)
		if line := s.describeAction(); s.act.do != doLoad && s.act.do != doClaim {
			said = append(said, line)
		}
		if !s.carryOut() {
			return said
		}
	}
	panic("invariant: decides for ever: " + strings.Join(said, "\n"))
}

// continueAttempt goes on with an attempt that found something to repair.
func (s *Story) continueAttempt() []string {
	s.m, s.act = next(s.m, &s.f)
	said := s.describeAction()
	s.carryOut()
	return []string{said}
}

func (s *Story) describeAction() string {
	what := string(s.act.do)
	switch s.act.do {
	case doWait:
		if until := s.m.wake(s.f.began); !until.IsZero() {
			what += fmt.Sprintf(" %s", until.Sub(s.Now))
		}
	case doWithdraw:
		what += " " + s.m.state.Zone.String()
		s.saveState(beginState(s.m.stateWithdrawing(&s.f, s.m.state.Serial), s.Now))
	case doDeliver:
		var err error
		s.tried, err = s.m.planDelivery(&s.f, s.act.repeat, func(from delivery.State) ([]delivery.Plan, error) {
			return s.Config.MakePlans(context.Background(), from, s.Snapshot)
		})
		if err != nil {
			return "deliver: " + err.Error()
		}
		if next, covered := s.m.stateDelivering(&s.f, s.tried); !covered {
			// The fence records the intent before the first call.
			s.unasked = func(stored, known, state delivery.State) func() {
				return func() { s.Stored, s.m.stored, s.m.state = stored, known, state }
			}(s.Stored, s.m.stored, s.m.state)
			s.saveState(beginState(next, s.Now))
		}
		for _, plan := range s.tried.plans {
			what += " " + describeState(plan)
		}
	}
	return what + ": " + s.act.why
}

// describeState returns a plan in a line.
func describeState(plan delivery.Plan) string {
	if plan.Changes == nil {
		count := 0
		for range plan.All {
			count++
		}
		return fmt.Sprintf("all %d RRsets at serial %d", count, plan.Serial)
	}
	var changes []string
	for _, change := range plan.Changes {
		sign := "~"
		if len(change.After.Data) == 0 {
			sign = "-"
		} else if len(change.Before.Data) == 0 {
			sign = "+"
		}
		changes = append(changes, sign+change.After.Key().String())
	}
	noun := "changes"
	if len(changes) == 1 {
		noun = "change"
	}
	text := fmt.Sprintf("%d %s from serial %d to %d", len(changes), noun, plan.Since, plan.Serial)
	if len(changes) > 0 {
		text += " (" + strings.Join(changes, ", ") + ")"
	}
	return text
}

func (s *Story) saveState(next delivery.State) {
	next.Version = "stored"
	s.Stored = next
	s.m.keepStored(next)
}

// carryOut does what needs no provider. more: the attempt is not over.
func (s *Story) carryOut() (more bool) {
	m, f := &s.m, &s.f
	switch s.act.do {
	case doLoad:
		s.withdrawnNow = s.withdrawnNow && !f.wanted()
		m.loadState(s.Stored, s.Config.Identity)
	case doClaim:
		f.claimed, f.taken = true, s.Taken
	case doInherit:
		f.inherited = true
	case doLookUp:
		f.lookedUp = true
	case doTakeOver:
		var touched []delivery.RRsetKey
		once := false
		if m.state.Intent == nil {
			touched, once = s.Config.FindTouched(context.Background(), s.Zone.UID, m.state.Serial, s.Snapshot)
		}
		m.takeOver(f, touched, once, s.act.quiet)
	case doFail:
		s.concludeAttempt(m.recordFailure(f, f.serial(m), delivery.Report{}, s.act.err))
		return false
	case doForget:
		s.forget(name.Name{})
		return false
	default:
		return false
	}
	return true
}

// concludeAttempt stores and tells what came of an attempt.
func (s *Story) concludeAttempt(done outcome) string {
	said := string(done.event.Outcome)
	if !done.unsaved {
		s.saveState(done.state)
	}
	if done.event.Recovered {
		said += ", recovered"
	}
	for _, failure := range done.event.Failed {
		said += fmt.Sprintf(", %s is refused", failure.Key())
	}
	return said
}

// Confirmed is that a provider has done what it was asked, but for some RRsets.
func (s *Story) Confirmed(failed ...delivery.Failure) []string {
	report := delivery.Report{Failed: failed}
	if s.Snapshot != nil {
		report.Confirmed = s.Snapshot.Serial()
	}
	return s.Answer(report, nil)
}

// Unasked says that the provider has not asked the fence: it found nothing to write.
func (s *Story) Unasked() { s.unasked() }

// Answer is what the provider says of what it was asked last.
func (s *Story) Answer(report delivery.Report, err error) []string {
	m, f := &s.m, &s.f
	f.now = s.Now
	var said string
	switch s.act.do {
	case doDeliver:
		said = s.concludeAttempt(m.recordAnswer(f, s.tried, report, err))
	case doWithdraw:
		said = s.concludeWithdrawal(err)
	default:
		return []string{"the provider was asked nothing"}
	}
	return []string{said}
}

func (s *Story) concludeWithdrawal(err error) string {
	m, f := &s.m, &s.f
	if err == nil {
		return s.forget(name.Name{})
	}
	e, zone := delivery.AsError(err), m.state.Zone
	if !m.isAbsent(f, e) {
		return s.concludeAttempt(m.recordFailure(f, m.state.Serial, delivery.Report{}, e))
	}
	return s.forget(zone) + fmt.Sprintf(", %s is not there any more", zone)
}

func (s *Story) forget(absent name.Name) string {
	said := s.concludeAttempt(s.m.forgetDelivery(&s.f, absent))
	s.Stored, s.withdrawnNow = delivery.State{}, true
	return said
}

// Compared is what the provider holds.
func (s *Story) Compared(drift delivery.Drift, err error) []string {
	if s.act.do != doVerify {
		return []string{"the provider was asked for no comparison"}
	}
	s.f.now = s.Now
	done, anything := s.m.recordComparison(&s.f, drift, err)
	said := "the same"
	if anything {
		said = s.concludeAttempt(done)
	}
	if s.f.repair {
		return append([]string{said}, s.continueAttempt()...)
	}
	return []string{said}
}

// Wake is when the delivery is looked at again, as a duration from now.
func (s *Story) Wake() string {
	if s.f.again {
		return "again at once"
	}
	wake := s.m.wake(s.f.began)
	if wake.IsZero() {
		return "waits for a change"
	}
	return "again in " + wake.Sub(s.Now).String()
}

// WithDefaults is the Config that a Loop goes by.
func (c Config) WithDefaults() Config { return c.withDefaults() }

// Retry tries again at once what failed or waits with a class, as another Generation of it does.
func (l *Loop) Retry(class string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.classes[class]
	if c == nil {
		return
	}
	c.queue.restartJobs()
	l.enqueueClass(c)
}
