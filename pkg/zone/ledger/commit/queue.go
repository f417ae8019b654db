// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// queueGroups adds groups to the queue of a zone, and waits for their answers, in the order of the groups. The first
// caller at an idle queue commits in the calling goroutine. If ctx ends, the groups not yet committed are withdrawn.
func (com *Committer) queueGroups(ctx context.Context, zone string, groups ...*group) []Answer {
	for _, g := range groups {
		g.beginWait(ctx)
	}
	h, first := com.joinQueue(zone, groups)
	if first {
		com.commitOwn(ctx, h, groups)
	}
	answers := make([]Answer, len(groups))
	for i, g := range groups {
		answers[i] = com.awaitAnswer(ctx, h, g)
	}
	return answers
}

func (s *spans) beginWait(ctx context.Context) {
	if s.isRecorded() {
		_, s.wait = traces.Start(traces.Within(ctx, s.commit), "Queue")
	}
}

func (s *spans) endWait() {
	if s.wait != nil {
		s.wait.End()
	}
}

// joinQueue returns true if the queue was idle. Then the caller commits.
func (com *Committer) joinQueue(zone string, groups []*group) (h *queue, first bool) {
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	h = com.queueAt(zone)
	h.waiting = append(h.waiting, groups...)
	// The committing goroutine takes the group with its next batch.
	first, h.committing = !h.committing, true
	if h.sizeReached != nil && len(h.waiting) >= h.targetSize {
		// As many groups wait as the last batch had, so waitForBatch has no reason to wait longer.
		close(h.sizeReached)
		h.sizeReached = nil
	}
	return h, first
}

// commitOwn lets the first caller at an idle queue commit its own groups. If the batch has groups of other callers too,
// a goroutine commits the batch and all later ones, so that the caller does not wait for later writes.
func (com *Committer) commitOwn(ctx context.Context, h *queue, groups []*group) {
	select {
	case h.sem <- struct{}{}:
	case <-ctx.Done():
		// Other groups may have joined meanwhile: a goroutine serves them.
		com.resignQueue(h)
		return
	}
	batch := com.takeBatch(h)
	hasOthers := slices.ContainsFunc(batch, func(g *group) bool { return !slices.Contains(groups, g) })
	if !hasOthers {
		// The usual case of a quiet zone, without a second goroutine.
		defer com.resignQueue(h)
		com.commitLocked(ctx, h, batch)
		return
	}
	com.Mem.Spawn(func() { com.commitQueue(h, batch) })
}

// awaitAnswer waits for the answer to g. If ctx ends first, the group leaves the queue, and the answer has the error of
// ctx, with sent if a batch may commit the group nevertheless.
func (com *Committer) awaitAnswer(ctx context.Context, h *queue, g *group) Answer {
	select {
	case a := <-g.answer:
		return a
	case <-ctx.Done():
	}
	// Mark the group first: a batch that has taken the group from the queue already then skips the group.
	a := g.withdrawGroup(ctx.Err())
	com.Mem.Mu.Lock()
	h.waiting = slices.DeleteFunc(h.waiting, func(x *group) bool { return x == g })
	com.Mem.Mu.Unlock()
	return a
}

// withdrawGroup waits for a decision in progress, and returns the group's answer if there is one. Otherwise later
// batches skip the group, and the groups behind it in the same order.
func (g *group) withdrawGroup(err error) Answer {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	select {
	case a := <-g.answer:
		return a
	default:
	}
	g.callerGone = true
	g.order.breakOff()
	return Answer{Err: err, sent: g.admitted && !g.onlyCompares, overtaken: g.overtaken}
}

func (com *Committer) resignQueue(h *queue) {
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	if h.committing = len(h.waiting) > 0; h.committing {
		com.Mem.Spawn(func() { com.commitQueue(h, nil) })
	}
}

// commitQueue commits batches until no group waits. The caller may pass the first batch, if it holds the lock h.sem.
// Each batch has a context of its own: a caller's context would log and charge the other writes as the caller's.
func (com *Committer) commitQueue(h *queue, batch []*group) {
	for {
		if len(batch) == 0 {
			// A write with locks of its own (Acquire) may have the zone now.
			h.sem <- struct{}{}
			if batch = com.takeBatch(h); len(batch) == 0 {
				// No group waits. If another arrives before the lock of Mu, go on, otherwise its caller commits.
				com.Mem.Mu.Lock()
				h.committing = len(h.waiting) > 0
				more := h.committing
				com.Mem.Mu.Unlock()
				<-h.sem
				if !more {
					return
				}
				continue
			}
		}
		started := time.Now()
		within, cancel := context.WithTimeout(withCause(context.Background(), batch), batchTimeout)
		com.commitLocked(within, h, batch)
		cancel()
		// The answered callers get time to send their next writes, into the same batch.
		com.waitForBatch(h, len(batch), started)
		batch = nil
	}
}

func (com *Committer) commitLocked(ctx context.Context, h *queue, batch []*group) {
	defer com.Release(h)
	com.commitAll(ctx, []*queue{h}, batch)
}

func withCause(ctx context.Context, groups []*group) context.Context {
	if i := slices.IndexFunc(groups, (*group).isRecorded); i >= 0 {
		return traces.Within(ctx, groups[i].commit)
	}
	return traces.Within(ctx, traces.None)
}

// takeBatch removes the first groups from the queue, at most as many as a journal value has steps. The caller holds
// h.sem.
func (com *Committer) takeBatch(h *queue) []*group {
	com.Mem.Mu.Lock()
	batch := h.waiting
	if len(batch) > layout.MaxSteps {
		batch = batch[:layout.MaxSteps:layout.MaxSteps]
	}
	// A slice of the old array would keep answered groups, with their objects, in memory.
	h.waiting = slices.Clone(h.waiting[len(batch):])
	com.Mem.Mu.Unlock()
	for _, g := range batch {
		g.endWait()
	}
	return batch
}

// waitForBatch pauses until as many groups wait as the last batch had, for at most half of that batch's time. It
// returns at once after a small batch, or while etcd commits fast.
func (com *Committer) waitForBatch(h *queue, size int, started time.Time) {
	if size < largeBatch || com.latency.least() < com.SlowCommit {
		return
	}
	com.Mem.Mu.Lock()
	if len(h.waiting) >= size {
		com.Mem.Mu.Unlock()
		return
	}
	enough := make(chan struct{})
	h.targetSize, h.sizeReached = size, enough
	com.Mem.Mu.Unlock()
	// A constant flow of writes fills the batch earlier, and joinQueue closes enough.
	timer := time.NewTimer(min(time.Since(started)/2, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-enough:
	}
	com.Mem.Mu.Lock()
	// joinQueue must not close the channel of a pause that is over.
	h.sizeReached = nil
	com.Mem.Mu.Unlock()
}

const (
	// From this commit latency on, a queue waits up to maxPause after a batch of largeBatch groups: otherwise half of
	// their callers' next writes would miss the transaction.
	SlowCommit = 4 * time.Millisecond
	largeBatch = 4
	maxPause   = 10 * time.Millisecond
)
