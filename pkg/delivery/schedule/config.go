// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/delivery/plan"
)

type Config struct {
	// Identity is this worker's name in intents and as State.Holder.
	Identity string
	plan.Source
	Store    lease.Store
	Observer Observer
	Metrics  Metrics
	Logger   *slog.Logger
	// Lease is how long a process may act before it notices the loss of its lease; 0 means 15 s. When Run stops, a call
	// in progress ends within half of Lease.
	Lease time.Duration
	// CallTimeout bounds each call to a provider; 0 means half of Lease.
	CallTimeout time.Duration
	// Workers bounds a class's simultaneous attempts; 0 means 16. A tenant has at most half, a second tenant half of
	// the rest, and so on.
	Workers int
	Backoff delivery.Backoff
	// Traces records the deliveries of sampled writes; nil means none.
	Traces trace.TracerProvider
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Lease/2)
	c.Workers = cmp.Or(c.Workers, 16)
	c.Backoff = c.Backoff.WithDefaults()
	return c
}

// The next holder of the lease relies on this bound.
func (c Config) grace() time.Duration { return c.Lease / 2 }

// repeatAfter is the time until the last call of a fenced worker has arrived: a lease, and the timeout of a call begun
// at its end.
func (c Config) repeatAfter() time.Duration { return c.Lease + c.CallTimeout }

// Observe delays the attempt, and must not block for long.
type Observer interface {
	Observe(event delivery.Event)
}

// Metrics counts the work of a Loop by class. Methods may be called concurrently.
type Metrics interface {
	CountCall(call Call)
	// CountDelivery counts a serial confirmed by the class. lag is the time since the Loop saw the oldest change in it,
	// 0 if unknown.
	CountDelivery(class string, lag time.Duration)
	// CountDrift counts drifted RRsets. A missing or differing RRset counts once until its repair. Foreign RRsets,
	// written by others, count when a comparison finds more than the last comparison.
	CountDrift(class string, missing, differing, foreign int)
	// CountFenced counts an attempt stopped before a write because another worker has taken over the delivery.
	CountFenced(class string)
}

type Call struct {
	Class, Provider string
	// Method is "Deliver", "Withdraw", "Verify", "Health", "AskLast" or "Close"
	Method string
	Reason delivery.Reason
	Code   string
}
