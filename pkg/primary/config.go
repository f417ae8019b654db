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

	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Zones provides the content of the zones that the primary may serve. Snapshots are immutable, and they are settled:
// complete and released to name servers.
type Zones interface {
	Find(view string, fqdn name.Name) (*zoneview.Snapshot, bool)
	Settled(uid string) (*zoneview.Snapshot, bool)

	// Difference returns the net change from the serial since to a snapshot, for an incremental transfer. It returns an
	// error if some change between the two is no longer kept.
	Difference(after *zoneview.Snapshot, since serial.Serial) (zoneview.Difference, error)
	// Changes returns the changes after the serial since, up to and including until, oldest first. It returns an error
	// if some are no longer kept.
	Changes(uid string, since, until serial.Serial) ([]content.Step, error)
	// All iterates over the zones in no particular order.
	All() iter.Seq[*zoneview.Snapshot]
	// Traces returns the W3C traceparents of the sampled writes after the serial since, up to until.
	Traces(uid string, since, until serial.Serial) []string
	// Subscribe returns a channel of changes, and a function that closes the channel.
	Subscribe() (<-chan zoneview.Event, func())
}

var _ Zones = (*zoneview.Set)(nil)

// Config configures a Primary. Zones and Listen are required.
type Config struct {
	Zones Zones

	// Views are served to the peers in Allow. If several views have a zone with the same name, the first view's zone is
	// served. Without Views, only classes serve zones.
	Views []string
	// Listen is the address for UDP and TCP. Port 0 means that New chooses a free port, returned by Addr.
	Listen netip.AddrPort
	// ListenTLS is the address for transfers over TLS (RFC 9103); zero means none, and classes with TLS are refused.
	ListenTLS netip.AddrPort
	Keys      []tsig.Key
	Allow     []Rule
	Notify    []Target

	// Updates handles messages signed by update keys, and is required for SetUpdateKeys.
	Updates updates.Handler

	// MaxConns limits the TCP connections of peers. Zero means 512. As many further connections wait briefly for a
	// slot. Other sources have separate slots:
	//
	//   - MaxConns for sources that only a key or a tenant's class can admit, until their first admitted message. A
	//     connection is closed after 2 s without a message, and the oldest is closed if all slots are taken.
	//   - MaxConns for peers that only tenants' classes admit.
	//   - A sixteenth of MaxConns, but at least 4, for sources that no rule can admit.
	MaxConns int
	// MaxConnsPerClient limits the connections of an IPv4 address, an IPv6 /64 or a tenant. Zero means a quarter of
	// MaxConns. BIND opens a connection for each transfer, often up to 100 (transfers-per-ns).
	MaxConnsPerClient int
	// MaxTransfers limits concurrent transfers; others wait. The peers of tenants have as many separate slots, and each
	// tenant has a quarter of them. Zero means 16.
	MaxTransfers int
	// MaxTransfersPerClient limits the concurrent transfers of a client. Zero means half of MaxTransfers.
	MaxTransfersPerClient int
	// TransferWait limits the wait for a transfer slot; then the answer is SERVFAIL. Zero means 30 s.
	TransferWait time.Duration
	// LeastRate is the minimum rate of a transfer in octets per second. Slower transfers are cut after WriteTimeout.
	// Zero means 16 KiB.
	LeastRate int
	// IdleTimeout limits the time between two messages of a connection. Zero means 30 s.
	IdleTimeout time.Duration
	// ReadTimeout limits the time for a message to arrive. Zero means 5 s.
	ReadTimeout time.Duration
	// WriteTimeout limits the time to write a message. Zero means 30 s.
	WriteTimeout time.Duration
	// StopTimeout is the time that transfers and updates have to finish at shutdown. Zero means 5 s.
	StopTimeout time.Duration

	// Reachable, if not nil, blocks until secondaries can reach Listen. NOTIFYs are sent only after it returns, because
	// BIND queries the primary at once and, if the query is lost, delays NOTIFYs for the zone for 15 s.
	Reachable func(ctx context.Context)
	// NotifyTimeout limits the wait for an answer to a NOTIFY. Zero means 2 s.
	NotifyTimeout time.Duration
	// NotifyInterval is the minimum time between two NOTIFYs for a zone to a target. Zero means 200 ms.
	NotifyInterval time.Duration
	// NotifyBackoff is the delay before the first retry. It doubles up to a minute. Zero means 1 s.
	NotifyBackoff time.Duration
	// NotifyFaultAfter is the age at which an answer other than NOERROR counts as a fault. Zero means 5 s, because a
	// secondary refuses a new zone until it has read the catalog.
	NotifyFaultAfter time.Duration
	// NotifyAttempts limits the NOTIFYs for a serial. After the last, the secondary relies on its refresh timer. Zero
	// means 8.
	NotifyAttempts int

	// Traces, if not nil, records the NOTIFYs and transfers of sampled writes.
	Traces trace.TracerProvider
	// Clock returns the current time. Nil means time.Now.
	Clock  func() time.Time
	Logger klog.Logger
}

// completeConfig returns the Config with defaults, and the keys of Config.Keys. The error joins all faults, so that an
// operator corrects them together.
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
	c.NotifyFaultAfter = cmp.Or(c.NotifyFaultAfter, 5*time.Second)

	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger.GetSink() == nil {
		c.Logger = klog.Background()
	}

	keys, errKeys := tsig.NewKeyring(c.Keys)
	rules, errAccess := newAccess(c.Allow, keys, false)
	targets, errNotify := newTargets(c.Notify, keys)
	faults = append(faults, errKeys, errAccess, errNotify)
	c.Allow, c.Notify = rules, targets
	return c, keys, errors.Join(faults...)
}
