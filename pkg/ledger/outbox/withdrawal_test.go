// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"
)

// A stopped server loses at most ten minutes of a long period, and an eighth of a short period, and writes at most six
// times a minute (S3.5).
func TestCountEvery_S3_6(t *testing.T) {
	t.Parallel()
	for period, want := range map[time.Duration]time.Duration{
		time.Second: 10 * time.Second, 80 * time.Second: 10 * time.Second, time.Hour: 450 * time.Second,
		24 * time.Hour: 10 * time.Minute, 30 * 24 * time.Hour: 10 * time.Minute,
	} {
		if got := countEvery(period); got != want {
			t.Errorf("%s: written every %s, not %s", period, got, want)
		}
	}
}
