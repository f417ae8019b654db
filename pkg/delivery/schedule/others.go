// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/precedence"
)

// Hold tells of a delivery that is stored, and of its end with the zero State: of each before Run, and of what
// another worker changes. It has its names until the Loop sees otherwise, and of two that have the same one the one
// that was made earlier has it; id is for those of one moment.
func (l *Loop) Hold(key delivery.Key, since time.Time, id string, state delivery.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.names.of(key)
	if r.ours {
		return
	}
	waited := l.names.setNames(r, nil)
	r.rank = precedence.Rank{Since: since, ID: id}
	if state.Zone.IsZero() {
		delete(l.names.rights, key)
	} else {
		l.names.setNames(r, []name.Name{state.Zone})
	}
	l.wakeAll(waited)
}

// wakeAll has deliveries try again at once that waited for a name. It is called with mu held.
func (l *Loop) wakeAll(keys []delivery.Key) {
	for _, key := range keys {
		if z := l.zones[key.UID]; z != nil && z.items[key.Class] != nil {
			i := z.items[key.Class]
			i.woken = true
			i.queue.enqueueJob(&i.job)
		}
	}
}

// keep brings what is known of the names of an item up to date. It is called with mu held, by its worker or while it
// has none.
func (l *Loop) keep(i *item) {
	over := i.gone || i.withdrawn
	if !i.Known && !over {
		return // what it has is what was told
	}
	l.wakeAll(l.names.keepNames(i.key, []delivery.State{i.State, i.Stored}, i.Leaving && i.Loaded, over))
}

// othersOf is what one delivery asks of the others of its class and its zone, and tells them.
type othersOf struct {
	loop *Loop
	item *item
}

// readClaims are the names of the delivery, of which the others learn, and what they want of them.
func (o othersOf) readClaims() decision.Claims {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(i)
	c := decision.Claims{Leaving: l.leaving(i), Replaced: l.replaced(i), HandedOver: l.handedOver(i)}
	if r := l.names.rights[i.key]; r != nil {
		c.Awaited = slices.ContainsFunc(r.has, func(zone name.Name) bool {
			return len(l.names.awaited[className{i.key.Class, zone}]) > 0
		})
	}
	first := l.names.first(className{i.key.Class, i.State.Zone})
	c.Given = first != nil && first.key != i.key
	return c
}

// claimName takes a name for the zone. It is false where another one has it: that one hears that it is awaited, and
// this one when it is free.
func (o othersOf) claimName(zone name.Name) bool {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	r, first := l.names.of(i.key), l.names.first(className{i.key.Class, zone})
	if first == nil || first == r {
		r.claimed = zone
		l.names.setAwaited(i.key, name.Name{})
		l.keep(i)
		return true
	}
	r.claimed = name.Name{}
	isNew := l.names.awaits[i.key] != zone
	l.names.setAwaited(i.key, zone)
	l.keep(i)
	if z := l.zones[first.key.UID]; isNew && z != nil && z.items[i.key.Class] != nil {
		other := z.items[i.key.Class]
		other.queue.enqueueJob(&other.job) // It may be on its way out, and need not wait for another class now.
	}
	return false
}

// setRemoved says that nothing of the zone is there, or that this is no longer so.
func (o othersOf) setRemoved(withdrawn bool) {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	o.item.withdrawn = withdrawn
}

// atWork reports whether another class of the zone has an attempt under way.
func (o othersOf) atWork(class string) bool {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	other := o.item.zone.items[class]
	return other != nil && other.running
}

// replaced reports whether every class in force has the zone. Until then those that were in force before keep it, or
// the name would be gone in between; but what is not to have it any more goes, lest a tenant keep it there by naming
// a class that never works. It is called with mu held.
func (l *Loop) replaced(i *item) bool {
	if slices.Contains(i.zone.Expelled, i.key.Class) {
		return true
	}
	return !slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		return i.zone.items[class] == nil ||
			!i.zone.items[class].delivered
	})
}

// handedOver reports whether another class in force has the zone at the same place, where to remove it would take
// that one's data. It is called with mu held.
func (l *Loop) handedOver(i *item) bool {
	target := i.State.Target
	return target != "" && !i.zone.Remove && slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		c, other := l.classes[class], i.zone.items[class]
		return c != nil && c.known && c.spec.Target == target && other != nil && other.delivered
	})
}

// leaving are the classes that the zone of an item is to be removed from. It is called with mu held.
func (l *Loop) leaving(i *item) []string {
	var names []string
	for class, other := range i.zone.items {
		if !slices.Contains(i.zone.Classes, class) && !other.withdrawn {
			names = append(names, class)
		}
	}
	slices.Sort(names)
	return names
}
