// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/precedence"
	"kubi.zone/kubizone/pkg/zoneview"
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

// names of a state are those under which the provider may have something of the zone.
func (s State) names() []name.Name {
	var names []name.Name
	if !s.Zone.IsZero() {
		names = append(names, s.Zone)
	}
	for _, former := range s.Former {
		names = append(names, former.Zone)
	}
	return names
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

func (a *attempt) keep() {
	a.loop.mu.Lock()
	defer a.loop.mu.Unlock()
	a.loop.keep(a.item)
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

// claim takes a name for the zone. It is false where another one has it: that one hears that it is awaited, and this one when it is free.
func (a *attempt) claim(zone name.Name) bool {
	l, i := a.loop, a.item
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
	if a.asked && !fresh {
		return false // Two that wait for each other would ask each other for ever.
	}
	if z := l.zones[first.key.UID]; z != nil && z.items[i.key.Class] != nil {
		z.items[i.key.Class].asked = true
		l.enqueue(z.items[i.key.Class])
	}
	return false
}

// disclaim lets go of a name that was claimed, as far as nothing is known to stand under it.
func (a *attempt) disclaim(zone name.Name) {
	l, i := a.loop, a.item
	l.mu.Lock()
	defer l.mu.Unlock()
	if i.claimed == zone {
		i.claimed = name.Name{}
		l.keep(i)
	}
}

// awaited are the names other than one that this delivery has and others wait for.
func (a *attempt) awaited(but name.Name) []name.Name {
	l, i := a.loop, a.item
	l.mu.Lock()
	defer l.mu.Unlock()
	var awaited []name.Name
	if r := l.names.rights[i.key]; r != nil {
		for _, zone := range r.has {
			if zone != but && len(l.names.awaited[spot{i.key.Class, zone}]) > 0 {
				awaited = append(awaited, zone)
			}
		}
	}
	return awaited
}

// given: another one has the name first, so what stands under it is not this zone's to take away.
func (a *attempt) given(zone name.Name) bool {
	l := a.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.names.first(spot{a.item.key.Class, zone})
	return first != nil && first.key != a.item.key
}

// nameTaken is why a zone is not delivered under its name.
func nameTaken(zone name.Name) *Error {
	return Errorf(ReasonConflict, "another zone of the class is named %s, or was and is being withdrawn, and the class has one zone of a name, whatever their views; "+
		"this one is delivered when that one leaves: rename one of both, or deliver it by another class", zone)
}

// makeRoom withdraws the zone from names that others wait for, but not from the one that it is to have, and is false where that could not be done.
// It is for where the zone cannot be delivered under that one for the time being, which else comes first (S6.8).
func (a *attempt) makeRoom(ctx context.Context, snapshot *zoneview.Snapshot) bool {
	i, now := a.item, time.Now()
	for _, zone := range a.awaited(snapshot.FQDN()) {
		if i.formerAt.After(now) {
			return false
		}
		a.disclaim(zone)
		next := i.state
		of, own := next, zone == next.Zone
		if own {
			next.Zone, next.Serial, next.Hash, next.Intent = name.Name{}, 0, "", nil
			next.Servers, next.Failed, next.Skipped = nil, 0, 0
			next.Drifted, next.Drift = Condition{}, nil
		} else if at := slices.IndexFunc(next.Former, func(former Former) bool { return former.Zone == zone }); at >= 0 {
			of = next.Former[at].state()
			next.Former = slices.Delete(slices.Clone(next.Former), at, at+1)
		} else {
			continue
		}
		if !a.retains() && !a.given(zone) {
			if a.provider == nil {
				return false
			}
			done, report, err := a.takeAway(ctx, snapshot, of, nil)
			if err != nil {
				if !own {
					i.state.Intent = next.Intent
				}
				i.formerAt = now.Add(a.loop.config.Backoff.delay(i.lingered))
				i.lingered++
				a.fail(ctx, snapshot.Serial(), report, err)
			}
			if !done {
				return false
			}
		}
		i.lingers, i.lingered = nil, 0
		switch {
		case own:
			next.Ready = Condition{Unknown, ReasonPending, "the zone has left a name that another one waits for, and is not yet delivered under its own"}
		case next.Serial == snapshot.Serial() && next.Intent == nil:
			next.Error, next.Ready = nil, delivered
		}
		if err := a.save(ctx, next); err != nil {
			a.storeFailed(ctx, "save", err)
			return false
		}
	}
	return true
}
