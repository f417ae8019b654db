// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

func (ob *Outbox) ProcessOutbox(ctx context.Context) {
	if _, err := ob.loadItems(ctx); err != nil {
		return
	}
	for _, s := range ob.listDue(true) {
		ob.runWork(ctx, s)
	}
}

// TryWaiting makes a round without pauses.
func (ob *Outbox) TryWaiting(ctx context.Context) error {
	_, err := ob.tryRange(ctx, ob.Mem.Layout.Room("orphans"), "", maxListed, 0)
	return err
}

func (ob *Outbox) SetLanes(n int, slice time.Duration) { ob.lanes = newLanes(n, slice) }

// SweepDue enqueues the works of the Records that have expired.
func (ob *Outbox) SweepDue(ctx context.Context) { ob.sweepDue(ctx, nil) }
