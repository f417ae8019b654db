// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/precedence"
)

// names says which delivery has each name in a class. A provider has one zone of a name, in whichever views the
// Zones are, so two deliveries of the name would mix their records there (H7). A delivery has the name of its state and
// the one that it claimed to begin with. It is guarded by Loop.mu.
type names struct {
	rights map[delivery.Key]*right
	// holders in the order of their rights: the first has the name. There are more only where more had it before this
	// process began.
	holders map[className][]*right
	// awaited are the deliveries that want a name which another one has, awaits the name that each of them wants.
	awaited map[className][]delivery.Key
	awaits  map[delivery.Key]name.Name
}

// className is a name in a class.
type className struct {
	class string
	zone  name.Name
}

// right of a delivery: of two of a name, the one that was made first has it.
type right struct {
	key  delivery.Key
	rank precedence.Rank
	has  []name.Name
	// claimed is the name that the zone is delivered under, also where nothing is stored yet.
	claimed name.Name
	// ours says that the Loop itself keeps the delivery by now, and knows better than a watch.
	ours bool
}

func newNames() names {
	return names{map[delivery.Key]*right{}, map[className][]*right{}, map[className][]delivery.Key{}, map[delivery.Key]name.Name{}}
}

func (r *right) before(other *right) int {
	return cmp.Or(r.rank.Compare(other.rank), cmp.Compare(r.key.UID, other.key.UID))
}

// of is the right of a delivery, made at the first look.
func (n *names) of(key delivery.Key) *right {
	r := n.rights[key]
	if r == nil {
		r = &right{key: key, rank: precedence.Rank{Since: time.Now()}}
		n.rights[key] = r
	}
	return r
}

// first is the delivery that has a name, nil for none.
func (n *names) first(at className) *right {
	if holders := n.holders[at]; len(holders) > 0 {
		return holders[0]
	}
	return nil
}

// setNames says all names that a delivery has, and returns the deliveries that waited for one that it has no more.
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

// setAwaited has a delivery wait for a name and for no other; the zero Name: for none.
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

// keepNames says the names that a delivery has by its states, beside the one that it claimed, and returns the
// deliveries that waited for one that it has no more. leaving says that it claims and awaits none, over that it has
// none.
func (n *names) keepNames(key delivery.Key, states []delivery.State, leaving, over bool) (waited []delivery.Key) {
	r := n.of(key)
	r.ours = true
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
