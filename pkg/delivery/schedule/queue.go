// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math/rand/v2"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

// job is a task that the queue runs again and again, never twice at the same time.
type job struct {
	queue  *queue
	tenant string
	// The queue calls start with the mutex held, to begin a run. The call returns at once, and endRun ends the run.
	start func()
	// queued is true while the job waits for a worker, runAgain if it was enqueued during a run, dropped if it never
	// runs again. woken is true if the next run retries at once, without the delay after a failure.
	queued, running, runAgain, dropped, woken bool
	timer                                     *time.Timer
}

// queue runs the deliveries (jobs) of a class with a limited number of workers. If the provider is down, all jobs
// pause, and the queue checks the provider's health in between. Callers of all methods hold mu.
type queue struct {
	mu      *sync.Mutex
	workers int // at most so many jobs run
	backoff delivery.Backoff
	// No job starts while open returns false. probe starts a health check, without blocking.
	open  func() bool
	probe func()

	ready           map[string][]*job // waiting jobs by tenant
	order           []string          // of the tenants in ready, the next first
	runningByTenant map[string]int
	waiting         int // number of jobs in ready
	running         int // number of running jobs
	revision        int // counts changes of the class
	// No job starts before pausedUntil. The number of failures in a row makes the next pause longer.
	pausedUntil time.Time
	failures    int
	timer       *time.Timer // for pausedUntil or probeAt
	// down is true after a failure of the class itself, until a job succeeds or the health is good.
	down       bool
	failedJobs map[*job]bool // jobs that failed while down is true
	health     health
	probeAt    time.Time // of the next health check in a pause
}

type health int

const (
	// healthAsked means that good health may end a pause.
	healthAsked health = iota
	// healthTrusted means that good health ended a pause, and no job has succeeded since.
	healthTrusted
	// healthIgnored means that the provider set the end of the pause, or jobs failed despite good health.
	healthIgnored
)

// enqueueJob lets a job run as soon as its tenant's turn comes. A running job runs once more afterwards. Many calls
// before the run have the effect of a single call.
func (q *queue) enqueueJob(j *job) {
	switch {
	// Already waiting: ten changes of a zone in a row cost a single attempt.
	case j.dropped || j.queued:
	case j.running:
		j.runAgain = true
	default:
		j.queued = true
		// The tenant joins the end of the order, so the first zone of team-b need not wait for 5000 zones of team-a.
		if len(q.ready[j.tenant]) == 0 {
			q.order = append(q.order, j.tenant)
		}
		q.ready[j.tenant] = append(q.ready[j.tenant], j)
		q.waiting++
		q.startNext()
	}
}

// startNext starts waiting jobs until no worker is free for any tenant. During a pause, it only sets the timer.
func (q *queue) startNext() {
	if !q.open() {
		return
	}
	if wait := time.Until(q.pausedUntil); wait > 0 {
		q.setTimer(wait)
		return
	}
	for j := q.dequeueJob(); j != nil; j = q.dequeueJob() {
		// The zone was removed while the job waited.
		if j.queued = false; j.dropped {
			continue
		}
		j.running = true
		q.running++
		q.runningByTenant[j.tenant]++
		j.start()
	}
}

// dequeueJob returns the next waiting job, or nil if no worker is free for any waiting tenant. Tenants take turns.
func (q *queue) dequeueJob() *job {
	free := q.workers - q.running
	if free <= 0 {
		return nil
	}

	for i, tenant := range q.order {
		// A tenant has at most as many workers as stay free for others.
		if q.runningByTenant[tenant] >= free {
			continue
		}

		// Tenants that were passed over keep their place before all others.
		copy(q.order[1:i+1], q.order[:i])
		q.order = q.order[1:]
		jobs := q.ready[tenant]
		next := jobs[0]
		jobs[0] = nil
		if jobs = jobs[1:]; len(jobs) == 0 {
			delete(q.ready, tenant) // frees the memory of a burst
		} else {
			q.ready[tenant] = jobs
			q.order = append(q.order, tenant)
		}

		q.waiting--
		return next
	}
	return nil
}

// setTimer calls startNext after wait. In a pause that good health may end, the timer also starts a health check at
// probeAt.
func (q *queue) setTimer(wait time.Duration) {
	q.stop()
	if q.health != healthIgnored {
		wait = min(wait, time.Until(q.probeAt))
	}
	q.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if now := time.Now(); q.open() && q.pausedUntil.After(now) && !q.probeAt.After(now) && q.health != healthIgnored {
			q.probeAt = now.Add(q.backoff.Max)
			q.probe()
		}
		q.startNext()
	})
}

// endRun ends a run of a job. A classErr means that the provider failed, so the queue pauses all jobs for
// classErr.RetryAfter or a growing delay. If the run worked (made a change or comparison), the failed jobs are retried.
// A run that began before a change of the class (an old revision) has neither effect.
func (q *queue) endRun(j *job, revision int, classErr *delivery.Error, worked bool) {
	j.running = false
	q.running--
	if q.runningByTenant[j.tenant]--; q.runningByTenant[j.tenant] == 0 {
		delete(q.runningByTenant, j.tenant)
	}

	// The run used the former server or key: its result says nothing about the class of today.
	if revision != q.revision {
		return
	}
	if classErr != nil {
		q.pauseAfter(j, classErr)
		return
	}
	if worked {
		delete(q.failedJobs, j)
		q.failures = 0
		if q.health == healthTrusted {
			q.health = healthAsked
		}
		q.retryFailed()
	}
}

// pauseAfter pauses the class after a failure of its provider. failed is retried with the class. Further failures of
// attempts that began before the pause do not make the pause longer.
func (q *queue) pauseAfter(failed *job, classErr *delivery.Error) {
	q.down, q.failedJobs[failed] = true, true
	now := time.Now()
	isPaused := q.pausedUntil.After(now)
	if isPaused {
		return
	}

	// Good health must not end a pause set by the provider, or a pause after failures despite good health.
	delay := classErr.RetryAfter
	if delay > 0 || q.health == healthTrusted {
		q.health = healthIgnored
	} else {
		q.health = healthAsked
	}

	if delay <= 0 {
		delay = delivery.Jitter(q.backoff.Delay(q.failures), rand.Int64N)
	}
	q.failures++
	q.pausedUntil, q.probeAt = now.Add(delay), now.Add(q.backoff.Max)
}

// scheduleNext schedules the next run of a job after a run: at once if again, or if enqueued during the run; otherwise
// at a time, or never if at is zero.
func (q *queue) scheduleNext(j *job, again bool, at time.Time) {
	j.stop()
	switch {
	case j.dropped:
	case j.runAgain || again:
		j.runAgain = false
		q.enqueueJob(j) // from here on another worker may have the job
	case !at.IsZero():
		j.timer = time.AfterFunc(time.Until(at), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.enqueueJob(j)
		})
	}
	q.startNext()
}

// endPause ends a pause after good health. Without effect if the class changed since the check, or if the provider set
// the end of the pause.
func (q *queue) endPause(revision int) {
	if q.down && q.health != healthIgnored && q.revision == revision {
		q.pausedUntil, q.health = time.Time{}, healthTrusted
		q.retryFailed()
		q.startNext()
	}
}

// retryFailed enqueues the jobs that failed while the provider was down, without their delays.
func (q *queue) retryFailed() {
	if !q.down {
		return
	}
	failed := q.failedJobs
	q.down, q.failedJobs = false, map[*job]bool{}
	for j := range failed {
		j.woken = true
		q.enqueueJob(j)
	}
}

// The caller of restartJobs enqueues the jobs.
func (q *queue) restartJobs() {
	q.revision++
	q.pausedUntil, q.failures, q.down, q.health = time.Time{}, 0, false, healthAsked
	clear(q.failedJobs)
}

func (q *queue) dropJob(j *job) {
	j.dropped = true
	j.stop()
	delete(q.failedJobs, j)
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
