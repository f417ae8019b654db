// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// Config of a Ledger.
type Config struct {
	// Client is the client to etcd; required. The ledger does not close it.
	Client *clientv3.Client
	// Prefix is that of all keys, without a trailing slash; required.
	Prefix string
	// Zones and Records are the codecs of the objects; required. Where Records are encrypted the internal keys are
	// too.
	Zones, Records objects.ObjectCodec
	// Delegations is the codec of Delegations. The zero value is that of Records.
	Delegations objects.ObjectCodec
	// Deliveries is the codec of Deliveries. With the zero value there are none, and no journal is kept for them.
	Deliveries objects.ObjectCodec
	// JournalSteps is the number of steps kept for each zone; 0: journal.JournalSteps. Where steps are long fewer are
	// kept (journal.JournalOctets), and while a provider has not confirmed them more.
	JournalSteps int
	// DefaultClass says whether a default class delivers the zones of a namespace
	// and a view that name none; nil: none does. Every write of content asks it, so it answers
	// from memory. Nothing rests on the answer but Ready, which the controller
	// corrects (S6.13); where it is not known yet it is true.
	DefaultClass func(namespace, view string) bool
	// NameServers says whether every class of a zone has name servers of its own for it (S6.15); nil: it is false.
	// Every write of a Zone asks it, so it answers from memory. A change of a class does not: the controller writes
	// Ready then, and that write asks.
	NameServers func(*v1alpha1.Zone) bool
	// Terminating says whether a namespace is being deleted, as far as this server knows; nil: none is. Cascades ask
	// it of each object, so it answers from memory (S2.6).
	Terminating func(namespace string) bool
	// Held is called for each zone that a mass deletion holds back from now on, by the server that wrote that (S7.5).
	// It must not wait. Optional.
	Held func(*v1alpha1.Zone)
	// News is called with what a write in a zone means for namespaces that did not make it, by the server that wrote it
	// (S4.25, S4.26). It must not wait. Optional.
	News func(*v1alpha1.Zone, []law.News)
	// Withdrawn is called by the server whose cascade withdrew a Record or Zone, or whose cascade kept it because a
	// rule came back (S2.12, S3.5). It must not wait. Optional.
	Withdrawn outbox.Announce
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Fault is called at the named points of a write, for tests that kill or
	// delay there; nil: nothing.
	Fault func(point string)
	// TryEvery is the time between two rounds that try what waits (S2.7); 0: a minute.
	TryEvery time.Duration
	// adjust changes the bounds of a ledger in tests.
	adjust func(*bounds)
}

// Validate reports every fault of the configuration.
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

// Ledger carries out what the law decides. All storage of a server shares one.
type Ledger struct {
	config   Config
	bounds   bounds
	mem      *facts.Memory
	jr       *journal.Journal
	com      *commit.Committer
	box      *outbox.Outbox
	placer   *objects.Placer
	outgrown atomic.Bool // see FollowFormat
	// plain: the store had no key when it was opened, so this ledger reads no encrypted value.
	plain bool
}

// Client sees internal values unencrypted, and versions for revisions. It lives as
// long as the one in Config.
func (l *Ledger) Client() *clientv3.Client { return l.mem.Client }

// Layout of the keys.
func (l *Ledger) Layout() layout.Keys { return l.mem.Layout }

// Run carries out what writes owe: cascades, pending cuts, zones that are held back too long, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error { return l.box.Run(ctx) }

// HeldZones is the number of zones that mass deletions hold back (S7.5).
func (l *Ledger) HeldZones() int { return l.mem.HeldZones() }

// Steps returns the steps of a zone's journal after the serial since and up to step n, oldest first, and the content
// state at that serial, by which they can be proven. ErrTrimmed: the journal does not reach back so far, or the zone
// never had that serial.
func (l *Ledger) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step,
	err error) {
	return l.jr.Steps(ctx, zone, since, n)
}

// HeldSteps returns all steps of a zone's journal up to step n, as Steps does: from the oldest serial with a known
// content state, or from the serial at which the zone was made. ErrTrimmed: it has none.
func (l *Ledger) HeldSteps(ctx context.Context, zone string, n uint64) (before sethash.State, steps []content.Step, err error) {
	return l.jr.StepsFrom(ctx, zone, 0, n, true, 0)
}

// Left names what a zone that ended had since a serial. ErrTrimmed: that is not known, or the zone had another name
// since.
func (l *Ledger) Left(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*journal.Left, error) {
	return l.jr.Left(ctx, zone, since)
}

// Stats of this ledger.
func (l *Ledger) Stats() *facts.Stats { return &l.mem.Stats }
