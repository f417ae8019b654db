// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

// Waiting is how many writes wait at a zone. Tests of the ledger make batches and races by it, since only the queue
// itself tells a write that waits from one that has not arrived.
func (com *Committer) Waiting(zone string) int {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return len(com.queueAt(zone).waiting)
}

// Parked is how many batches wait for a place in a transaction.
func (com *Committer) Parked() int {
	com.gate.mu.Lock()
	defer com.gate.mu.Unlock()
	return len(com.gate.parked)
}
