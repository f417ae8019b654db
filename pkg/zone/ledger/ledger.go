// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
	"kubi.zone/kubizone/pkg/zone/ledger/outbox"
)

// Config configures a Ledger. Its functions are called during writes and must not block. A nil function reports false,
// or is not called.
type Config struct {
	// Client is required, and remains open.
	Client *clientv3.Client
	// Prefix is the required prefix of all keys, without a trailing slash.
	Prefix string
	// Zones and Records are required. If Records are encrypted, so are internal values.
	Zones, Records objects.ObjectCodec
	// Delegations defaults to the codec of Records.
	Delegations objects.ObjectCodec
	// Deliveries is optional. Without it, the journal keeps no steps for Deliveries.
	Deliveries objects.ObjectCodec
	// JournalSteps is the number of steps kept for each zone, 0 for journal.JournalSteps. Fewer are kept if long
	// (journal.JournalOctets), more until a provider has confirmed them.
	JournalSteps int
	// HasDefaultClass reports whether a default class delivers the zones of a namespace and view that name no class, or
	// true if unknown: the controller corrects the condition Ready.
	HasDefaultClass func(namespace, view string) bool
	// HasNameServers reports whether every class of a zone has its own name servers.
	HasNameServers func(*v1alpha1.Zone) bool
	IsTerminating  func(namespace string) bool
	// OnHold is called when this server's write holds back a zone by a mass deletion.
	OnHold func(*v1alpha1.Zone)
	// Notify is called with the effects of this server's writes on other namespaces.
	Notify func(*v1alpha1.Zone, []law.Notice)
	// OnWithdrawal is called when a cascade of this server begins or cancels a grace period.
	OnWithdrawal outbox.Announce
	Now          func() time.Time
	// OnFault, for tests, is called at named points of a write.
	OnFault func(point string)
	// TryEvery is the interval between decisions of waiting Records and Zones, 0 for a minute.
	TryEvery time.Duration
	// HistoryRetention applies to zones without spec.historyRetention; nil means history.DefaultRetention.
	HistoryRetention *time.Duration
	// Quota returns etcd's size limit in octets, or 0 if unknown.
	Quota  func() int64
	Traces trace.TracerProvider
	adjust func(*bounds)
}

func (c *Config) historyRetention() time.Duration {
	if c.HistoryRetention != nil {
		return *c.HistoryRetention
	}
	return history.DefaultRetention
}

// Validate returns an error for each required field that is missing, joined.
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

// Ledger commits writes decided by package law. A server has only one.
type Ledger struct {
	config             Config
	bounds             bounds
	mem                *facts.Memory
	jr                 *journal.Journal
	com                *commit.Committer
	outbox             *outbox.Outbox
	archive            *history.Archive
	placer             *objects.Placer
	superseded         atomic.Bool // set by FollowFormat
	startedUnencrypted bool
}

// Client returns a client that decrypts internal values and maps revisions to versions.
func (l *Ledger) Client() *clientv3.Client { return l.mem.Client }

func (l *Ledger) Layout() layout.Keys { return l.mem.Layout }

func (l *Ledger) Run(ctx context.Context) error { return l.outbox.Run(ctx) }

// FollowExpiring announces Records an hour before they expire, until ctx ends. Only one server should call it.
func (l *Ledger) FollowExpiring(ctx context.Context, announce outbox.Announce) {
	l.outbox.FollowExpiring(ctx, announce)
}

func (l *Ledger) HeldZones() int { return l.mem.HeldZones() }

func (l *Ledger) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step,
	err error) {
	return l.jr.Steps(ctx, zone, since, n)
}

// AllSteps returns a zone's steps up to number n, from the oldest known content state on, and this state. Without steps
// the error is ErrTrimmed.
func (l *Ledger) AllSteps(ctx context.Context, zone string, n uint64) (before sethash.State, steps []content.Step, err error) {
	return l.jr.StepsFrom(ctx, zone, 0, n, true, 0)
}

func (l *Ledger) EndedContent(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*journal.EndedContent, error) {
	return l.jr.EndedContent(ctx, zone, since)
}

func (l *Ledger) Stats() *facts.Stats { return &l.mem.Stats }
