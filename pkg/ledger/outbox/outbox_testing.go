// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

// CarryOut processes the outbox once, one work after the other. It does nothing else that Run does: stories of the
// ledger pause between the end of a cascade and the cuts, which Run counts too.
func (box *Outbox) CarryOut(ctx context.Context) {
	if _, err := box.loadItems(ctx); err != nil {
		return
	}
	for _, s := range box.listDue(true) {
		box.takeUp(ctx, s)
	}
}

// TryWaiting makes a round without pauses.
func (box *Outbox) TryWaiting(ctx context.Context) error {
	_, err := box.tryRange(ctx, box.mem.Layout.Room("orphans"), "", maxListed, 0)
	return err
}

// SetLanes sets the number of lanes and their slice. With laneSlice, a test of giving way would need a cascade of
// many seconds.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes = newLanes(n, slice) }
