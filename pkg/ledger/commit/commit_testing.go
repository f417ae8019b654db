// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

// Waiting returns the number of groups in a zone's queue.
func (com *Committer) Waiting(zone string) int {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return len(com.queueAt(zone).waiting)
}

// Parked returns the number of batches without a place.
func (com *Committer) Parked() int {
	com.gate.mu.Lock()
	defer com.gate.mu.Unlock()
	return len(com.gate.parked)
}
