// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
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
	// Client to etcd; required. The ledger does not close it.
	Client *clientv3.Client
	// Prefix of all keys, without a trailing slash; required.
	Prefix string
	// Zones and Records say how the objects stand in etcd; required. Where Records
	// are encrypted the internal keys are too.
	Zones, Records objects.ObjectCodec
	// Delegations stand in etcd like this; what the zero value stands for: as Records do.
	Delegations objects.ObjectCodec
	// Deliveries stand in etcd like this. What the zero value stands for: there are none,
	// and no journal is kept for them.
	Deliveries objects.ObjectCodec
	// JournalSteps kept for each zone; 0: journal.JournalSteps. Where steps are long,
	// fewer are, by journal.JournalOctets; where a provider has yet to hear of them, more.
	JournalSteps int
	// DefaultClass says whether a default class delivers the zones of a namespace
	// and a view that name none; nil: none does. Every write of content asks it, so it answers
	// from memory. Nothing rests on the answer but Ready, which the controller
	// corrects (S6.7); where it is not known yet it is true.
	DefaultClass func(namespace, view string) bool
	// Terminating says whether a namespace is being deleted, as far as this server has
	// heard; nil: none is. Cascades ask it of each object, so it answers from memory (S2.8).
	Terminating func(namespace string) bool
	// Released is told of each record that an earlier version took into a zone and that a migration let go, since it is
	// refused now; the record's condition Adopted says why. It may be told twice, and must not wait for anybody.
	// Optional.
	Released func(*v1alpha1.Record)
	// Held is told of each zone that a mass deletion holds back from now on, by the server that wrote that (S7.5).
	// nil: none is told.
	Held func(*v1alpha1.Zone)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Fault is called at the named points of a write, for tests that kill or
	// delay there; nil: nothing.
	Fault func(point string)
	// dropGuards leaves out compares of a kind: the controls of the race tests,
	// which must then find the damage.
	dropGuards string
	// slowCommit is commit.SlowCommit, for tests.
	slowCommit time.Duration
	// journalOctets is journal.JournalOctets, for tests.
	journalOctets int
	// serialsEvery is outbox.SerialsEvery and maxLeftBy outbox.MaxLeftBy, for tests.
	serialsEvery time.Duration
	maxLeftBy    int
	// usageEvery is outbox.UsageEvery, for tests.
	usageEvery time.Duration
	// migrations is migrations, olderEnd olderEnd and lockSeconds lockSeconds, for tests.
	migrations  []migration
	olderEnd    time.Duration
	lockSeconds int
}

// Validate reports every fault of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("Client is required"))
	}
	if c.Prefix == "" {
		errs = append(errs, errors.New("Prefix is required"))
	}
	if c.Zones.Codec == nil || c.Records.Codec == nil {
		errs = append(errs, errors.New("the codecs of Zones and Records are required"))
	}
	return errors.Join(errs...)
}

// Ledger carries out what law decides. One is shared by all storage of a server.
type Ledger struct {
	config   Config
	mem      *facts.Memory
	jr       *journal.Journal
	com      *commit.Committer
	box      *outbox.Outbox
	placer   *objects.Placer
	outgrown atomic.Bool // see FollowFormat
}

// Client sees the internal keys as Layout writes them, sealed or not, and versions for revisions. It lives as
// long as the one in Config.
func (l *Ledger) Client() *clientv3.Client { return l.mem.Client }

// Layout of the keys.
func (l *Ledger) Layout() layout.Keys { return l.mem.Layout }

// Run carries out what writes owe: cascades, pending cuts, zones that are held back too long, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error { return l.box.Run(ctx) }

// HeldZones is how many zones mass deletions hold back (S7.5).
func (l *Ledger) HeldZones() int { return l.mem.HeldZones() }

// Steps are what a zone's journal has after the serial since and up to step n, oldest first, and the content state at
// that serial, by which they can be proven. ErrTrimmed: it does not reach back so far, or the zone never had that
// serial.
func (l *Ledger) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step, err error) {
	return l.jr.Steps(ctx, zone, since, n)
}

// HeldSteps are all that a zone's journal has up to step n, as Steps has them: from the oldest serial whose content
// state it has, or from the serial at which the zone was made. ErrTrimmed: it has none.
func (l *Ledger) HeldSteps(ctx context.Context, zone string, n uint64) (before sethash.State, steps []content.Step, err error) {
	return l.jr.HeldSteps(ctx, zone, n)
}

// Left names what a zone that ended had since a serial. ErrTrimmed: that is not known, or the zone had another name
// since.
func (l *Ledger) Left(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*journal.Left, error) {
	return l.jr.Left(ctx, zone, since)
}

// Stats of this ledger.
func (l *Ledger) Stats() *facts.Stats { return &l.mem.Stats }
