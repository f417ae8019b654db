// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math/rand/v2"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

// job is run by a queue, by one worker at a time, when it is enqueued and when its timer fires.
type job struct {
	queue *queue
	// tenant has a share of the queue's workers.
	tenant string
	// start begins a run, with the mutex held; the end of it is told by queue.endRun.
	start func()
	// again says that it was enqueued while it ran, gone that it is not run any more, and woken that something that it
	// waited for has come.
	queued, running, again, gone, woken bool
	timer                               *time.Timer
}

// queue runs the jobs of one class: some at a time, and none while the class is to be left alone. All of its methods
// are called with the mutex held.
type queue struct {
	mu      *sync.Mutex
	workers int
	backoff delivery.Backoff
	// open says that jobs may run. probe asks whether a class that waits could go on (liftWait); it does not block.
	open  func() bool
	probe func()

	// ready has what waits of each tenant, order the tenants of these, the next one first. of counts what runs of each.
	ready   map[string][]*job
	order   []string
	of      map[string]int
	waiting int
	running int
	// revision is counted up when failures are forgotten.
	revision int
	// until is when a class whose provider wants to be left alone goes on; failures are those in a row.
	until    time.Time
	failures int
	timer    *time.Timer
	// down says that jobs failed for the class's sake since one last succeeded; failed are these.
	down   bool
	failed map[*job]bool
	// health says what its health is worth to a class that waits; it is asked for at probeAt.
	health  health
	probeAt time.Time
}

// health of a class that waits.
type health int

const (
	// healthAsked says that the class goes on where its health is good.
	healthAsked health = iota
	// healthTrusted says that it was good, so the class went on, and nothing has succeeded since.
	healthTrusted
	// healthIgnored says that the provider said itself when the class goes on, or its health was good and what was
	// tried failed all the same.
	healthIgnored
)

// enqueueJob has a job run, once more where it runs.
func (q *queue) enqueueJob(j *job) {
	switch {
	case j.gone || j.queued:
	case j.running:
		j.again = true
	default:
		j.queued = true
		if len(q.ready[j.tenant]) == 0 {
			q.order = append(q.order, j.tenant)
		}
		q.ready[j.tenant] = append(q.ready[j.tenant], j)
		q.waiting++
		q.startNext()
	}
}

// startNext starts what is ready.
func (q *queue) startNext() {
	if !q.open() {
		return
	}
	if wait := time.Until(q.until); wait > 0 {
		q.waitFor(wait)
		return
	}
	for j := q.takeNext(); j != nil; j = q.takeNext() {
		if j.queued = false; j.gone {
			continue
		}
		j.running = true
		q.running++
		q.of[j.tenant]++
		j.start()
	}
}

// takeNext takes what is to run next, the tenants in turn. A tenant has at most as many workers as stay free: else one
// with thousands of changes in as many zones as there are workers would hold up all others.
func (q *queue) takeNext() *job {
	free := q.workers - q.running
	if free <= 0 {
		return nil
	}
	for i, tenant := range q.order {
		if q.of[tenant] >= free {
			continue
		}
		copy(q.order[1:i+1], q.order[:i])
		q.order = q.order[1:]
		jobs := q.ready[tenant]
		next := jobs[0]
		jobs[0] = nil
		if jobs = jobs[1:]; len(jobs) == 0 {
			delete(q.ready, tenant) // lets go of what a burst needed
		} else {
			q.ready[tenant] = jobs
			q.order = append(q.order, tenant)
		}
		q.waiting--
		return next
	}
	return nil
}

// waitFor sets when a class that waits may go on, or may be asked whether it could.
func (q *queue) waitFor(wait time.Duration) {
	q.stop()
	if q.health != healthIgnored {
		wait = min(wait, time.Until(q.probeAt))
	}
	q.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if now := time.Now(); q.open() && q.until.After(now) && !q.probeAt.After(now) && q.health != healthIgnored {
			q.probeAt = now.Add(q.backoff.Max)
			q.probe()
		}
		q.startNext()
	})
}

// endRun takes note of a run that ended, which met the class as it was at revision. pause says that its provider
// wants every job to wait, worked that it did what it was asked.
func (q *queue) endRun(j *job, revision int, pause *delivery.Error, worked bool) {
	j.running = false
	q.running--
	if q.of[j.tenant]--; q.of[j.tenant] == 0 {
		delete(q.of, j.tenant)
	}
	switch now := time.Now(); {
	case revision != q.revision: // what it met is no longer how the class is
	case pause != nil:
		if q.down, q.failed[j] = true, true; q.until.After(now) {
			return
		}
		delay := pause.RetryAfter
		if delay > 0 || q.health == healthTrusted {
			q.health = healthIgnored
		} else {
			q.health = healthAsked
		}
		if delay <= 0 {
			delay = delivery.Jitter(q.backoff.Delay(q.failures), rand.Int64N)
		}
		q.failures++
		q.until, q.probeAt = now.Add(delay), now.Add(q.backoff.Max)
	case worked:
		delete(q.failed, j)
		if q.failures = 0; q.health == healthTrusted {
			q.health = healthAsked
		}
		q.retryFailed()
	}
}

// scheduleNext has a job that ended run at once, where it is to, or at a time, the zero time: not by itself.
func (q *queue) scheduleNext(j *job, again bool, at time.Time) {
	j.stop()
	switch {
	case j.gone:
	case j.again || again:
		j.again = false
		q.enqueueJob(j) // From here on it may belong to the next worker.
	case !at.IsZero():
		j.timer = time.AfterFunc(time.Until(at), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.enqueueJob(j)
		})
	}
	q.startNext()
}

// liftWait has a class that waits go on, since it was asked at revision and works.
func (q *queue) liftWait(revision int) {
	if q.down && q.health != healthIgnored && q.revision == revision {
		q.until, q.health = time.Time{}, healthTrusted
		q.retryFailed()
		q.startNext()
	}
}

// retryFailed has everything tried again at once that failed for the class's sake.
func (q *queue) retryFailed() {
	if !q.down {
		return
	}
	failed := q.failed
	q.down, q.failed = false, map[*job]bool{}
	for j := range failed {
		j.woken = true
		q.enqueueJob(j)
	}
}

// restartJobs forgets failures.
func (q *queue) restartJobs() {
	q.revision++
	q.until, q.failures, q.down, q.health = time.Time{}, 0, false, healthAsked
	clear(q.failed)
}

// dropJob has a job not run any more.
func (q *queue) dropJob(j *job) {
	j.gone = true
	j.stop()
	delete(q.failed, j)
}

func (q *queue) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}

func (j *job) stop() {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
}
