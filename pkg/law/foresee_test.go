// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"

	"kubi.zone/kubizone/pkg/law"
)

// ForeseeHold predicts whether a planned removal would hold the zone as a mass deletion. The present content counts as
// old, as at the commit, and RRsets already lost since the last periods count, too.
func TestForeseeHold_S7_5(t *testing.T) {
	former := law.Stock{RRsets: 12, Own: 12}
	for _, c := range []struct {
		what        string
		rrsets, own int
		least       [3]law.Stock
		percent     int64
		taken       int
		holds       bool
	}{
		{"nothing is taken", 12, 12, [3]law.Stock{}, 30, 0, false},
		{"a share that may go", 12, 12, [3]law.Stock{}, 30, 3, false},
		{"one more", 12, 12, [3]law.Stock{}, 30, 4, true},
		{"of a small zone", 9, 9, [3]law.Stock{}, 30, 9, false},
		{"without a limit", 12, 12, [3]law.Stock{}, 100, 12, false},
		{"never counted, as of an earlier version", 12, 0, [3]law.Stock{}, 30, 4, true},
		{"two are gone in this period already", 10, 10, [3]law.Stock{{RRsets: 10, Own: 10}, former, former}, 30, 2, true},
		{"others' Records count for the size alone", 40, 12, [3]law.Stock{}, 30, 12, false},
		{"the last NS", 1, 1, [3]law.Stock{}, 30, -1, true},
		{"the last NS, without a limit", 1, 1, [3]law.Stock{}, 100, -1, false},
	} {
		z := &law.Zone{RRsets: c.rrsets, Deletions: law.Deletions{Own: c.own, LeastStocks: c.least}}
		z.MaxDeletePercent = c.percent
		if excess := z.ForeseeHold(max(c.taken, 0), c.taken < 0); (excess != nil) != c.holds {
			t.Errorf("%s: %v", c.what, excess)
		}
	}
}
