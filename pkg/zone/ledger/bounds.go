// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/outbox"
)

type bounds struct {
	journalOctets int
	slowCommit    time.Duration
	serialsEvery  time.Duration
	maxSerials    int
	usageEvery    time.Duration
	warnTimeout   time.Duration
	migrations    []migration
	olderEnd      time.Duration
	lockSeconds   int
	checkEvery    int64
	dropCompares  string
}

func (c *Config) bounds() bounds {
	b := bounds{journalOctets: journal.JournalOctets, slowCommit: commit.SlowCommit, serialsEvery: outbox.SerialsEvery,
		maxSerials: outbox.MaxSerials, usageEvery: outbox.UsageEvery, warnTimeout: warnTimeout, migrations: migrations, olderEnd: olderEnd,
		lockSeconds: lockSeconds}
	if c.adjust != nil {
		c.adjust(&b)
	}
	return b
}
