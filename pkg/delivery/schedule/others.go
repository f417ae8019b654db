// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Hold reserves a zone name in a class for a stored delivery, so that a later delivery of the name waits. A zero name
// frees it. Call Hold before Run for each stored delivery, and after each write of another worker. Hold ignores
// the Loop's own deliveries. The delivery with the earlier since, or if equal the smaller id, has precedence.
func (l *Loop) Hold(key delivery.Key, since time.Time, id string, zone name.Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.names.ensureRight(key)
	// The Loop's own attempts say more than the stored object.
	if r.owned {
		return
	}
	waited := l.names.setNames(r, nil)
	r.rank = precedence.Rank{Since: since, ID: id}
	if zone.IsZero() {
		delete(l.names.rights, key)
	} else {
		l.names.setNames(r, []name.Name{zone})
	}
	l.wakeAll(waited)
}

// wakeAll needs mu.
func (l *Loop) wakeAll(keys []delivery.Key) {
	for _, key := range keys {
		if z := l.zones[key.UID]; z != nil && z.items[key.Class] != nil {
			i := z.items[key.Class]
			i.woken = true
			i.queue.enqueueJob(&i.job)
		}
	}
}

// While the item has a worker, only that worker calls updateNames. mu is held.
func (l *Loop) updateNames(i *item) {
	over := i.dropped || i.withdrawn
	// Without the stored state, the names of the delivery are unknown here. Hold has set them.
	if !i.LoadedOnce && !over {
		return
	}
	l.wakeAll(l.names.updateNames(i.key, []delivery.State{i.State, i.Stored}, i.Leaving && i.Loaded, over))
}

type siblings struct {
	loop *Loop
	item *item
}

// readClaims returns the relations to other deliveries at present. The attempt calls it without mu.
func (o siblings) readClaims() decision.Claims {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updateNames(i)
	c := decision.Claims{LeavingClasses: l.listLeaving(i), Replaced: l.isReplaced(i)}
	if r := l.names.rights[i.key]; r != nil {
		c.AwaitedByOther = slices.ContainsFunc(r.zoneNames, func(zone name.Name) bool {
			return len(l.names.waiters[className{i.key.Class, zone}]) > 0
		})
	}
	first := l.names.firstHolder(className{i.key.Class, i.State.Zone})
	c.NeededByOther = first != nil && first.key != i.key || l.isHandedOver(i)
	return c
}

// claimName claims a zone name in the class for this delivery, and returns true, or waits for the name and returns
// false. Before the first write, the claim keeps other zones of the name away.
func (o siblings) claimName(zone name.Name) bool {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()

	r, first := l.names.ensureRight(i.key), l.names.firstHolder(className{i.key.Class, zone})
	// The name is free, or this delivery has precedence.
	if first == nil || first == r {
		r.claimedName = zone
		l.names.setAwaitedName(i.key, name.Name{})
		l.updateNames(i)
		return true
	}

	// Zone example.org. of another view has the name. This delivery is woken when the name is free.
	r.claimedName = name.Name{}
	isNew := l.names.awaitedNames[i.key] != zone
	l.names.setAwaitedName(i.key, zone)
	l.updateNames(i)

	if z := l.zones[first.key.UID]; isNew && z != nil && z.items[i.key.Class] != nil {
		other := z.items[i.key.Class]
		other.queue.enqueueJob(&other.job) // a leaving delivery no longer waits for other classes
	}
	return false
}

func (o siblings) setRemoved(withdrawn bool) {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	o.item.withdrawn = withdrawn
}

func (o siblings) isAtWork(class string) bool {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	other := o.item.zone.items[class]
	return other != nil && other.running
}

// An expelled class loses the zone at once. Otherwise a tenant could keep the zone there by naming a class that never
// works. mu is held.
func (l *Loop) isReplaced(i *item) bool {
	if slices.Contains(i.zone.ExpelledClasses, i.key.Class) {
		return true
	}
	// All classes that the zone names have confirmed it at their present target.
	return !slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		return i.zone.items[class] == nil ||
			!i.zone.items[class].delivered
	})
}

// isHandedOver needs mu.
func (l *Loop) isHandedOver(i *item) bool {
	// Class new has the same server as class old: removing the zone for old would take it from new.
	target := i.State.Target
	return target != "" && !i.zone.Remove && slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		c, other := l.classes[class], i.zone.items[class]
		return c != nil && c.known && c.spec.Target == target && other != nil && other.delivered
	})
}

// mu is held.
func (l *Loop) listLeaving(i *item) []string {
	var names []string
	for class, other := range i.zone.items {
		if !slices.Contains(i.zone.Classes, class) && !other.withdrawn {
			names = append(names, class)
		}
	}
	slices.Sort(names)
	return names
}
