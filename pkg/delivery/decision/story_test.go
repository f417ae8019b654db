// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

// A lease, plus a call begun just before the lease is lost.
const repeatAfter = 22*time.Second + 500*time.Millisecond

// story decides a delivery without a Loop, a Store or a provider, and supplies their answers.
type story struct {
	Identity string
	Zone     delivery.Zone
	Class    delivery.Class
	Now      time.Time
	zone     *deliverytest.Zone
	views    *zoneview.Set
	source   plan.Source
	// Snapshot is nil if the zone does not exist.
	Snapshot *zoneview.Snapshot
	Stored   delivery.State
	// Another zone holds, awaits, or has precedence for the name; the zone's active classes have confirmed the zone.
	Taken, Awaited, Given, Replaced bool

	withdrawnNow bool
	m            decision.Memory
	f            decision.Facts
	act          decision.Action
	tried        decision.PlannedWrite
	unasked      func() // reverts the intent that the fence recorded
}

func (s *story) Restart() { s.m = decision.Memory{} }

// Next runs all actions until an action has to wait or to call the provider.
func (s *story) Next() []string {
	s.f = decision.Facts{
		Began: s.Now, Now: s.Now, Random: func(int64) int64 { return 0 }, Identity: s.Identity, Backoff: delivery.Backoff{}.WithDefaults(),
		RepeatAfter: repeatAfter, Zone: s.Zone, Class: s.Class, Revision: 1, ChangedAt: s.Now, Removed: s.withdrawnNow,
	}
	if s.Snapshot != nil {
		s.f.View = &decision.View{FQDN: s.Snapshot.FQDN(), Serial: s.Snapshot.Serial(), Hash: s.Snapshot.Hash}
	}
	s.m.BeginAttempt(&s.f)
	var messages []string
	for range 20 {
		s.f.Claims = decision.Claims{AwaitedByOther: s.Awaited, NeededByOther: s.Given, Replaced: s.Replaced}
		s.m, s.act = decision.Next(s.m, &s.f)
		if line := s.describeAction(); s.act.Do != decision.DoLoad && s.act.Do != decision.DoClaim {
			messages = append(messages, line)
		}
		if !s.performAction() {
			return messages
		}
	}
	panic("invariant: decides for ever: " + strings.Join(messages, "\n"))
}

func (s *story) continueAttempt() []string {
	s.m, s.act = decision.Next(s.m, &s.f)
	message := s.describeAction()
	s.performAction()
	return []string{message}
}

func (s *story) describeAction() string {
	what := string(s.act.Do)
	switch s.act.Do {
	case decision.DoWait:
		if until := s.m.NextWake(s.f.Began); !until.IsZero() {
			what += fmt.Sprintf(" %s", until.Sub(s.Now))
		}
	case decision.DoRemove:
		what += " " + s.m.State.Zone.String()
		s.saveState(decision.BeginState(s.m.StateDuringRemoval(&s.f, s.m.State.Serial), s.Now))
	case decision.DoDeliver:
		var err error
		s.tried, err = s.m.PlanDelivery(&s.f, s.act.Repeat, func(from delivery.State) ([]delivery.Plan, error) {
			return s.source.MakePlans(context.Background(), from, s.Snapshot)
		})
		if err != nil {
			return "deliver: " + err.Error()
		}
		if next, covered := s.m.StateDuringDelivery(&s.f, s.tried); !covered {
			s.unasked = func(stored, known, state delivery.State) func() {
				return func() { s.Stored, s.m.Stored, s.m.State = stored, known, state }
			}(s.Stored, s.m.Stored, s.m.State)
			s.saveState(decision.BeginState(next, s.Now))
		} else if known := s.Stored; known.Intent != nil || known.Serial != s.m.State.Serial || known.Zone != next.Zone ||
			known.Target != next.Target || len(s.tried.Plans) != 1 {
			panic("invariant: the next worker would not find the RRsets")
		}
		for _, plan := range s.tried.Plans {
			what += " " + describePlan(plan)
		}
	}
	return what + ": " + s.act.Why
}

func describePlan(plan delivery.Plan) string {
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

func (s *story) saveState(next delivery.State) {
	next.Version = "stored"
	s.Stored = next
	s.m.KeepStored(next)
}

// more is false when the attempt has ended.
func (s *story) performAction() (more bool) {
	m, f := &s.m, &s.f
	switch s.act.Do {
	case decision.DoLoad:
		s.withdrawnNow = s.withdrawnNow && !f.ShouldDeliver()
		m.LoadState(s.Stored, s.Identity)
	case decision.DoClaim:
		f.NameClaimed, f.NameTaken = true, s.Taken
	case decision.DoInherit:
		f.Inherited = true
	case decision.DoLookUp:
		f.LookedUp = true
	case decision.DoTakeOver:
		touched, once := s.source.FindChangedRRsets(context.Background(), m.State, s.Snapshot)
		m.TakeOver(f, touched, once, s.act.Quiet)
	case decision.DoFail:
		s.concludeAttempt(m.RecordFailure(f, f.TargetSerial(m), delivery.Report{}, s.act.Err))
		return false
	case decision.DoForget:
		s.forgetZones(name.Name{})
		return false
	default:
		return false
	}
	return true
}

func (s *story) concludeAttempt(done decision.Result) string {
	message := string(done.Event.Outcome)
	if !done.SkipStore {
		s.saveState(done.State)
	}
	if done.Event.Recovered {
		message += ", recovered"
	}
	for _, failure := range done.Event.Failed {
		message += fmt.Sprintf(", %s is refused", failure.Key())
	}
	return message
}

func (s *story) Confirmed(failed ...delivery.Failure) []string {
	report := delivery.Report{Failed: failed}
	if s.Snapshot != nil {
		report.Confirmed = s.Snapshot.Serial()
	}
	return s.Answer(report, nil)
}

// Unasked reverts the recorded intent, as for a provider that calls no fence because nothing differs.
func (s *story) Unasked() { s.unasked() }

func (s *story) Answer(report delivery.Report, err error) []string {
	m, f := &s.m, &s.f
	f.Now = s.Now
	var message string
	switch s.act.Do {
	case decision.DoDeliver:
		message = s.concludeAttempt(m.RecordAnswer(f, s.tried, report, err))
	case decision.DoRemove:
		message = s.concludeRemoval(err)
	default:
		return []string{"the provider was asked nothing"}
	}
	return []string{message}
}

func (s *story) concludeRemoval(err error) string {
	m, f := &s.m, &s.f
	if err == nil {
		return s.forgetZones(name.Name{})
	}
	e, zone := delivery.AsError(err), m.State.Zone
	if !m.CountAbsence(f, e) {
		return s.concludeAttempt(m.RecordFailure(f, m.State.Serial, delivery.Report{}, e))
	}
	return s.forgetZones(zone) + fmt.Sprintf(", %s is not there any more", zone)
}

func (s *story) forgetZones(absent name.Name) string {
	message := s.concludeAttempt(s.m.ForgetDelivery(&s.f, absent))
	s.Stored, s.withdrawnNow = delivery.State{}, true
	return message
}

func (s *story) Compared(drift delivery.Drift, err error) []string {
	if s.act.Do != decision.DoVerify {
		return []string{"the provider was asked for no comparison"}
	}
	s.f.Now = s.Now
	done := s.m.RecordComparison(&s.f, drift, err)
	message := "the same"
	if !done.SkipAll {
		message = s.concludeAttempt(done)
	}
	if s.f.Repair {
		return append([]string{message}, s.continueAttempt()...)
	}
	return []string{message}
}

func (s *story) Wake() string {
	if s.f.Again {
		return "again at once"
	}
	wake := s.m.NextWake(s.f.Began)
	if wake.IsZero() {
		return "waits for a change"
	}
	return "again in " + wake.Sub(s.Now).String()
}
