// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

func (com *Committer) Waiting(zone string) int {
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	return len(com.queueAt(zone).waiting)
}

func (com *Committer) Parked() int {
	com.gate.mu.Lock()
	defer com.gate.mu.Unlock()
	return len(com.gate.parked)
}
