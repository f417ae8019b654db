// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

// CarryOut carries out all that is in the outbox, one work after the other. It does nothing else of what Run does:
// stories of the ledger stand still between the end of a cascade and the cuts, which Run pays too.
func (box *Outbox) CarryOut(ctx context.Context) {
	if _, err := box.loadItems(ctx); err != nil {
		return
	}
	for _, s := range box.listDue(true) {
		box.takeUp(ctx, s)
	}
}

// TryWaiting makes a round, without a rest.
func (box *Outbox) TryWaiting(ctx context.Context) error {
	_, err := box.tryRange(ctx, box.mem.Layout.Room("orphans"), "", maxListed, 0)
	return err
}

// SetLanes has at most n cascades run at once, each for a slice: with laneSlice a test that a lane gives way would need
// a cascade of many seconds.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes = newLanes(n, slice) }
