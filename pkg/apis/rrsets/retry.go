// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const maxAttempts = 6

// Retry sends a request until it succeeds, fails with a permanent error, or ctx ends, at most maxAttempts times. The
// function send must be idempotent. If ctx ends, the error is that of ctx, after the last transient one.
func Retry[T any](ctx context.Context, send func() (T, error)) (T, error) {
	pause := 200 * time.Millisecond
	var last error
	for attempt := 1; ; attempt++ {
		answer, err := send()
		if err != nil && last != nil && ctx.Err() != nil { // for example a 429, which tells more than "context canceled"
			return answer, fmt.Errorf("%w (%w)", last, context.Cause(ctx))
		}
		if err == nil || !isTransient(err) {
			return answer, err
		}
		last = err
		if attempt == maxAttempts {
			return answer, fmt.Errorf("%w (tried %d times)", err, maxAttempts)
		}
		seconds, _ := apierrors.SuggestsClientDelay(err)
		select {
		case <-ctx.Done():
			return answer, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(max(pause, time.Duration(seconds)*time.Second)):
		}
		pause *= 2
	}
}

func isTransient(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsProbableEOF(err)
}
