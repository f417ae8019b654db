// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Zones is what the primary serves. Every snapshot it hands out is immutable and settled
// (S7.2): what is delivered. zoneview.Set is one.
type Zones interface {
	// Find is the zone of the view that has exactly this name.
	Find(view string, fqdn name.Name) (*zoneview.Snapshot, bool)
	// Settled is the zone with this uid.
	Settled(uid string) (*zoneview.Snapshot, bool)
	// Difference is what lies between a serial of a zone and a snapshot of it. An error: it is not known any more.
	Difference(after *zoneview.Snapshot, since serial.Serial) (zoneview.Difference, error)
	// Changes are the steps from a serial of a zone to another one. An error: they are not known any more.
	Changes(uid string, since, until serial.Serial) ([]content.Step, error)
	// All is every zone of every view, in no order.
	All() iter.Seq[*zoneview.Snapshot]
	// Subscribe tells of zones that changed or went, coalesced; the function ends it.
	Subscribe() (<-chan zoneview.Event, func())
}

var _ Zones = (*zoneview.Set)(nil)

// Config says what a primary serves, where, and to which peers. Zones and Listen are required;
// every other zero value has the meaning its comment gives.
type Config struct {
	Zones Zones

	// Views are the views served to those that Allow lets in, in order: a name that several
	// have is served from the first. None: nothing is served but the zones of classes, which
	// have peers of their own (AddClass).
	Views []string
	// Listen is the address, served over UDP and TCP. Port 0 takes a free port,
	// the same for both; see Addr.
	Listen netip.AddrPort
	// Keys are the TSIG keys known. Allow and Notify name them.
	Keys []tsig.Key
	// Allow says which peers may ask. Without a rule every source is REFUSED.
	Allow []Rule
	// Notify are the secondaries told of new serials.
	Notify []Target

	// Updates carries out what keys of SetUpdateKeys send; required where there are any.
	Updates updates.Handler

	// MaxConns bounds TCP connections of peers, in total; as many more wait for a place for a moment. 0: 512. A
	// source that Allow admits by a key alone is a peer once it has signed; before that as many have places apart, 2
	// s without a message each, and where these are taken the oldest is cut. Sources it cannot admit share a
	// sixteenth of it, at least 4, apart. Peers that classes with a tenant alone let in have as many places apart.
	MaxConns int
	// MaxConnsPerClient bounds them for one IPv4 address or IPv6 /64, and for one tenant, all its addresses together.
	// 0: a quarter of MaxConns, which is 128: BIND opens a connection for each transfer, is often told to run 100 at
	// a time from one server (transfers-per-ns), and takes one that is closed on it for a server that is down.
	MaxConnsPerClient int
	// MaxTransfers bounds transfers that run at once; more wait. Those of tenants have as many places apart, of which
	// one tenant has a quarter. 0: 16.
	MaxTransfers int
	// MaxTransfersPerClient is the same for one client. 0: half of MaxTransfers.
	MaxTransfersPerClient int
	// TransferWait is how long a transfer waits for its turn, then SERVFAIL. 0: 30 s.
	TransferWait time.Duration
	// LeastRate is how many octets a second a transfer has on average, WriteTimeout not counted; a slower one is cut
	// and gives its place back. 0: 16 KiB, so that 16 at once fit a line of 2 Mbit/s.
	LeastRate int
	// IdleTimeout is how long a connection may ask nothing. 0: 30 s.
	IdleTimeout time.Duration
	// ReadTimeout is how long a message may take to arrive once begun. 0: 5 s.
	ReadTimeout time.Duration
	// WriteTimeout is how long one message (at most 64 KiB) may take to leave. 0: 30 s.
	WriteTimeout time.Duration
	// StopTimeout is how long running transfers are given when Run is told to end. 0: 5 s.
	StopTimeout time.Duration

	// Reachable returns when secondaries can reach Listen; nil: they can at once. Before that no NOTIFY is sent: BIND
	// would query at once, and after a lost query delay further NOTIFYs of the zone for 15 s.
	Reachable func(ctx context.Context)
	// NotifyTimeout is how long an answer to NOTIFY is waited for. 0: 2 s.
	NotifyTimeout time.Duration
	// NotifyInterval is the least time between two NOTIFYs of one zone to one target when
	// its serial goes on; serials in between are coalesced. 0: 200 ms.
	NotifyInterval time.Duration
	// NotifyBackoff is the wait before the first repetition of the same serial; it doubles
	// up to a minute. 0: 1 s.
	NotifyBackoff time.Duration
	// NotifyAttempts is how often a serial is announced to a target that does not confirm
	// it; then its own refresh has to find it. 0: 8.
	NotifyAttempts int

	// Clock is the time TSIG is judged and signed by. Nil: time.Now.
	Clock func() time.Time
	// Logger takes the log. The zero value: klog.Background().
	Logger klog.Logger
}

// completeConfig fills in the defaults, brings the rules and targets into the form in which they are compared, and
// reports all faults at once.
func (c Config) completeConfig() (Config, tsig.Keyring, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Zones == nil {
		fault("Zones: required")
	}
	if !c.Listen.IsValid() {
		fault("Listen: not an address with a port; write 127.0.0.1:5300 or [::1]:5300")
	}
	c.MaxConns = cmp.Or(c.MaxConns, 512)
	c.MaxTransfers = cmp.Or(c.MaxTransfers, 16)
	c.NotifyAttempts = cmp.Or(c.NotifyAttempts, 8)
	c.MaxConnsPerClient = cmp.Or(c.MaxConnsPerClient, max(1, c.MaxConns/4))
	c.MaxTransfersPerClient = cmp.Or(c.MaxTransfersPerClient, max(1, c.MaxTransfers/2))
	c.TransferWait = cmp.Or(c.TransferWait, 30*time.Second)
	c.LeastRate = cmp.Or(c.LeastRate, 16<<10)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 30*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 5*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 5*time.Second)
	c.NotifyTimeout = cmp.Or(c.NotifyTimeout, 2*time.Second)
	c.NotifyInterval = cmp.Or(c.NotifyInterval, 200*time.Millisecond)
	c.NotifyBackoff = cmp.Or(c.NotifyBackoff, time.Second)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger.GetSink() == nil {
		c.Logger = klog.Background()
	}
	keys, errKeys := tsig.NewKeyring(c.Keys)
	rules, errAccess := newAccess(c.Allow, keys)
	targets, errNotify := newTargets(c.Notify, keys)
	faults = append(faults, errKeys, errAccess, errNotify)
	c.Allow, c.Notify = rules, targets
	return c, keys, errors.Join(faults...)
}
