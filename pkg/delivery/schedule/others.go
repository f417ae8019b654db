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

// Hold reserves the zone name of a stored delivery in its class; a zero State frees the name. Call Hold before Run for
// each stored delivery, and after each write of another worker; a call has no effect while the Loop works on the
// delivery. The earlier delivery has precedence, id decides between equal times.
func (l *Loop) Hold(key delivery.Key, since time.Time, id string, state delivery.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.names.of(key)
	if r.owned {
		return
	}
	waited := l.names.setNames(r, nil)
	r.rank = precedence.Rank{Since: since, ID: id}
	r.confirmed, r.behind = state.Serial, state.Behind()
	if state.Zone.IsZero() {
		delete(l.names.rights, key)
	} else {
		l.names.setNames(r, []name.Name{state.Zone})
	}
	l.wakeAll(waited)
}

// mu is held.
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
	over := i.gone || i.withdrawn
	if !i.Known && !over {
		return
	}
	l.wakeAll(l.names.updateNames(i.key, []delivery.State{i.State, i.Stored}, i.Leaving && i.Loaded, over))
}

type othersOf struct {
	loop *Loop
	item *item
}

func (o othersOf) readClaims() decision.Claims {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updateNames(i)
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

// claimName returns false if another delivery has the name, and retries when the name is free.
func (o othersOf) claimName(zone name.Name) bool {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	r, first := l.names.of(i.key), l.names.first(className{i.key.Class, zone})
	if first == nil || first == r {
		r.claimed = zone
		l.names.setAwaited(i.key, name.Name{})
		l.updateNames(i)
		return true
	}
	r.claimed = name.Name{}
	isNew := l.names.awaits[i.key] != zone
	l.names.setAwaited(i.key, zone)
	l.updateNames(i)
	if z := l.zones[first.key.UID]; isNew && z != nil && z.items[i.key.Class] != nil {
		other := z.items[i.key.Class]
		other.queue.enqueueJob(&other.job) // a leaving delivery no longer waits for other classes
	}
	return false
}

func (o othersOf) setRemoved(withdrawn bool) {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	o.item.withdrawn = withdrawn
}

func (o othersOf) atWork(class string) bool {
	o.loop.mu.Lock()
	defer o.loop.mu.Unlock()
	other := o.item.zone.items[class]
	return other != nil && other.running
}

// replaced reports whether a former class may drop the zone. To leave no gap, former classes keep it until every class
// in force has it. An expelled class loses it at once, so that a tenant cannot keep it there by naming a class that
// never works. mu is held.
func (l *Loop) replaced(i *item) bool {
	if slices.Contains(i.zone.Expelled, i.key.Class) {
		return true
	}
	return !slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		return i.zone.items[class] == nil ||
			!i.zone.items[class].delivered
	})
}

// mu is held.
func (l *Loop) handedOver(i *item) bool {
	target := i.State.Target
	return target != "" && !i.zone.Remove && slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		c, other := l.classes[class], i.zone.items[class]
		return c != nil && c.known && c.spec.Target == target && other != nil && other.delivered
	})
}

// mu is held.
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
