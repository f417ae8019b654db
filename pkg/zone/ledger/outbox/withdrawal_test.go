// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/zone/law"
)

// countEvery returns the interval between stored counts of a grace period. A server that stops loses at most ten
// minutes of a long period or an eighth of a short one, and writes at most six times a minute.
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

// A grace period is counted in memory and stored from time to time. mustCount reports whether the time must be stored:
// at the regular interval, or when the stored and the uncounted time together complete the period, but never after the
// end.
func TestMustCount_S3_6(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600
	for _, tc := range []struct {
		w     law.Withdrawal
		known time.Duration
		want  bool
	}{
		{law.Withdrawal{Grace: day}, 10*time.Minute - time.Second, false},
		{law.Withdrawal{Grace: day}, 10 * time.Minute, true},
		{law.Withdrawal{Grace: day, Passed: day - 60}, 59 * time.Second, false},
		{law.Withdrawal{Grace: day, Passed: day - 60}, time.Minute, true},
		{law.Withdrawal{Grace: day, Passed: day}, time.Hour, false},
		{law.Withdrawal{Grace: 5}, 4 * time.Second, false},
		{law.Withdrawal{Grace: 5}, 5 * time.Second, true},
	} {
		if got := mustCount(tc.w, tc.known); got != tc.want {
			t.Errorf("%+v, known for %s: %t", tc.w, tc.known, got)
		}
	}
}
