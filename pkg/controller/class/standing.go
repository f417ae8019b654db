// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// standing is what the classes in force have of a zone. It is all that the Ready of its Records rests on (S6.7), so a
// Record changes with it and not with its own content alone.
type standing struct {
	classes []classStanding
	// fault is what every Record of the zone is told, whatever the classes have; the zero judgement: nothing. silent:
	// no Record is told anything.
	fault  judgement
	silent bool
	// confirmed is what a Record is told that every class has.
	confirmed judgement
	// owed are RRsets that a class does not have as they were when it confirmed its serial; nil errors where it is
	// not known why.
	owed map[delivery.RRsetKey]*delivery.Error
	// unlisted: more are owed than are listed.
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

var (
	pending = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "written; not yet confirmed by every class in force"}
	noClass = judgement{metav1.ConditionTrue, v1alpha1.ReasonNoClass, v1alpha1.MessageNoClass}
	leaving = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "no class is in force, and the zone is being withdrawn from those that had it"}
	// held is for Records, also of other namespaces: it names no Zone (S1.7).
	held     = judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, "not delivered yet: a mass deletion by the namespace of the zone holds the zone back (S7.5); the owner of the zone lets it through, as the condition Settled of the Zone says, or puts enough back"}
	settling = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "the consequences of a change are still being carried out"}
)

func confirmedBy(all serial.Serial) judgement {
	return judgement{metav1.ConditionTrue, v1alpha1.ReasonDelivered, fmt.Sprintf("every class in force has confirmed serial %d", all)}
}

// standing works out what the Records of a zone are told.
func (c *Controller) standing(zone *v1alpha1.Zone, force inForce) *standing {
	uid := string(zone.UID)
	switch {
	case zone.DeletionTimestamp != nil:
		// Its Records are released when it goes. What is said is what holds that up.
		fault, _ := c.withdrawing(zone)
		return &standing{fault: fault, silent: fault == judgement{}}
	case force.wrong != nil:
		return &standing{fault: judgement{metav1.ConditionFalse, string(force.wrong.Reason), cut(force.wrong.Message)}}
	case len(force.classes) == 0:
		return c.unclassed(zone)
	}
	s := &standing{owed: map[delivery.RRsetKey]*delivery.Error{}, settled: serial.Serial(zone.Status.SettledSerial)}
	if heldBy(zone).status != "" {
		s.held = held
	}
	isFrozen, states := c.isFrozen(zone), c.stateOfClass(uid)
	var least serial.Serial
	for i, name := range force.classes {
		state, _ := states(name)
		of := classStanding{class: name, serial: state.Serial, fault: c.faultOf(uid, name, state)}
		if isFrozen {
			of.fault = frozen
		}
		if s.classes = append(s.classes, of); i == 0 || least.Ahead(of.serial) {
			least = of.serial
		}
		if state.Intent != nil && state.Intent.Holder == "" {
			c.mu.Lock()
			known := state.Failed > 0 && len(c.failures[delivery.Key{UID: uid, Class: name}]) >= state.Failed // by what this process was told, however many
			c.mu.Unlock()
			s.unlisted = s.unlisted || !known && (state.Intent.Unlisted || len(state.Intent.RRsets) == 0)
			for _, rrset := range state.Intent.RRsets {
				s.owed[rrset] = nil
			}
		}
	}
	s.confirmed = confirmedBy(least)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range force.classes {
		for rrset, err := range c.failures[delivery.Key{UID: uid, Class: name}] {
			told := *err
			told.Message = public(name, err.Reason, err.Message)
			s.owed[rrset] = &told
		}
	}
	return s
}

// unclassed is the standing of a zone that no class delivers: what it has is Ready when it is settled, once the
// classes that had it have it no more (S6.7).
func (c *Controller) unclassed(zone *v1alpha1.Zone) *standing {
	if j, remains := c.withdrawing(zone); remains {
		if j == (judgement{}) {
			j = leaving
		}
		return &standing{fault: j}
	}
	if zone.Status.EndsAt != nil { // without the time, which may move: all Records were written anew with it
		return &standing{fault: judgement{metav1.ConditionFalse, v1alpha1.ReasonNotDelegatedOrServable,
			"zone " + zone.Status.FQDN + " is not delegated any more, and ends when the withdrawalGracePeriod of the zone above is over (S3.4); the owner of that zone can delegate it again"}}
	}
	s := &standing{classes: []classStanding{{}}, confirmed: noClass, settled: serial.Serial(zone.Status.SettledSerial)}
	if heldBy(zone).status != "" {
		s.held = held
	}
	if lacking(zone) == "" { // else its Zone says why, and they are Pending as they were written: a zone that is being filled lacks its name servers at first
		s.classes[0].serial = serial.Serial(zone.Status.SettledSerial)
	}
	return s
}

// lacking is the condition that a zone lacks to be served, empty for none.
func lacking(zone *v1alpha1.Zone) string {
	for _, needed := range []string{v1alpha1.ConditionDelegated, v1alpha1.ConditionServable} {
		if !meta.IsStatusConditionTrue(zone.Status.Conditions, needed) {
			return needed
		}
	}
	return ""
}

// withdrawing says why a zone that is deleted, or that no class is in force for, is not withdrawn, the zero judgement
// for nothing; and whether some class has it still.
func (c *Controller) withdrawing(zone *v1alpha1.Zone) (fault judgement, remains bool) {
	for _, one := range c.deliveriesOf(string(zone.UID)) {
		if one.Status.FQDN == "" {
			continue // Nothing was begun.
		}
		remains = true
		key := keyOf(one)
		c.mu.Lock()
		state := c.states[key]
		c.mu.Unlock()
		if of := c.faultOf(key.UID, key.Class, state); of.status != "" && fault.status == "" {
			fault = of
			fault.message = "not withdrawn from class " + of.message
			if zone.DeletionTimestamp != nil {
				fault.message += "; the Zone goes when it is, or with spec.deletionPolicy: Retain where the class allows that"
			}
		}
	}
	return fault, remains
}

// faultOf is why a class does not confirm the whole of a zone, as a tenant reads it; the zero judgement where it is
// on its way, or refuses some RRsets alone.
func (c *Controller) faultOf(uid, name string, state delivery.State) judgement {
	c.mu.Lock()
	whole := state.Failed == 0 || c.failedWhole[delivery.Key{UID: uid, Class: name}]
	c.mu.Unlock()
	if state.Ready.Status == delivery.False {
		if !whole {
			return judgement{}
		}
		return judgement{metav1.ConditionFalse, string(state.Ready.Reason), kindOfFault(name, state.Ready.Reason)}
	}
	// One zone of a class tries when all have to wait, so what holds the others up is what the class says of itself.
	if of := c.classByName(name); of != nil {
		if reason := saysOfItself(of); reason != "" {
			return judgement{metav1.ConditionFalse, reason, kindOfFault(name, delivery.Reason(reason))}
		}
	}
	return judgement{}
}

// recordJudgement is the Ready of a Record, with the error of its own RRset; false where there is nothing to say.
func recordJudgement(record *v1alpha1.Record, s *standing) (judgement, string, bool) {
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
	if len(s.owed) > 0 {
		if key, err := rrsetOf(record); err == nil {
			failure, owed := s.owed[key]
			if failure != nil {
				return judgement{metav1.ConditionFalse, string(failure.Reason), cut(failure.Message)}, cut(failure.Error()), true
			}
			if owed {
				return pending, "", true
			}
		}
	}
	if s.unlisted {
		return judgement{}, "", false
	}
	return s.confirmed, "", true
}

func rrsetOf(record *v1alpha1.Record) (delivery.RRsetKey, error) {
	owner, err := name.Parse(record.Status.FQDN)
	if err != nil {
		return delivery.RRsetKey{}, err
	}
	t, err := rdata.ParseType(record.Spec.Type)
	return delivery.RRsetKey{Name: owner, Type: t}, err
}
