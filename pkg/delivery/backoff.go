// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"time"
)

// Backoff is when a failed delivery is tried again: after min(Base·2ⁿ, Max), less up to a fifth, for Attempts
// times, then every Slow. The zero value of a field stands for 5 s, 60 s, 5, 10 min.
type Backoff struct {
	Base, Max time.Duration
	Attempts  int
	Slow      time.Duration
}

// WithDefaults has a value in each field.
func (b Backoff) WithDefaults() Backoff {
	return Backoff{
		Base: cmp.Or(b.Base, 5*time.Second), Max: cmp.Or(b.Max, time.Minute), Attempts: cmp.Or(b.Attempts, 5),
		Slow: cmp.Or(b.Slow, 10*time.Minute),
	}
}

// Delay before the next attempt, after so many that failed in a row.
func (b Backoff) Delay(attempt int) time.Duration {
	if attempt >= b.Attempts {
		return b.Slow
	}
	delay := b.Base
	for range attempt {
		if delay *= 2; delay >= b.Max {
			break
		}
	}
	return min(delay, b.Max)
}

// After is when what failed is tried again, after so many failures before.
func (b Backoff) After(e *Error, failures int, jitter func(time.Duration) time.Duration) time.Duration {
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Permanent || e.Reason == ReasonQuotaExceeded:
		return jitter(b.Slow)
	}
	return jitter(b.Delay(failures))
}

// Jitter takes off up to a fifth, so that what failed together does not come back together. random is a number below n.
func Jitter(d time.Duration, random func(n int64) int64) time.Duration {
	return d - time.Duration(random(int64(d)/5+1))
}
