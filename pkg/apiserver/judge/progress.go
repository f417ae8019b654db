// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Progress is the delivery of a zone by all classes in force, which decides Ready of the zone's Records.
type Progress struct {
	serial  serial.Serial
	classes []classProgress
	fault   Judgement // the Ready of every Record, or zero
	silent  bool      // every Record keeps its Ready
	// confirmed is the Ready of a Record that every class has confirmed.
	confirmed Judgement
	// missing maps the RRsets that a class lacks as of its serial to the reason; nil if unknown.
	missing  map[delivery.RRsetKey]*delivery.Error
	digests  [][]uint64 // hashes of further missing RRsets, ascending for each class
	unlisted bool       // yet other RRsets are missing
	// hold is the Ready of Records changed after the serial settledAt; zero unless a mass deletion holds the zone.
	hold        Judgement
	settledAt   serial.Serial
	processes   Processes
	lags        map[string]lag // by class
	settlements []settlement
	// since is when this process first saw a Progress like this; zero before Follow.
	since time.Time
}

type classProgress struct {
	// class is "" if no class is in force. The settled serial is then confirmed.
	class  string
	serial serial.Serial
	// fault is the reason if the class confirms no more; zero while the delivery is under way.
	fault Judgement
	// cause explains why a delivery under way does not end, if known.
	cause Judgement
}

func (s classProgress) hasConfirmed(taken serial.Serial) (has, known bool) {
	switch {
	case s.serial == 0 || taken.Ahead(s.serial):
		return false, true
	case taken != s.serial && !s.serial.Ahead(taken):
		return false, false
	}
	return true, true
}

// RevokesReady reports whether Ready Records may lose Ready, or get another reason.
func (s *Progress) RevokesReady(before *Progress) bool {
	return s.fault != before.fault || s.silent != before.silent || s.confirmed.Reason != before.confirmed.Reason ||
		slices.ContainsFunc(s.classes, func(now classProgress) bool {
			i := slices.IndexFunc(before.classes, func(was classProgress) bool { return was.class == now.class })
			// A new class in force has confirmed nothing, so all Records lose Ready (S6.13).
			return i < 0 || now.hasLost(before.classes[i].serial)
		})
}

// hasLost reports whether a server went back before the confirmed serial. Back at 7, Records of serial 8 and later lose
// Ready.
func (s classProgress) hasLost(confirmed serial.Serial) bool {
	has, _ := s.hasConfirmed(confirmed)
	return confirmed != 0 && !has
}

// NewlyMissing returns the names, or else the hashes, of RRsets that a class lacks since before.
func (s *Progress) NewlyMissing(before *Progress) (names []name.Name, digests map[uint64]bool) {
	digests = map[uint64]bool{}
	for _, digest := range slices.Concat(s.digests...) {
		digests[digest] = true
	}
	for _, digest := range slices.Concat(before.digests...) {
		delete(digests, digest)
	}
	for key := range s.missing {
		if _, was := before.missing[key]; !was {
			names = append(names, key.Name)
		}
	}
	// A 257th refusal at an earlier name moves the last listed RRset to the hashes.
	for key := range before.missing {
		if len(digests) == 0 {
			break
		}
		delete(digests, key.Digest())
	}
	return names, digests
}

// Follow sets and returns since: the time of before if both are the same, or else now.
func (s *Progress) Follow(before *Progress) time.Time {
	if s.since = time.Now(); before != nil && s.Same(before) {
		s.since = before.since
	}
	return s.since
}

// Same reports whether s and other judge each Record alike.
func (s *Progress) Same(other *Progress) bool {
	return s.fault == other.fault && s.silent == other.silent && s.confirmed == other.confirmed && s.unlisted == other.unlisted &&
		s.processes == other.processes &&
		s.hold == other.hold && (s.hold == Judgement{} || s.settledAt == other.settledAt) && slices.Equal(s.classes, other.classes) &&
		slices.EqualFunc(s.digests, other.digests, slices.Equal[[]uint64]) &&
		maps.EqualFunc(s.missing, other.missing, func(a, b *delivery.Error) bool {
			return a == b || a != nil && b != nil && a.Reason == b.Reason && a.Code == b.Code && a.Message == b.Message
		})
}

func ProgressOf(f *Facts) *Progress {
	s := progressOf(f)
	s.serial, s.processes = serial.Serial(f.Zone.Status.Serial), f.Processes
	return s
}

// progressOf returns the Progress without serial and processes, which ProgressOf adds.
func progressOf(f *Facts) *Progress {
	switch zone := f.Zone; {
	case zone.DeletionTimestamp != nil:
		// Records are released with the Zone. Until then they show the obstacle.
		fault := f.findRemovalFault()
		return &Progress{fault: fault, silent: fault == Judgement{}}
	case f.InForce.Fault != nil:
		fault := f.InForce.Fault
		return &Progress{fault: Judgement{metav1.ConditionFalse, string(fault.Reason), objects.ShortenMessage(fault.Message)}}
	case len(f.Classes) == 0:
		return progressWithoutClass(f)
	}
	s := &Progress{missing: map[delivery.RRsetKey]*delivery.Error{}, settledAt: serial.Serial(f.Zone.Status.SettledSerial)}
	if heldBy(f.Zone).Status != "" {
		s.hold = onHold
	}

	// Read the confirmed serial of each class. A Ready message names the earliest.
	var least serial.Serial
	for i := range f.Classes {
		known := &f.Classes[i]
		of := classProgress{class: known.Class, serial: known.State.Served(), fault: f.findFault(known), cause: f.findCause(known)}
		if f.Frozen {
			of.fault = readyFrozen
		}
		if s.classes = append(s.classes, of); i == 0 || least.Ahead(of.serial) {
			least = of.serial
		}
		// An intent without a holder lists RRsets that wait for a retry. With a holder, a worker is still writing.
		if known.State.Intent != nil && known.State.Intent.Holder == "" {
			s.addMissing(&known.State, of.fault)
		}
	}

	// Add the RRsets that a class has refused. Their own error replaces that of the intent.
	s.confirmed = confirmedBy(least)
	for i := range f.Classes {
		known := &f.Classes[i]
		if len(known.State.Digests) > 0 {
			s.digests = append(s.digests, known.State.Digests)

		}
		for _, refused := range known.State.Refused {
			public := *refused.Err
			public.Message = objects.PublicFault(known.Class, public.Reason, public.Message)
			s.missing[refused.Key()] = &public
		}
	}
	return s
}

// addMissing adds the RRsets of an intent, which the servers may lack. fault is the class's fault, or zero if the
// delivery goes on.
func (s *Progress) addMissing(of *delivery.State, fault Judgement) {
	// If each failed RRset is known by name or digest, the Records of all other RRsets are Ready.
	knowsFailed := of.Failed > 0 && len(of.Refused)+len(of.Digests) >= of.Failed
	if of.Intent.Unlisted && !knowsFailed {
		s.unlisted = true
	}
	for _, rrset := range of.Intent.RRsets {
		s.missing[rrset] = fault.asError()
	}
}

// asError returns the error of a class's fault for each RRset, or nil for the zero Judgement.
func (j Judgement) asError() *delivery.Error {
	if j.Status == "" {
		return nil
	}
	return &delivery.Error{Reason: delivery.Reason(j.Reason), Message: j.Message}
}

// progressWithoutClass returns the Progress of a zone without a class in force: Records are Ready with NoClass at the
// settled serial, but only when the former classes have withdrawn the zone.
func progressWithoutClass(f *Facts) *Progress {
	zone := f.Zone
	switch fault := f.findRemovalFault(); {
	case fault.Status != "":
		return &Progress{fault: fault}
	case len(f.BegunDeliveries) > 0:
		return &Progress{fault: cmp.Or(f.findDeadController(), leaving)}
	}

	s := &Progress{classes: []classProgress{{}}, confirmed: noClass, settledAt: serial.Serial(zone.Status.SettledSerial)}
	if heldBy(zone).Status != "" {
		s.hold = onHold
	}

	// A new zone lacks name servers. Its Records stay Pending, and the Zone has the reason.
	if f.findLacking().Type == "" {
		s.classes[0].serial = serial.Serial(zone.Status.SettledSerial)
	}
	return s
}

func (s *Progress) IsHeldByPlatform() bool {
	return slices.ContainsFunc(s.classes, func(of classProgress) bool {
		return of.cause.Status != "" && of.cause.Reason != v1alpha1.ReasonPaused
	})
}

// HasSerialOf reports whether a Record's serial is at most the zone's. If not, a later write has set Ready.
func (s *Progress) HasSerialOf(record *v1alpha1.Record) bool {
	return !serial.Serial(record.Status.Serial).Ahead(s.serial)
}

// Judge returns the Ready of a Record, with the error of the RRset. If ok is false, the Record keeps the present Ready.
func (s *Progress) Judge(record *v1alpha1.Record) (of Judgement, lastError string, ok bool) {
	taken := serial.Serial(record.Status.Serial)
	if s.silent || taken == 0 {
		return Judgement{}, "", false
	}

	if s.fault.Status != "" {
		return s.fault, "", true
	}

	// Compare the Record's serial with the serial of each class.
	before := objects.ReadyOf(record.Status.Conditions)
	waits, awaits := Judgement{}, Judgement{}
	for _, of := range s.classes {
		has, known := of.hasConfirmed(taken)
		switch {
		// The serials are half the number space apart (RFC 1982 §3.2), so the Record keeps its Ready.
		case !known:
			return Judgement{}, "", false
		case has:
		// The class failed before it had this Record. Records of earlier serials stay Ready at the same servers.
		case of.fault.Status != "":
			return of.fault, "", true
		case waits.Status == "", waits == pending:
			waits, awaits = cmp.Or(of.cause, pending), cmp.Or(awaits, awaitClass(of.class, before, s.since))
		}
	}

	// The change waits. A hold precedes the causes, since no repair of a class would deliver the change.
	switch {
	case waits.Status == "":
	case s.hold.Status != "" && taken.Ahead(s.settledAt):
		return s.hold, "", true
	case s.processes.keepsReady(before):
		return Judgement{}, "", false
	case waits == pending:
		return cmp.Or(awaits, pending), "", true
	default:
		return waits, "", true
	}

	// Every class has the serial, but perhaps not this RRset.
	switch failure, missing := s.findMissing(record); {
	case failure != nil:
		return Judgement{metav1.ConditionFalse, string(failure.Reason), objects.ShortenMessage(failure.Message)},
			objects.ShortenMessage(failure.Error()), true
	case missing:
		return pending, "", true
	// Some RRset is missing, and no list has the name. The RRset may be this Record's.
	case s.unlisted:
		return Judgement{}, "", false
	}
	return s.confirmed, "", true
}

// findMissing reports whether a class lacks the Record's RRset, with the failure, or nil if none is known.
func (s *Progress) findMissing(record *v1alpha1.Record) (failure *delivery.Error, missing bool) {
	if len(s.missing)+len(s.digests) > 0 {
		if key, err := keyOf(record); err == nil {
			failure, missing = s.missing[key]
			// Beyond the listed names a Delivery keeps hashes alone, to bound the object's size.
			for _, digests := range s.digests {
				if !missing {
					_, missing = slices.BinarySearch(digests, key.Digest())
				}
			}
		}
	}
	return failure, missing
}

func keyOf(record *v1alpha1.Record) (delivery.RRsetKey, error) {
	return delivery.ParseRRsetKey(record.Status.FQDN + " " + record.Spec.Type)
}
