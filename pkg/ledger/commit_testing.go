// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import "kubi.zone/kubizone/pkg/law"

// What tests of the ledger ask of it.

// Waiting is how many writes wait at a zone.
func (com *committer) Waiting(zone string) int {
	com.mem.mu.Lock()
	defer com.mem.mu.Unlock()
	return len(com.queueAt(zone).waiting)
}

// Locked reports whether the lock of a zone is taken.
func (com *committer) Locked(zone string) bool {
	com.mem.mu.Lock()
	defer com.mem.mu.Unlock()
	return len(com.queueAt(zone).sem) > 0
}

// TooManyFacts is how a write of a Record is refused that rests on so many facts.
func TooManyFacts(seen *law.Seen, facts int) error {
	return tooManyFacts(&write{resource: "records", name: "r"}, seen, facts)
}
