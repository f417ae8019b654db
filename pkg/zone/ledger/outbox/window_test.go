// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// For any number and order of candidates, the windows together hold each candidate once, in the right order, and memory
// holds no more than one window.
func TestWindow_partsAreAllOfIt_S2_8(t *testing.T) {
	const n = 3*maxWindow + 7
	find := func(found func(candidate)) {
		for i := range n {
			i := i * 7919 % n
			c := candidate{Ref: law.Ref{Namespace: []string{"own", "other"}[i%2], Name: fmt.Sprintf("r%d", i), UID: fmt.Sprintf("uid-%d", i)},
				kindLetter: layout.WaitingRecord, created: int64(i / 5)}
			if i%1000 == 0 {
				c.kindLetter = layout.WaitingZone
			}
			found(c)
			if i%3 == 0 { // found by a second scan
				found(c)
			}
		}
	}
	var all []candidate
	s := &workState{Item: commit.Item{Work: law.Work{Zones: []law.Place{{Ref: law.Ref{Namespace: "own"}}}}},
		cursor: law.Cursor{Moved: true}}
	for {
		w := windowOf(s)
		find(w.addCandidate)
		part := w.truncate()
		s.cursor = w.cursorAt(part[len(part)-1])
		if len(part) > maxWindow || cap(w.candidates) > 4*maxWindow {
			t.Fatalf("%d candidates, room for %d", len(part), cap(w.candidates))
		}
		if all = append(all, part...); !w.more {
			if !slices.IsSortedFunc(all, w.compareCandidates) {
				t.Error("they are not in order")
			}
			break
		}
	}
	seen := map[string]bool{}
	for i, c := range all {
		if c.kindLetter == layout.WaitingZone && i > n/1000 || seen[c.UID] {
			t.Fatalf("%d: %+v", i, c)
		}
		seen[c.UID] = true
	}
	if len(all) != n {
		t.Errorf("%d of %d", len(all), n)
	}
}
