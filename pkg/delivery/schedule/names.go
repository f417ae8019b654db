// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/precedence"
)

// names has the deliveries with a right to a zone name in a class: the name in their state, or claimed. Two zones of a
// name, in different views, would mix their records at the provider. Guarded by Loop.mu.
type names struct {
	rights map[delivery.Key]*right
	// holders are in order of precedence. Only the first may deliver; the others had the name before this process
	// began.
	holders map[className][]*right
	awaited map[className][]delivery.Key
	awaits  map[delivery.Key]name.Name
}

type className struct {
	class string
	zone  name.Name
}

type right struct {
	key  delivery.Key
	rank precedence.Rank
	// zoneNames are the names in the state, with claimedName.
	has       []name.Name
	claimed   name.Name
	confirmed serial.Serial
	behind    []string
	// owned is true if the Loop works on this delivery, and ignores Hold.
	owned bool
}

func newNames() names {
	return names{map[delivery.Key]*right{}, map[className][]*right{}, map[className][]delivery.Key{}, map[delivery.Key]name.Name{}}
}

func (r *right) before(other *right) int {
	return cmp.Or(r.rank.Compare(other.rank), cmp.Compare(r.key.UID, other.key.UID))
}

func (n *names) of(key delivery.Key) *right {
	r := n.rights[key]
	if r == nil {
		r = &right{key: key, rank: precedence.Rank{Since: time.Now()}}
		n.rights[key] = r
	}
	return r
}

func (n *names) first(at className) *right {
	if holders := n.holders[at]; len(holders) > 0 {
		return holders[0]
	}
	return nil
}

// setNames returns the deliveries that waited for a name now free.
func (n *names) setNames(r *right, has []name.Name) (waited []delivery.Key) {
	for _, zone := range r.has {
		if slices.Contains(has, zone) {
			continue
		}
		at := className{r.key.Class, zone}
		if n.holders[at] = slices.DeleteFunc(n.holders[at], func(other *right) bool { return other == r }); len(n.holders[at]) == 0 {
			delete(n.holders, at)
		}
		waited = append(waited, n.awaited[at]...)
	}
	for _, zone := range has {
		at := className{r.key.Class, zone}
		if holders := n.holders[at]; !slices.Contains(holders, r) {
			n.holders[at] = append(holders, r)
			slices.SortFunc(n.holders[at], (*right).before)
		}
	}
	r.has = has
	return waited
}

func (n *names) setAwaited(key delivery.Key, zone name.Name) {
	before := n.awaits[key]
	if before == zone {
		return
	}
	if !before.IsZero() {
		at := className{key.Class, before}
		n.awaited[at] = slices.DeleteFunc(n.awaited[at], func(other delivery.Key) bool { return other == key })
		if len(n.awaited[at]) == 0 {
			delete(n.awaited, at)
		}
		delete(n.awaits, key)
	}
	if !zone.IsZero() {
		at := className{key.Class, zone}
		n.awaited[at] = append(n.awaited[at], key)
		n.awaits[key] = zone
	}
}

// updateNames returns the deliveries that waited for a name now free. A leaving delivery claims and awaits no name;
// with over, it has none.
func (n *names) updateNames(key delivery.Key, states []delivery.State, leaving, over bool) (waited []delivery.Key) {
	r := n.of(key)
	r.owned = true
	if leaving || over {
		r.claimed = name.Name{}
		n.setAwaited(key, name.Name{})
	}
	var few [4]name.Name
	has := few[:0]
	if !over {
		for _, state := range states {
			has = append(has, state.Zone)
		}
		has = slices.DeleteFunc(append(has, r.claimed), name.Name.IsZero)
		slices.SortFunc(has, name.Name.Compare)
		has = slices.Compact(has)
	}
	if !slices.Equal(has, r.has) {
		waited = n.setNames(r, slices.Clone(has))
	}
	if over {
		delete(n.rights, key)
	}
	return waited
}
