// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// Config configures a Ledger. Its functions are called during writes, so they must not block: answer from memory. A nil
// function means false, or no call.
type Config struct {
	// Client is required. The ledger does not close Client.
	Client *clientv3.Client
	// Prefix is the prefix of all keys, without a trailing slash; required.
	Prefix string
	// Zones and Records are required codecs. If Records are encrypted, internal values are too.
	Zones, Records objects.ObjectCodec
	// Delegations defaults to the codec of Records.
	Delegations objects.ObjectCodec
	// Deliveries is a codec. Without it no journal is kept for Deliveries.
	Deliveries objects.ObjectCodec
	// JournalSteps is the number of kept steps for each zone; 0 means journal.JournalSteps. Fewer steps are kept if
	// they are long (journal.JournalOctets), and more until a provider has confirmed them.
	JournalSteps int
	// DefaultClass reports whether a default class delivers the zones of a namespace and view that name no class.
	// Return true if not yet known: the controller corrects the resulting Ready (S6.13).
	DefaultClass func(namespace, view string) bool
	// NameServers reports whether every class of a zone has its own name servers for the zone (S6.15).
	NameServers func(*v1alpha1.Zone) bool
	// Terminating reports whether a namespace is being deleted, as far as this server knows (S2.6).
	Terminating func(namespace string) bool
	// Held is called when a write of this server deletes so much that delivery of the zone stops (S7.5).
	Held func(*v1alpha1.Zone)
	// Notify is called with effects of this server's writes on other namespaces (S4.25, S4.26).
	Notify func(*v1alpha1.Zone, []law.Notice)
	// Withdrawn is called when a cascade of this server begins or cancels the grace period of a Record or Zone (S2.12,
	// S3.5).
	Withdrawn outbox.Announce
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Fault is called at named points of a write, for tests that stop or delay there.
	Fault func(point string)
	// TryEvery is the period of rounds that decide waiting Records and Zones again (S2.7); 0 means a minute.
	TryEvery time.Duration
	// HistoryRetention is the time for which steps of zones without historyRetention are kept; nil means
	// history.DefaultRetention.
	HistoryRetention *time.Duration
	// Committed is called with the steps of this server's commits, and the changed Records as before each step, by the
	// step's number and their uid; nil for none.
	Committed func(z *v1alpha1.Zone, steps []content.Step, states map[uint64]map[string]json.RawMessage)
	// Quota returns the size above which etcd rejects writes, 0 if unknown; nil means 0. The history may fill a share.
	Quota func() int64
	// Traces records the cascades of sampled writes; nil: none.
	Traces trace.TracerProvider
	adjust func(*bounds)
}

func (c *Config) historyRetention() time.Duration {
	if c.HistoryRetention != nil {
		return *c.HistoryRetention
	}
	return history.DefaultRetention
}

// Validate returns all errors of the configuration, joined.
func (c *Config) Validate() error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("the Client is required"))
	}
	if c.Prefix == "" {
		errs = append(errs, errors.New("the Prefix is required"))
	}
	if c.Zones.Codec == nil || c.Records.Codec == nil {
		errs = append(errs, errors.New("the codecs of Zones and Records are required"))
	}
	return errors.Join(errs...)
}

// Ledger commits the decisions of package law. All storages of a server share a Ledger.
type Ledger struct {
	config   Config
	bounds   bounds
	mem      *facts.Memory
	jr       *journal.Journal
	com      *commit.Committer
	outbox   *outbox.Outbox
	archive  *history.Archive
	placer   *objects.Placer
	outgrown atomic.Bool // see FollowFormat
	// plain is true if the store had no encryption key at the start.
	plain bool
}

// Client returns the client that decrypts internal values and maps revisions to versions. Config.Client owns its
// connection.
func (l *Ledger) Client() *clientv3.Client { return l.mem.Client }

// Layout returns the keys of the store.
func (l *Ledger) Layout() layout.Keys { return l.mem.Layout }

// Run processes outbox items, pending cuts and overdue zones, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error { return l.outbox.Run(ctx) }

// HeldZones returns the number of zones that mass deletions hold (S7.5).
func (l *Ledger) HeldZones() int { return l.mem.HeldZones() }

// Steps calls Steps of journal.Journal.
func (l *Ledger) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step,
	err error) {
	return l.jr.Steps(ctx, zone, since, n)
}

// HeldSteps returns the steps up to step n from the oldest serial with a known content state, or from the zone's
// creation, and before as that state. The error is ErrTrimmed if there are none.
func (l *Ledger) HeldSteps(ctx context.Context, zone string, n uint64) (before sethash.State, steps []content.Step, err error) {
	return l.jr.StepsFrom(ctx, zone, 0, n, true, 0)
}

// Left calls Left of journal.Journal.
func (l *Ledger) Left(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*journal.Left, error) {
	return l.jr.Left(ctx, zone, since)
}

// Stats returns the counters of this ledger.
func (l *Ledger) Stats() *facts.Stats { return &l.mem.Stats }
