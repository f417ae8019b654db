// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"time"
)

// Within is a context for one test's waits.
func Within(t interface {
	Context() context.Context
	Cleanup(func())
}, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// startTimeout bounds the start of a server. It is generous because a loaded machine is slow, not wrong.
const startTimeout = 2 * time.Minute

// Pause waits before a program is run again to look for a fact, for which it was run first at begin: for a tenth of
// what the wait has taken, so that it takes little of the machine. A kubectl is a seventh of a CPU second.
func Pause(begin time.Time) {
	time.Sleep(min(max(time.Since(begin)/10, 50*time.Millisecond), 2*time.Second))
}

// Until waits for a fact; its last reason against is told when time is up.
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
