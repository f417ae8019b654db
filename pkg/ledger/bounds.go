// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// bounds are the sizes and times of a ledger that no flag sets.
type bounds struct {
	// journalOctets bounds the steps kept for each zone.
	journalOctets int
	// slowCommit is the time of a commit from which on a batch waits for more writes.
	slowCommit time.Duration
	// serialsEvery is the time between two sweeps of last serials, of which maxLeftBy stay for each namespace.
	serialsEvery time.Duration
	maxLeftBy    int
	// usageEvery is the time between two counts of what namespaces store.
	usageEvery time.Duration
	// takenWithin is the time in which an answer counts what a rule takes away (S2.16).
	takenWithin time.Duration
	// migrations are those of this program; olderEnd is the time in which servers of older programs end, lockSeconds
	// that for which the lock of a migration outlives its server.
	migrations  []migration
	olderEnd    time.Duration
	lockSeconds int
	// checkEvery and dropGuards are those of facts.Config: controls of tests, which must then find the damage.
	checkEvery int64
	dropGuards string
}

func (c *Config) bounds() bounds {
	b := bounds{journalOctets: journal.JournalOctets, slowCommit: commit.SlowCommit, serialsEvery: outbox.SerialsEvery,
		maxLeftBy: outbox.MaxLeftBy, usageEvery: outbox.UsageEvery, takenWithin: takenWithin, migrations: migrations, olderEnd: olderEnd,
		lockSeconds: lockSeconds}
	if c.adjust != nil {
		c.adjust(&b)
	}
	return b
}
