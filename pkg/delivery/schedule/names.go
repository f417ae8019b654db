// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
)

// names has the right of each delivery to use a zone's name in a class. A class delivers one zone of a name, because
// zones of different views may have the same name, for example example.org., and would mix their records at the
// servers. Loop.mu guards all fields.
type names struct {
	// rights has the names of each delivery: the name in the stored state, and a name claimed before the first write.
	rights map[delivery.Key]*right
	// holders has the deliveries with a right to a name, in order of precedence. Only the first may deliver. Others
	// exist only if several stored Deliveries had the name when this process began.
	holders      map[className][]*right
	waiters      map[className][]delivery.Key // these wait for a name
	awaitedNames map[delivery.Key]name.Name   // the reverse of waiters
}

type className struct {
	class string
	zone  name.Name
}

type right struct {
	key         delivery.Key
	rank        precedence.Rank
	zoneNames   []name.Name
	claimedName name.Name
	// owned is true once the Loop works on this delivery. Hold then has no effect.
	owned bool
}

func newNames() names {
	return names{map[delivery.Key]*right{}, map[className][]*right{}, map[className][]delivery.Key{}, map[delivery.Key]name.Name{}}
}

func (r *right) precedes(other *right) int {
	return cmp.Or(r.rank.Compare(other.rank), cmp.Compare(r.key.UID, other.key.UID))
}

func (n *names) ensureRight(key delivery.Key) *right {
	r := n.rights[key]
	if r == nil {
		r = &right{key: key, rank: precedence.Rank{Since: time.Now()}}
		n.rights[key] = r
	}
	return r
}

func (n *names) firstHolder(at className) *right {
	if holders := n.holders[at]; len(holders) > 0 {
		return holders[0]
	}
	return nil
}

// setNames replaces the names of a right, and returns the deliveries that wait for a name given up. The holders of each
// name stay in order of precedence.
func (n *names) setNames(r *right, has []name.Name) (waited []delivery.Key) {
	for _, zone := range r.zoneNames {
		if slices.Contains(has, zone) {
			continue
		}
		at := className{r.key.Class, zone}
		// The last holder frees the name, for example example.org. after the removal of the zone of the default view.
		if n.holders[at] = slices.DeleteFunc(n.holders[at], func(other *right) bool { return other == r }); len(n.holders[at]) == 0 {
			delete(n.holders, at)
		}
		waited = append(waited, n.waiters[at]...)
	}
	// Two stored Deliveries may have the same name: both hold it, and only the first delivers.
	for _, zone := range has {
		at := className{r.key.Class, zone}
		if holders := n.holders[at]; !slices.Contains(holders, r) {
			n.holders[at] = append(holders, r)
			slices.SortFunc(n.holders[at], (*right).precedes)
		}
	}
	r.zoneNames = has
	return waited
}

// setAwaitedName sets the name that a delivery waits for; a zero zone ends the wait. A delivery waits for one name.
func (n *names) setAwaitedName(key delivery.Key, zone name.Name) {
	before := n.awaitedNames[key]
	if before == zone {
		return
	}
	if !before.IsZero() {
		at := className{key.Class, before}
		n.waiters[at] = slices.DeleteFunc(n.waiters[at], func(other delivery.Key) bool { return other == key })
		if len(n.waiters[at]) == 0 {
			delete(n.waiters, at)
		}
		delete(n.awaitedNames, key)
	}
	if !zone.IsZero() {
		at := className{key.Class, zone}
		n.waiters[at] = append(n.waiters[at], key)
		n.awaitedNames[key] = zone
	}
}

// updateNames returns the deliveries that waited for a name now free.
func (n *names) updateNames(key delivery.Key, states []delivery.State, leaving, over bool) (waited []delivery.Key) {

	r := n.ensureRight(key)
	r.owned = true

	// A delivery that leaves the class claims nothing further. The stored name stays its own until the removal.
	if leaving || over {
		r.claimedName = name.Name{}
		n.setAwaitedName(key, name.Name{})
	}

	// No allocation in the usual case of a single name: this runs at the begin and the end of each attempt.
	var few [4]name.Name
	has := few[:0]
	if !over {
		for _, state := range states {
			has = append(has, state.Zone)
		}
		has = slices.DeleteFunc(append(has, r.claimedName), name.Name.IsZero)
		slices.SortFunc(has, name.Name.Compare)
		has = slices.Compact(has)
	}

	if !slices.Equal(has, r.zoneNames) {
		waited = n.setNames(r, slices.Clone(has))
	}

	if over {
		delete(n.rights, key)
	}
	return waited
}
