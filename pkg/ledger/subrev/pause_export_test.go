// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import "time"

// SetPause is for what measures the pause; it returns what puts it back.
func SetPause(d time.Duration) (restore func()) {
	before := pause
	pause = d
	return func() { pause = before }
}
