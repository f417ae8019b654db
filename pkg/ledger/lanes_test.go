// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/law"
)

// However many cascades run, a move does not wait for one; and the next cascade has the place of the one that ends.
func TestLanes_aMoveWaitsForNoCascade(t *testing.T) {
	p := &lanes{busy: map[string]bool{}}
	cascade := func(i int) string { return lane(&law.Work{By: fmt.Sprintf("team-%d", i)}) }
	for i := range maxLanes {
		if !p.take(cascade(i)) {
			t.Fatalf("cascade %d of %d has no lane", i, maxLanes)
		}
	}
	move := lane(&law.Work{By: "team-0", Move: &law.Move{}})
	if p.take(cascade(0)) || p.take(cascade(maxLanes)) {
		t.Error("a second cascade of one namespace, or one more than there are lanes, has one")
	}
	if !p.take(move) || p.take(move) {
		t.Error("a move waits for cascades, or two of one namespace run at once")
	}
	if !p.leave(move) || p.take(cascade(maxLanes)) {
		t.Error("who waits is not told, or a move has given a cascade its place")
	}
	if !p.leave(cascade(0)) || !p.take(cascade(maxLanes)) {
		t.Error("the place of a cascade that ended is not given on")
	}
}
