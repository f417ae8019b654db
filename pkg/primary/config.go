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
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Zones provides the content of zones that the primary may serve. Snapshots are immutable and settled: complete, and
// released to name servers (S7.2).
type Zones interface {
	Find(view string, fqdn name.Name) (*zoneview.Snapshot, bool)
	Settled(uid string) (*zoneview.Snapshot, bool)

	// Difference returns the net change from the serial since to a snapshot, for an incremental transfer. It fails if
	// steps (changes of serial) between the two are no longer kept.
	Difference(after *zoneview.Snapshot, since serial.Serial) (zoneview.Difference, error)
	// Changes returns the steps after since, up to until, oldest first. It fails if some are no longer kept.
	Changes(uid string, since, until serial.Serial) ([]content.Step, error)
	// All iterates over the zones in no order.
	All() iter.Seq[*zoneview.Snapshot]
	// Traces returns the W3C traceparents of the sampled writes after since, up to until.
	Traces(uid string, since, until serial.Serial) []string
	// Subscribe returns a channel of changes, and a function that closes it. Events of a zone that wait are merged, so
	// a slow receiver delays no other receiver.
	Subscribe() (<-chan zoneview.Event, func())
}

var _ Zones = (*zoneview.Set)(nil)

// Config requires Zones and Listen. For other fields, "0: x" gives the default.
type Config struct {
	Zones Zones

	// Views are served to the peers of Allow; of zones of the same name the first view's. Without Views, only classes
	// have zones and peers.
	Views []string
	// Listen is for UDP and TCP. Port 0 selects a free port for both (Addr).
	Listen netip.AddrPort
	Keys   []tsig.Key
	Allow  []Rule
	Notify []Target

	// Updates gets the messages of update keys. Required for SetUpdateKeys.
	Updates updates.Handler

	// MaxConns bounds TCP connections of peers; 0 means 512. As many further connections wait briefly for a slot.
	// Others have slots of their own:
	//
	//   - as many for sources that only a key or a tenant's class can admit, until their first admitted message. A
	//     connection is closed after 2 s without a message, and the oldest if all slots are taken;
	//   - as many for peers that only classes with a tenant admit;
	//   - a sixteenth of MaxConns, at least 4, for sources that cannot be admitted.
	MaxConns int
	// MaxConnsPerClient bounds connections of an IPv4 address or IPv6 /64, and of a tenant. 0: a quarter of MaxConns.
	// BIND opens a connection for each transfer, often up to 100 (transfers-per-ns).
	MaxConnsPerClient int
	// MaxTransfers bounds concurrent transfers; others wait. Tenants' peers have as many separate slots, each tenant a
	// quarter. 0: 16.
	MaxTransfers int
	// MaxTransfersPerClient of 0 means half of MaxTransfers.
	MaxTransfersPerClient int
	// TransferWait bounds the wait for a slot; then the answer is SERVFAIL. 0: 30 s.
	TransferWait time.Duration
	// LeastRate is in octets per second: slower transfers are cut after WriteTimeout. 0: 16 KiB.
	LeastRate int
	// IdleTimeout bounds the time between messages. 0: 30 s.
	IdleTimeout time.Duration
	// ReadTimeout bounds the arrival of a message. 0: 5 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds the write of a message of at most 64 KiB. 0: 30 s.
	WriteTimeout time.Duration
	// StopTimeout is for transfers and updates at shutdown. 0: 5 s.
	StopTimeout time.Duration

	// Reachable, if not nil, returns when secondaries can reach Listen. No NOTIFY is sent before: BIND would query at
	// once and, after a lost query, delay NOTIFYs of the zone for 15 s.
	Reachable func(ctx context.Context)
	// NotifyTimeout bounds the wait for an answer. 0: 2 s.
	NotifyTimeout time.Duration
	// NotifyInterval separates NOTIFYs of a zone to a target. 0: 200 ms.
	NotifyInterval time.Duration
	// NotifyBackoff precedes the first retry, and doubles up to a minute. 0: 1 s.
	NotifyBackoff time.Duration
	// NotifyAttempts bounds the NOTIFYs of a serial; then the secondary relies on its refresh timer. 0: 8.
	NotifyAttempts int

	// Traces records NOTIFYs and transfers of sampled writes; nil: none.
	Traces trace.TracerProvider
	// Clock is for TSIG; nil means time.Now.
	Clock  func() time.Time
	Logger klog.Logger
}

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
