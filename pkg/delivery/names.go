// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/precedence"
)

// names are who has which name in which class: at a provider there is one zone of a name, whatever views the Zones are of, and what two write
// there would be of both (H7). A delivery has the name of its state and its former ones, and the one that it claimed to begin with. It is
// guarded by Loop.mu.
type names struct {
	rights map[Key]*right
	// holders in the order of their rights: the first has the name. There are more only where more had it before this process began.
	holders map[spot][]*right
	// awaited are those who want a name that another one has.
	awaited map[spot][]Key
}

// spot is a name in a class.
type spot struct {
	class string
	zone  name.Name
}

// right of a delivery: of two of a name, the one that was made first has it.
type right struct {
	key  Key
	rank precedence.Rank
	has  []name.Name
	// ours: the Loop itself keeps the delivery by now, and knows better than a watch.
	ours bool
}

func newNames() names {
	return names{map[Key]*right{}, map[spot][]*right{}, map[spot][]Key{}}
}

func (r *right) before(other *right) int {
	return cmp.Or(r.rank.Compare(other.rank), cmp.Compare(r.key.UID, other.key.UID))
}

// of is the right of a delivery, made at the first look.
func (n *names) of(key Key) *right {
	r := n.rights[key]
	if r == nil {
		r = &right{key: key, rank: precedence.Rank{Since: time.Now()}}
		n.rights[key] = r
	}
	return r
}

// first is who has a name, nil for nobody.
func (n *names) first(at spot) *right {
	if holders := n.holders[at]; len(holders) > 0 {
		return holders[0]
	}
	return nil
}

// set says all names that a delivery has, and returns who waited for one that it has no more.
func (n *names) set(r *right, has []name.Name) (waited []Key) {
	for _, zone := range r.has {
		if slices.Contains(has, zone) {
			continue
		}
		at := spot{r.key.Class, zone}
		if n.holders[at] = slices.DeleteFunc(n.holders[at], func(other *right) bool { return other == r }); len(n.holders[at]) == 0 {
			delete(n.holders, at)
		}
		waited = append(waited, n.awaited[at]...)
	}
	for _, zone := range has {
		at := spot{r.key.Class, zone}
		if holders := n.holders[at]; !slices.Contains(holders, r) {
			n.holders[at] = append(holders, r)
			slices.SortFunc(n.holders[at], (*right).before)
		}
	}
	r.has = has
	return waited
}

// wait has a delivery wait for a name and for no other; the zero Name: for none.
func (n *names) wait(i *item, zone name.Name) {
	if i.awaits == zone {
		return
	}
	if !i.awaits.IsZero() {
		at := spot{i.key.Class, i.awaits}
		if n.awaited[at] = slices.DeleteFunc(n.awaited[at], func(key Key) bool { return key == i.key }); len(n.awaited[at]) == 0 {
			delete(n.awaited, at)
		}
	}
	if i.awaits = zone; !zone.IsZero() {
		at := spot{i.key.Class, zone}
		n.awaited[at] = append(n.awaited[at], i.key)
	}
}

// Hold tells of a delivery that is stored, and of its end with the zero State: of each before Run, and of what another worker changes. It has its
// names until the Loop sees otherwise, and of two that have the same one the one that was made earlier has it; id is for those of one moment.
func (l *Loop) Hold(key Key, since time.Time, id string, state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.names.of(key)
	if r.ours {
		return
	}
	waited := l.names.set(r, nil)
	r.rank = precedence.Rank{Since: since, ID: id}
	if has := state.names(); len(has) > 0 {
		l.names.set(r, has)
	} else {
		delete(l.names.rights, key)
	}
	l.wakeAll(waited)
}

// wakeAll has deliveries try again at once that waited for a name. It is called with mu held.
func (l *Loop) wakeAll(keys []Key) {
	for _, key := range keys {
		if z := l.zones[key.UID]; z != nil && z.items[key.Class] != nil {
			i := z.items[key.Class]
			i.woken = true
			l.enqueue(i)
		}
	}
}

// keep brings what is known of the names of an item up to date. It is called with mu held, by its worker or while it has none.
func (l *Loop) keep(i *item) {
	var has []name.Name
	over := i.gone || i.withdrawn
	if !i.known && !over {
		return // what it has is what was told
	}
	if over || i.leaving && i.loaded {
		i.claimed = name.Name{}
		l.names.wait(i, name.Name{})
	}
	if !over {
		has = slices.Concat(i.state.names(), i.stored.names())
		if !i.claimed.IsZero() {
			has = append(has, i.claimed)
		}
		slices.SortFunc(has, name.Name.Compare)
		has = slices.Compact(has)
	}
	r := l.names.of(i.key)
	r.ours = true
	l.wakeAll(l.names.set(r, has))
	if over {
		delete(l.names.rights, i.key)
	}
}

// othersOf is what one delivery asks of the others of its class and its zone.
type othersOf struct {
	loop *Loop
	item *item
	// asked: another delivery awaits a name of this one.
	asked bool
}

func (o othersOf) claims() claims {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(i)
	c := claims{claimed: i.claimed, leaving: l.leaving(i), replaced: l.replaced(i), handedOver: l.handedOver(i)}
	if r := l.names.rights[i.key]; r != nil {
		for _, zone := range r.has {
			if len(l.names.awaited[spot{i.key.Class, zone}]) > 0 {
				c.awaited = append(c.awaited, zone)
			}
		}
	}
	for _, zone := range i.state.names() {
		if first := l.names.first(spot{i.key.Class, zone}); first != nil && first.key != i.key {
			c.given = append(c.given, zone)
		}
	}
	return c
}

func (o othersOf) claim(zone name.Name) bool {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.names.first(spot{i.key.Class, zone})
	if first == nil || first.key == i.key {
		i.claimed = zone
		l.names.wait(i, name.Name{})
		l.keep(i)
		return true
	}
	i.claimed = name.Name{}
	fresh := i.awaits != zone
	l.names.wait(i, zone)
	l.keep(i)
	if o.asked && !fresh {
		return false // Two that wait for each other would ask each other for ever.
	}
	if z := l.zones[first.key.UID]; z != nil && z.items[i.key.Class] != nil {
		z.items[i.key.Class].asked = true
		l.enqueue(z.items[i.key.Class])
	}
	return false
}

func (o othersOf) disclaim(zone name.Name) {
	l, i := o.loop, o.item
	l.mu.Lock()
	defer l.mu.Unlock()
	if i.claimed == zone {
		i.claimed = name.Name{}
		l.keep(i)
	}
}

func (o othersOf) setWithdrawn(withdrawn bool) {
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

// replaced: every class in force has the zone. Until then those that were in force before keep it, or the name would be
// gone in between; but what is not to have it any more goes, lest a tenant keep it there by naming a class that never works.
// It is called with mu held.
func (l *Loop) replaced(i *item) bool {
	if slices.Contains(i.zone.Expelled, i.key.Class) {
		return true
	}
	return !slices.ContainsFunc(i.zone.Classes, func(class string) bool { return i.zone.items[class] == nil || !i.zone.items[class].delivered })
}

// handedOver: another class in force has the zone at the same place, where to withdraw it would take that one's data. It is called with mu held.
func (l *Loop) handedOver(i *item) bool {
	target := i.state.Target
	return target != "" && !i.zone.Withdraw && slices.ContainsFunc(i.zone.Classes, func(class string) bool {
		c, other := l.classes[class], i.zone.items[class]
		return c != nil && c.known && c.spec.Target == target && other != nil && other.delivered
	})
}

// leaving are the classes that the zone of an item is to be withdrawn from. It is called with mu held.
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
