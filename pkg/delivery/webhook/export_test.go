// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import "time"

// SetLeast sets the least timeout of an RRset after others timed out.
func SetLeast(to time.Duration) (back func()) {
	was := minTimeout
	minTimeout = to
	return func() { minTimeout = was }
}
