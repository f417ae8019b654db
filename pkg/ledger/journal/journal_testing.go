// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

// Functions for tests of the ledger.

// Running reports whether it is being trimmed.
func (t *Trimming) Running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}
