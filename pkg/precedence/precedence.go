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

// Decide says which claimant has each name. The claimants come in the order of their ranks, and claims are the names
// that one wants, with what each means to it: several have one name where it means the same to all of them. A
// claimant that wants a name which an earlier one has with another meaning has none of its names: lost says, by its
// place among the claimants, to which one.
func Decide[N comparable, C any](claimants []C, claims func(C) map[N]string) (has map[N]C, lost map[int]C) {
	has, lost = map[N]C{}, map[int]C{}
	first := map[N]int{}
	for at, claimant := range claimants {
		wants := claims(claimant)
		earliest := at
		for name, meaning := range wants {
			if other, taken := first[name]; taken && other < earliest && claims(claimants[other])[name] != meaning {
				earliest = other
			}
		}
		if earliest < at {
			lost[at] = claimants[earliest]
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
