// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import "kubi.zone/kubizone/pkg/law"

// Functions for tests of the ledger.

// Waiting is how many writes wait at a zone.
func (com *Committer) Waiting(zone string) int {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return len(com.queueAt(zone).waiting)
}

// Locked reports whether the lock of a zone is taken.
func (com *Committer) Locked(zone string) bool {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return len(com.queueAt(zone).sem) > 0
}

// Trimming reports whether the journal of a zone is being trimmed.
func (com *Committer) Trimming(zone string) bool {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return com.queueAt(zone).trimming.Running()
}

// TooManyFacts is how a write of a Record is refused that rests on so many facts.
func TooManyFacts(seen *law.Seen, facts int) error {
	return tooManyFacts(&Write{Resource: "records", Name: "r"}, seen, facts, 90)
}
