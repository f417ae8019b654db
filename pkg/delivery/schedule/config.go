// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"log/slog"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/delivery/plan"
)

// Config of a Loop. Fields without a default are required.
type Config struct {
	// Identity of this process, unique forever: the fence tells workers apart by it.
	Identity string
	plan.Source
	Store    lease.Store
	Observer Observer
	Metrics  Metrics
	Logger   *slog.Logger
	// Lease is how long another process may still believe to be the active worker after it lost the lease. When Run
	// stops, a call in flight ends within half a lease. 0: 15 s.
	Lease time.Duration
	// CallTimeout of a call outside. 0: half of Lease.
	CallTimeout time.Duration
	// Workers bounds the simultaneous attempts of a class. A tenant has at most half, a second tenant half of the
	// rest, and so on. 0: 16.
	Workers int
	Backoff delivery.Backoff
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Lease/2)
	c.Workers = cmp.Or(c.Workers, 16)
	c.Backoff = c.Backoff.WithDefaults()
	return c
}

// grace is the time for calls in flight to end after Run was stopped. A worker with the next lease can rely on it.
func (c Config) grace() time.Duration { return c.Lease / 2 }

// repeatAfter is the time until no call of a worker that lost its intent can arrive any more: a lease, and the
// timeout of a call begun at the end.
func (c Config) repeatAfter() time.Duration { return c.Lease + c.CallTimeout }

// Observer receives the events of attempts, on the worker, and must not block for long.
type Observer interface {
	Observe(event delivery.Event)
}

// Metrics counts the work of the Loop, from many goroutines.
type Metrics interface {
	Called(call Call)
	// Delivered records a confirmed serial, and the time since the Loop saw it.
	Delivered(class string, lag time.Duration)
	// Drifted counts each missing and differing RRset once until the repair, and the growth of foreign RRsets.
	Drifted(class string, missing, differing, foreign int)
	Fenced(class string)
}

type Call struct {
	Class, Provider string
	// Method is "Deliver", "Withdraw", "Verify", "Health" or "Close".
	Method string
	Reason delivery.Reason
	Code   string
}
