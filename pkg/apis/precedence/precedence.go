// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package precedence

import (
	"cmp"
	"time"
)

// Rank orders claimants by time, then by ID.
type Rank struct {
	// Last orders a claimant after all others, so that tenants take no names from the platform.
	Last  bool
	Since time.Time
	ID    string
}

func (r Rank) Compare(other Rank) int {
	if r.Last != other.Last {
		if r.Last {
			return 1
		}
		return -1
	}
	return cmp.Or(r.Since.Compare(other.Since), cmp.Compare(r.ID, other.ID))
}

// Decide returns the claimant of each name and, by the index of each losing claimant, the winner. The claimants must be
// sorted by Rank. The function claims returns a claimant's names with their meanings, and uses returns the names in a
// claimant's status. If uses is nil, no name is in use.
//
// A name in use is refused to claimants with another meaning. While the first user does not claim the name, perhaps
// because a Secret is missing for a moment, only users get the name. A claimant that loses a name gets none.
func Decide[N comparable, C any](claimants []C, claims func(C) map[N]string, uses func(C) []N) (winners map[N]C, losers map[int]C) {
	winners, losers = map[N]C{}, map[int]C{}
	first, user, own := map[N]int{}, map[N]int{}, map[int]map[N]bool{}
	for index, claimant := range claimants {
		if uses == nil {
			break
		}
		own[index] = map[N]bool{}
		for _, name := range uses(claimant) {
			own[index][name] = true
			if _, used := user[name]; !used {
				user[name] = index
			}
		}
	}
	for index, claimant := range claimants {
		wants, winner := claims(claimant), len(claimants)
		for name, meaning := range wants {
			other, taken := user[name]
			if !taken {
				other, taken = first[name]
			}
			if !taken || other == index {
				continue
			}
			otherMeaning, known := claims(claimants[other])[name]
			// Two users of a name agree, because they were served together.
			if known && otherMeaning != meaning || !known && !own[index][name] {
				winner = min(winner, other)
			}
		}
		if winner < len(claimants) {
			losers[index] = claimants[winner]
			continue
		}
		for name := range wants {
			if _, taken := first[name]; !taken {
				first[name], winners[name] = index, claimant
			}
		}
	}
	return winners, losers
}
