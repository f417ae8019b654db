// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Standing is the delivery of a zone by all classes in force. With a Record it decides the Ready of the Record (S6.13),
// so two Standings tell which Records must be judged again (TakesBack, NewlyOwed, Same).
type Standing struct {
	classes []classStanding
	// fault is the Ready of every Record of the zone; the zero Judgement for none. silent: no Record is judged.
	fault  Judgement
	silent bool
	// confirmed is the Ready of a Record that every class has.
	confirmed Judgement
	// owed are RRsets that a class does not have as of its serial, with the reason; nil: unknown.
	owed map[delivery.RRsetKey]*delivery.Error
	// unlisted: more RRsets are owed than listed.
	unlisted bool
	// held is the Ready of a Record changed after settled; the zero Judgement unless a mass deletion holds the zone
	// (S7.5).
	held    Judgement
	settled serial.Serial
}

// classStanding is the delivery of a zone by one class.
type classStanding struct {
	// class is "" if no class is in force; the settled serial then counts as confirmed.
	class string
	// serial confirmed by the class; 0 for none.
	serial serial.Serial
	// fault is the reason why the class does not confirm more; the zero Judgement: the delivery is under way.
	fault Judgement
}

// has reports whether the class has confirmed a serial. known is false if the serials cannot be compared (RFC 1982
// §3.2).
func (s classStanding) has(taken serial.Serial) (has, known bool) {
	switch {
	case s.serial == 0 || taken.Ahead(s.serial):
		return false, true
	case taken != s.serial && !s.serial.Ahead(taken):
		return false, false
	}
	return true, true
}

// TakesBack reports whether a Record that was Ready before may not be Ready now, or for another reason. If false, only
// the Records that are not Ready need another judgement.
func (s *Standing) TakesBack(before *Standing) bool {
	if s.fault != before.fault || s.silent != before.silent || s.confirmed.Reason != before.confirmed.Reason {
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
	return false
}

// NewlyOwed returns the names of RRsets that are owed now and were not before. Their Records may not be Ready, whatever
// TakesBack reports.
func (s *Standing) NewlyOwed(before *Standing) (names []name.Name) {
	for key := range s.owed {
		if _, was := before.owed[key]; !was {
			names = append(names, key.Name)
		}
	}
	return names
}

// Same reports whether two Standings judge each Record alike.
func (s *Standing) Same(other *Standing) bool {
	return s.fault == other.fault && s.silent == other.silent && s.confirmed == other.confirmed && s.unlisted == other.unlisted &&
		s.held == other.held && (s.held == Judgement{} || s.settled == other.settled) && slices.Equal(s.classes, other.classes) &&
		maps.EqualFunc(s.owed, other.owed, func(a, b *delivery.Error) bool {
			return a == b || a != nil && b != nil && a.Reason == b.Reason && a.Code == b.Code && a.Message == b.Message
		})
}

// StandingOf decides the Standing of a zone.
func StandingOf(f *Facts) *Standing {
	switch zone := f.Zone; {
	case zone.DeletionTimestamp != nil:
		// The Records are released with the Zone. Until then they tell the obstacle.
		fault := f.findRemovalFault()
		return &Standing{fault: fault, silent: fault == Judgement{}}
	case f.Force.Wrong != nil:
		return &Standing{fault: Judgement{metav1.ConditionFalse, string(f.Force.Wrong.Reason), ShortenMessage(f.Force.Wrong.Message)}}
	case len(f.Classes) == 0:
		return standingWithoutClass(f)
	}
	s := &Standing{owed: map[delivery.RRsetKey]*delivery.Error{}, settled: serial.Serial(f.Zone.Status.SettledSerial)}
	if heldBy(f.Zone).Status != "" {
		s.held = held
	}
	var least serial.Serial
	for i := range f.Classes {
		known := &f.Classes[i]
		of := classStanding{class: known.Class, serial: known.State.Serial, fault: known.findFault()}
		if f.Frozen {
			of.fault = frozen
		}
		if s.classes = append(s.classes, of); i == 0 || least.Ahead(of.serial) {
			least = of.serial
		}
		if known.State.Intent != nil && known.State.Intent.Holder == "" {
			s.addOwed(&known.State)
		}
	}
	s.confirmed = confirmedBy(least)
	for i := range f.Classes {
		known := &f.Classes[i]
		for _, refused := range known.State.Refused {
			told := *refused.Err
			told.Message = PublicFault(known.Class, told.Reason, told.Message)
			s.owed[refused.Key()] = &told
		}
	}
	return s
}

// addOwed adds the RRsets that a class owes by its intent.
func (s *Standing) addOwed(of *delivery.State) {
	listed := of.Failed > 0 && len(of.Refused) >= of.Failed
	s.unlisted = s.unlisted || !listed && (of.Intent.Unlisted || len(of.Intent.RRsets) == 0)
	for _, rrset := range of.Intent.RRsets {
		s.owed[rrset] = nil
	}
}

// standingWithoutClass returns the Standing of a zone without classes: its Records are Ready when the zone is settled
// and no former class has it any more (S6.13).
func standingWithoutClass(f *Facts) *Standing {
	zone := f.Zone
	switch fault := f.findRemovalFault(); {
	case fault.Status != "":
		return &Standing{fault: fault}
	case len(f.Remains) > 0:
		return &Standing{fault: leaving}
	}
	s := &Standing{classes: []classStanding{{}}, confirmed: noClass, settled: serial.Serial(zone.Status.SettledSerial)}
	if heldBy(zone).Status != "" {
		s.held = held
	}
	// A zone that is being filled lacks its name servers at first: its Records stay Pending, and the Zone tells why.
	if f.findLacking() == "" {
		s.classes[0].serial = serial.Serial(zone.Status.SettledSerial)
	}
	return s
}

// Judge decides the Ready of a Record, with the error of its own RRset. ok is false if the Record stays as it is.
func (s *Standing) Judge(record *v1alpha1.Record) (of Judgement, lastError string, ok bool) {
	taken := serial.Serial(record.Status.Serial)
	if s.silent || taken == 0 {
		return Judgement{}, "", false
	}
	if s.fault.Status != "" {
		return s.fault, "", true
	}
	waits := false
	for _, of := range s.classes {
		has, known := of.has(taken)
		switch {
		case !known:
			return Judgement{}, "", false
		case has:
		case of.fault.Status != "":
			return of.fault, "", true
		default:
			waits = true
		}
	}
	switch {
	case waits && s.held.Status != "" && taken.Ahead(s.settled):
		return s.held, "", true
	case waits:
		return pending, "", true
	}
	switch failure, owed := s.findOwed(record); {
	case failure != nil:
		return Judgement{metav1.ConditionFalse, string(failure.Reason), ShortenMessage(failure.Message)},
			ShortenMessage(failure.Error()), true
	case owed:
		return pending, "", true
	case s.unlisted:
		return Judgement{}, "", false
	}
	return s.confirmed, "", true
}

// findOwed reports whether the RRset of a Record is owed, and the reason if known.
func (s *Standing) findOwed(record *v1alpha1.Record) (failure *delivery.Error, owed bool) {
	if len(s.owed) > 0 {
		if key, err := delivery.ParseRRsetKey(record.Status.FQDN + " " + record.Spec.Type); err == nil {
			failure, owed = s.owed[key]
		}
	}
	return failure, owed
}
