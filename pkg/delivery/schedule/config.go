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

// Config of a Loop. What has no value that 0 stands for is required.
type Config struct {
	// Identity of this process, never used by another one: the fence tells workers apart by it.
	Identity string
	// Source has the zones.
	plan.Source
	Store    lease.Store
	Observer Observer
	Metrics  Metrics
	Logger   *slog.Logger
	// Lease is how long another process may think that it is the one that works after it no longer is. When Run is
	// told to end, a call that is under way ends within half of it. 0: 15 s.
	Lease time.Duration
	// CallTimeout is how long a single call outside may take. 0: half of Lease.
	CallTimeout time.Duration
	// Workers bounds how many zones of one class are worked on at a time, of which one tenant has half, a second one
	// half of the rest, and so on. 0: 16.
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

// grace is how long what is under way has to end when Run does: half a lease, so that a worker that takes over a lease
// after this one could last renew it knows that it ended.
func (c Config) grace() time.Duration { return c.Lease / 2 }

// repeatAfter is when nothing of a worker that lost its intent can arrive any more: a lease, and the deadline of the
// call that it may have begun at the end of it.
func (c Config) repeatAfter() time.Duration { return c.Lease + c.CallTimeout }

// Observer is told how attempts ended. It is called from the worker of the item: it may not block for long.
type Observer interface {
	Observe(event delivery.Event)
}

// Metrics counts what the loop does. It is called from many goroutines.
type Metrics interface {
	// Called is one call of a provider's method.
	Called(call Call)
	// Delivered is a confirmed serial: how long after the loop first saw it settled.
	Delivered(class string, lag time.Duration)
	// Drifted counts RRsets that a comparison found: missing and differing ones once until they are mended, and by
	// how many those of others grew since the comparison before.
	Drifted(class string, missing, differing, foreign int)
	// Fenced is an attempt given up because another worker had the zone.
	Fenced(class string)
}

// Call of a provider's method.
type Call struct {
	Class, Provider string
	// Method is "Deliver", "Withdraw", "Verify", "Health" or "Close".
	Method string
	// Reason and Code are those of its Error, both empty on success.
	Reason delivery.Reason
	Code   string
}
