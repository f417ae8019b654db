// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package precedence

import (
	"cmp"
	"time"
)

// Rank of a claimant: since when it claims, and an id for claimants of one moment.
type Rank struct {
	// Last has the claimant come after all that are not Last, however long it has claimed: what a tenant writes takes
	// nothing from the platform.
	Last  bool
	Since time.Time
	ID    string
}

// Compare is negative where r precedes other.
func (r Rank) Compare(other Rank) int {
	if r.Last != other.Last {
		if r.Last {
			return 1
		}
		return -1
	}
	return cmp.Or(r.Since.Compare(other.Since), cmp.Compare(r.ID, other.ID))
}

// Decide returns the claimant that has each name, and for each claimant that lost, by its place among the claimants,
// the winner. The claimants come in the order of their ranks. claims are the names that a claimant wants now, with the
// meaning of each to it, and uses the names that its status records; nil: no status records any.
//
// A name in use is kept from each claimant to which it means something else, also from an earlier one, and also while
// its user does not claim it: a Secret that is away for a moment gives no name away. Of several users the first has the
// name, and of several claimants if there is no user. A claimant that loses one name has none of its names.
func Decide[N comparable, C any](claimants []C, claims func(C) map[N]string, uses func(C) []N) (has map[N]C, lost map[int]C) {
	has, lost = map[N]C{}, map[int]C{}
	first, user, own := map[N]int{}, map[N]int{}, map[int]map[N]bool{}
	for at, claimant := range claimants {
		if uses == nil {
			break
		}
		own[at] = map[N]bool{}
		for _, name := range uses(claimant) {
			own[at][name] = true
			if _, used := user[name]; !used {
				user[name] = at
			}
		}
	}
	for at, claimant := range claimants {
		wants, to := claims(claimant), len(claimants)
		for name, meaning := range wants {
			other, taken := user[name]
			if !taken {
				other, taken = first[name]
			}
			if !taken || other == at {
				continue
			}
			theirs, known := claims(claimants[other])[name]
			// A user that does not claim its name now is at peace with the others that use it: they were served
			// together.
			if known && theirs != meaning || !known && !own[at][name] {
				to = min(to, other)
			}
		}
		if to < len(claimants) {
			lost[at] = claimants[to]
			continue
		}
		for name := range wants {
			if _, taken := first[name]; !taken {
				first[name], has[name] = at, claimant
			}
		}
	}
	return has, lost
}
