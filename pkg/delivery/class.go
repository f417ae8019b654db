// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Config of a Loop.
type Config struct {
	// Identity of this process, never used by another one.
	Identity string
	// Views holds the zones; what is settled there is delivered (S7.2).
	Views *zoneview.Set
	// History says what each serial after since, up to until, did to a zone, for those that Views does not reach back
	// to. Without it there is no other source. An error that wraps zoneview.ErrTrimmed says that it does not reach back
	// either.
	History func(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error)
	// Left names what a zone that ended had since a serial (S3.7). Without it that is not known.
	Left  func(ctx context.Context, uid string, since serial.Serial) ([]RRsetKey, error)
	Store Store
	// Observer, Metrics and Logger are optional.
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
	Backoff Backoff
}

// Validate reports everything that is wrong, by field.
func (c Config) Validate() error {
	var errs []error
	if c.Identity == "" {
		errs = append(errs, errors.New("delivery: Identity: required, and unique to the process: the fence tells workers apart by it"))
	}
	if c.Views == nil {
		errs = append(errs, errors.New("delivery: Views: required"))
	}
	if c.Store == nil {
		errs = append(errs, errors.New("delivery: Store: required"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Lease/2)
	c.Workers = cmp.Or(c.Workers, 16)
	c.Backoff = Backoff{
		Base: cmp.Or(c.Backoff.Base, 5*time.Second), Max: cmp.Or(c.Backoff.Max, time.Minute),
		Attempts: cmp.Or(c.Backoff.Attempts, 5), Slow: cmp.Or(c.Backoff.Slow, 10*time.Minute),
	}
	return c
}

// grace is how long what is under way has to end when Run does: half a lease, so that a worker that takes over a lease
// after this one could last renew it knows that it ended.
func (c Config) grace() time.Duration { return c.Lease / 2 }

// repeatAfter is when nothing of a worker that lost its intent can arrive any more: a lease, and the deadline of the
// call that it may have begun at the end of it.
func (c Config) repeatAfter() time.Duration { return c.Lease + c.CallTimeout }

// Class is one way by which zones reach name servers.
type Class struct {
	// Name is unique among all classes of all kinds.
	Name string
	// Kind of the provider, for people: one of a handful of words.
	Kind string
	// Generation changes with everything that a failed delivery may have waited for, credentials included.
	Generation string
	// Target stands for where zones go. When it is not the one of a State, what that confirmed is void and the whole
	// zone is delivered.
	Target string
	// Provider belongs to the Loop from now on, which closes it. It is a pointer: another one is another provider.
	// Without it the class cannot work, and Err says why; what is retained can be let go of nevertheless.
	Provider Provider
	Err      *Error
	// RequestsPerSecond bounds calls that write, all zones of the class together. 0: 50.
	RequestsPerSecond float64
	// Paused says that nothing is asked of the provider.
	Paused bool
	// DriftInterval is how often each zone is compared. 0: 1 h.
	DriftInterval time.Duration
	// Servers are the names of the servers that the class has now, sorted; nil: they change with the Target alone. A
	// delivery with rows of others is compared soon.
	Servers []string
	// AllowRetain lets zones that say Retain stay at the provider. Without it they are withdrawn like others (S8.4).
	AllowRetain bool
}

// Zone is what shall be done with a Zone object. Its content comes from Config.Views.
type Zone struct {
	UID string
	// Tenant owns the zone. Zones of tenants alternate, and each tenant has a share of a class's workers.
	Tenant string
	// Classes deliver the zone.
	Classes []string
	// Former are classes that delivered it once and have a state of it left: it is withdrawn from them. Classes
	// that the Loop has seen in Classes itself need not be named.
	Former []string
	// Expelled are classes that the zone is withdrawn from at once. From others it is when the Classes have it.
	Expelled []string
	// Withdraw says that the zone is going. It is withdrawn from Classes too.
	Withdraw bool
	// Retain says that at classes with AllowRetain, what is withdrawn stays at the provider and is only let go of
	// (S8.4).
	Retain bool
	// Paused says that nothing is delivered. Withdrawing goes on.
	Paused bool
	// Request asks, where it is another than State.Request, for the zone to be compared now, and for what failed to
	// be tried again.
	Request string
	// Frozen is the serial to stay at, 0 for none: the namespace of the zone terminates, and its records go before it.
	Frozen serial.Serial
}

// broken is why a class has no provider.
func (c Class) broken() *Error {
	if c.Err != nil {
		return c.Err
	}
	return &Error{Reason: ReasonInvalidConfiguration, Permanent: true, Message: fmt.Sprintf("class %s has no provider", c.Name)}
}
