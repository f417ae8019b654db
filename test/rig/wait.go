// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"time"
)

func Within(t interface {
	Context() context.Context
	Cleanup(func())
}, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

const startTimeout = 2 * time.Minute

// Pause sleeps for a tenth of the time since begin: a kubectl costs a seventh of a CPU second.
func Pause(begin time.Time) { time.Sleep(pauseSince(begin)) }

func pauseSince(begin time.Time) time.Duration {
	return min(max(time.Since(begin)/10, 50*time.Millisecond), 2*time.Second)
}

// Until polls fact until success, or fails with its last error when ctx ends. It pauses like Pause: twenty questions a
// second for half a minute cost kube-apiserver more than the fact.
func Until(ctx context.Context, t TB, what string, fact func() error) {
	t.Helper()
	for begin := time.Now(); ; {
		err := fact()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(pauseSince(begin)):
		}
	}
}
