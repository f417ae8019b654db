// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

// CarryOut processes the outbox once, without the rest of Run: stories pause between the end of a cascade and the
// count of cuts.
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

// SetLanes sets the number of lanes and the slice.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes = newLanes(n, slice) }
