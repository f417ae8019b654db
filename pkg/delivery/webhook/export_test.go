// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import "time"

// SetLeast sets how long an RRset has at least where others time out, and returns what sets it back.
func SetLeast(to time.Duration) (back func()) {
	was := least
	least = to
	return func() { least = was }
}
