// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"time"
)

// Within returns a context that bounds the waits of a test.
func Within(t interface {
	Context() context.Context
	Cleanup(func())
}, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// A loaded machine is slow, not wrong.
const startTimeout = 2 * time.Minute

// Pause sleeps between two runs of a program that polls a fact since begin, for a tenth of the time so far: a kubectl
// costs a seventh of a CPU second.
func Pause(begin time.Time) {
	time.Sleep(min(max(time.Since(begin)/10, 50*time.Millisecond), 2*time.Second))
}

// Until polls a fact until success. When ctx ends, the test fails with the fact's last error.
func Until(ctx context.Context, t TB, what string, fact func() error) {
	t.Helper()
	for {
		err := fact()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
