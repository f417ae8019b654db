// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

// CarryOut carries out all that is in the outbox, one work after the other, and then what waits and would come in
// (S2.7). It does nothing else of what Run does: stories of the ledger stand still between the end of a cascade and the
// cuts, which Run pays too.
func (box *Outbox) CarryOut(ctx context.Context) {
	for owed := 1; owed > 0; owed, _ = box.TryWaiting(ctx) {
		for _, s := range box.listDue(ctx, true) {
			box.takeUp(ctx, s)
		}
	}
}

// TryWaiting makes a round, without a rest, and returns how many cascades it owes.
func (box *Outbox) TryWaiting(ctx context.Context) (owed int, err error) {
	owed, _, err = box.tryRange(ctx, box.mem.Layout.Room("orphans"), "", maxListed, 0)
	return owed, err
}

// DrawWaiting returns what a round would try, by namespace.
func (box *Outbox) DrawWaiting(ctx context.Context) (map[string][]string, error) {
	room := box.mem.Layout.Room("orphans")
	chosen, _, err := box.drawWaiting(ctx, room, "", maxListed)
	out := map[string][]string{}
	for _, c := range chosen {
		out[c.Namespace] = append(out[c.Namespace], c.Name)
	}
	return out, err
}

// SetLanes has at most n cascades run at once, each for a slice: with laneSlice a test that a lane gives way would need
// a cascade of many seconds.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes = newLanes(n, slice) }
