// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// processes returns the lives of the processes that deliver, all alive without Leases.
func (l *leader) processes() Processes {
	if l.lives == nil {
		return Processes{}
	}
	return l.lives()
}

// readFacts reads the facts of a zone from the caches, each class and Delivery once.
func (l *leader) readFacts(zone *v1alpha1.Zone) *Facts {
	force, _ := l.index.InForce(zone)
	f := &Facts{Zone: zone, InForce: force, Frozen: l.frozen.Has(zone), Processes: l.processes()}
	known := map[string]ClassFacts{}
	// Read the Deliveries of the zone, those of former classes too.
	for _, one := range l.index.DeliveriesByUID(string(zone.UID)) {
		if one.Namespace != zone.Namespace { // a foreign copy confirms nothing
			continue
		}
		of := l.readClass(zone, objects.KeyOf(one).Class, one)
		known[of.Class] = of
		if one.Status.FQDN != "" { // otherwise nothing was begun
			f.BegunDeliveries = append(f.BegunDeliveries, of)
		}
	}
	// Bring the classes in force into their order. A class without a Delivery was added just now.
	for _, name := range force.Classes {
		of, isDelivered := known[name]
		if !isDelivered {
			of = l.readClass(zone, name, nil)
		}
		target := ""
		// A class that moved to other servers has another target: a confirmation of the former servers no longer
		// counts.
		if stored := l.index.ClassByName(name); stored != nil {
			target = stored.Status.Target
		}
		f.Classes = append(f.Classes, of.ForTarget(target))
	}
	return f
}

// readClass returns the facts of a class with a zone's Delivery, nil if there is none.
func (l *leader) readClass(zone *v1alpha1.Zone, name string, stored *v1alpha1.Delivery) ClassFacts {
	known := ClassFacts{Class: name}
	// The Delivery has the progress of this zone.
	if stored != nil {
		known.Notify = stored.Status.Notify
		for _, row := range stored.Status.Servers {
			// For the metric of servers behind, any state but Current counts: silent, behind, with other data.
			if row.State != v1alpha1.ServerCurrent {
				known.BehindServers = append(known.BehindServers, row.Name)
			}
		}
		if state, err := objects.StateOf(stored); err == nil {
			known.State, known.Known = state, true
			// A Delivery does not say for which serial servers were asked: a server without the settled serial lags.
			known.State.AskedSerial = serial.Serial(zone.Status.SettledSerial)
		}
	}
	// The class has the faults and the pause of all zones. A deleted class has neither.
	if of := l.index.ClassByName(name); of != nil {
		known.FaultReason, known.NameServers = objects.FaultOf(of), class.HasNameServers(&of.Spec)
		known.Paused, known.NeedsPrimary = of.Spec.Paused, class.NeedsPrimary(&of.Spec)
	}
	return known
}
