// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"time"
)

// Backoff is a retry schedule: the first Attempts delays are Base, 2·Base, 4·Base, up to Max; later delays are Slow.
// Zero fields mean Base 5 s, Max 60 s, Attempts 5, Slow 10 min.
type Backoff struct {
	Base, Max time.Duration
	Attempts  int
	Slow      time.Duration
}

func (b Backoff) WithDefaults() Backoff {
	return Backoff{
		Base: cmp.Or(b.Base, 5*time.Second), Max: cmp.Or(b.Max, time.Minute), Attempts: cmp.Or(b.Attempts, 5),
		Slow: cmp.Or(b.Slow, 10*time.Minute),
	}
}

// Delay returns the delay after a number of failures before; 0 means the first failure. Slow follows after Attempts.
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

// RetryDelay returns e.RetryAfter if set, Slow after a permanent error or an exceeded quota, or else Delay(failures).
func (b Backoff) RetryDelay(e *Error, failures int, jitter func(time.Duration) time.Duration) time.Duration {
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Permanent || e.Reason == ReasonQuotaExceeded:
		return jitter(b.Slow)
	}
	return jitter(b.Delay(failures))
}

// Jitter shortens a delay by up to 20 %. random returns a number in [0, n).
func Jitter(d time.Duration, random func(n int64) int64) time.Duration {
	return d - time.Duration(random(int64(d)/5+1))
}
