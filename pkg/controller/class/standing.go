// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// standing is what the classes in force have of a zone. The Ready of each of its Records is judged from it and the
// Record alone (S6.13), so that two standings say whether any Record has to be written (takesBack).
type standing struct {
	classes []classStanding
	// fault is what every Record of the zone is told, independent of the classes; the zero judgement for nothing. Where
	// silent is set no Record is told anything.
	fault  judgement
	silent bool
	// confirmed is what a Record says that every class has.
	confirmed judgement
	// owed are RRsets that a class does not have as they were when it confirmed its serial; nil errors where it is
	// not known why.
	owed map[delivery.RRsetKey]*delivery.Error
	// unlisted says that more are owed than are listed.
	unlisted bool
	// held is what a Record is told that the zone took in after settled; the zero judgement where no mass deletion
	// holds the zone (S7.5).
	held    judgement
	settled serial.Serial
}

// classStanding is what one class has of a zone.
type classStanding struct {
	// class is its name; empty where no class is in force, and what is settled counts as confirmed.
	class string
	// serial that it has confirmed; 0 for none.
	serial serial.Serial
	// fault is why it does not confirm more; the zero judgement: it is on its way.
	fault judgement
}

// has reports whether the class has confirmed a serial at or after one. Where the two cannot be compared (RFC 1982
// §3.2) that is not known.
func (s classStanding) has(taken serial.Serial) (has, known bool) {
	switch {
	case s.serial == 0 || taken.Ahead(s.serial):
		return false, true
	case taken != s.serial && !s.serial.Ahead(taken):
		return false, false
	}
	return true, true
}

// takesBack reports whether a Record that was Ready by the standing before may not be so by this one, or is for
// another reason.
func (s *standing) takesBack(before *standing) bool {
	if s.fault != before.fault || s.silent != before.silent || s.confirmed.reason != before.confirmed.reason {
		return true
	}
	for _, now := range s.classes {
		i := slices.IndexFunc(before.classes, func(was classStanding) bool { return was.class == now.class })
		if i < 0 {
			return true
		}
		if was := before.classes[i].serial; was != 0 {
			if has, known := now.has(was); !has || !known {
				return true
			}
		}
	}
	for key := range s.owed {
		if _, was := before.owed[key]; !was {
			return true
		}
	}
	return false
}

// standingOf decides what the Records of a zone are told.
func standingOf(f *facts) *standing {
	switch zone := f.zone; {
	case zone.DeletionTimestamp != nil:
		// Its Records are released when it goes. Until then they are told what delays that.
		fault := f.findRemovalFault()
		return &standing{fault: fault, silent: fault == judgement{}}
	case f.force.wrong != nil:
		return &standing{fault: judgement{metav1.ConditionFalse, string(f.force.wrong.Reason), cutMessage(f.force.wrong.Message)}}
	case len(f.classes) == 0:
		return standingWithoutClass(f)
	}
	s := &standing{owed: map[delivery.RRsetKey]*delivery.Error{}, settled: serial.Serial(f.zone.Status.SettledSerial)}
	if heldBy(f.zone).status != "" {
		s.held = held
	}
	var least serial.Serial
	for i, known := range f.classes {
		state := &known.state
		of := classStanding{class: known.class, serial: state.Serial, fault: known.findFault()}
		if f.frozen {
			of.fault = frozen
		}
		if s.classes = append(s.classes, of); i == 0 || least.Ahead(of.serial) {
			least = of.serial
		}
		if state.Intent != nil && state.Intent.Holder == "" {
			s.addOwed(known.report)
		}
	}
	s.confirmed = confirmedBy(least)
	for _, known := range f.classes {
		for rrset, err := range known.refused {
			told := *err
			told.Message = publicFault(known.class, err.Reason, err.Message)
			s.owed[rrset] = &told
		}
	}
	return s
}

// addOwed adds the RRsets that a class owes by its intent.
func (s *standing) addOwed(of report) {
	listed := of.state.Failed > 0 && len(of.refused) >= of.state.Failed // in what this process was told, however many
	s.unlisted = s.unlisted || !listed && (of.state.Intent.Unlisted || len(of.state.Intent.RRsets) == 0)
	for _, rrset := range of.state.Intent.RRsets {
		s.owed[rrset] = nil
	}
}

// standingWithoutClass is the standing of a zone that no class delivers: what it has is Ready when it is settled, once
// the classes that had it have it no more (S6.13).
func standingWithoutClass(f *facts) *standing {
	zone := f.zone
	switch fault := f.findRemovalFault(); {
	case fault.status != "":
		return &standing{fault: fault}
	case len(f.remains) > 0:
		return &standing{fault: leaving}
	}
	s := &standing{classes: []classStanding{{}}, confirmed: noClass, settled: serial.Serial(zone.Status.SettledSerial)}
	if heldBy(zone).status != "" {
		s.held = held
	}
	// else its Zone says why, and they are Pending as they were written: a zone that is being filled lacks its name
	// servers at first
	if f.findLacking() == "" {
		s.classes[0].serial = serial.Serial(zone.Status.SettledSerial)
	}
	return s
}

// judgeRecord decides what the Ready of a Record says, with the error of its own RRset; false where there is nothing
// to say.
func judgeRecord(record *v1alpha1.Record, s *standing) (judgement, string, bool) {
	taken := serial.Serial(record.Status.Serial)
	if s.silent || taken == 0 {
		return judgement{}, "", false
	}
	if s.fault.status != "" {
		return s.fault, "", true
	}
	waits := false
	for _, of := range s.classes {
		has, known := of.has(taken)
		switch {
		case !known:
			return judgement{}, "", false
		case has:
		case of.fault.status != "":
			return of.fault, "", true
		default:
			waits = true
		}
	}
	switch {
	case waits && s.held.status != "" && taken.Ahead(s.settled):
		return s.held, "", true
	case waits:
		return pending, "", true
	}
	switch failure, owed := s.findOwed(record); {
	case failure != nil:
		return judgement{metav1.ConditionFalse, string(failure.Reason), cutMessage(failure.Message)}, cutMessage(failure.Error()), true
	case owed:
		return pending, "", true
	case s.unlisted:
		return judgement{}, "", false
	}
	return s.confirmed, "", true
}

// findOwed reports whether the RRset of a Record is owed, and why where that is known.
func (s *standing) findOwed(record *v1alpha1.Record) (failure *delivery.Error, owed bool) {
	if len(s.owed) > 0 {
		if key, err := delivery.ParseRRsetKey(record.Status.FQDN + " " + record.Spec.Type); err == nil {
			failure, owed = s.owed[key]
		}
	}
	return failure, owed
}
