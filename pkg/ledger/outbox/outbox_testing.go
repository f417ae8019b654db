// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Functions for tests of the ledger.

// CarryOut carries out all that is in the outbox, one work after the other.
func (box *Outbox) CarryOut(ctx context.Context) {
	for _, s := range box.listDue(ctx, true) {
		box.takeUp(ctx, s)
	}
}

// SetLanes has at most n cascades run at once, each for a slice.
func (box *Outbox) SetLanes(n int, slice time.Duration) { box.lanes.most, box.lanes.slice = n, slice }

// StepTwice decides a Record twice in one transaction, and says how often it was written, and told what had been.
func (box *Outbox) StepTwice(ctx context.Context, namespace, name string) (wrote, told int, err error) {
	o, mod, err := box.mem.ReadRecord(ctx, namespace, name)
	if err != nil {
		return 0, 0, err
	}
	var steps []*step
	for range 2 {
		st := &step{candidate: candidate{letter: layout.WaitingRecord, namespace: namespace, object: name, uid: string(o.UID)}}
		if st.w, err = box.stepOf(&standing{Item: commit.Item{Work: law.Work{Unmarked: true}}}, st.candidate, o, mod); err != nil {
			return 0, 0, err
		}
		st.w.Item = nil
		steps = append(steps, st)
	}
	for _, a := range box.com.SubmitInOrder(ctx, "", writesOf(steps)) {
		switch {
		case a.Err != nil:
			err = a.Err
		case a.Out.OK:
			wrote++
		case a.Out.KV != nil:
			told++
		}
	}
	return wrote, told, err
}
