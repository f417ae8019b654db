// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// bounds are the limits and periods of a ledger that no flag sets.
type bounds struct {
	// journalOctets is journal.JournalOctets.
	journalOctets int
	// slowCommit is commit.SlowCommit.
	slowCommit time.Duration
	// serialsEvery is the period of sweeps of last serials; maxLeftBy of them stay for each namespace.
	serialsEvery time.Duration
	maxLeftBy    int
	// usageEvery is the period of counting the Records of Delegations.
	usageEvery time.Duration
	// takenWithin bounds the time for counting revoked objects (S2.16).
	takenWithin time.Duration
	// migrations are those of this program. olderEnd is the time for servers of older programs to end, and
	// lockSeconds the time for which the lock of a migration outlives its server.
	migrations  []migration
	olderEnd    time.Duration
	lockSeconds int
	// checkEvery and dropGuards are those of facts.Config, for negative controls: such tests must find damage.
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
