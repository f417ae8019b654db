// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"
)

// CarryOut carries out all that is in the outbox, one work after the other, and nothing else of what Run does. Stories
// of the ledger stand still between the end of a cascade and the cuts, which Run pays too.
func (box *Outbox) CarryOut(ctx context.Context) {
	for _, s := range box.listDue(ctx, true) {
		box.takeUp(ctx, s)
	}
}

// SetLanes has at most n cascades run at once, each for a slice: with laneSlice a test that a lane gives way would need
// a cascade of many seconds.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes.most, box.lanes.slice = n, slice }
