// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"
)

// Workers are goroutines that are used again. A call of etcd needs a deep stack. A new goroutine grows its own three
// times, and copies it each time, which costs as much as sending the request.
type Workers struct{ Free chan func() }

// workerRests is the time for which a worker waits for something to do.
const workerRests = 10 * time.Second

// Run calls f in a worker. It waits neither for f nor for a worker. Workers end with ctx.
func (w *Workers) Run(ctx context.Context, f func()) {
	select {
	case w.Free <- f:
	default:
		go w.runWorker(ctx, f)
	}
}

func (w *Workers) runWorker(ctx context.Context, f func()) {
	rest := time.NewTimer(workerRests)
	defer rest.Stop()
	for {
		f()
		rest.Reset(workerRests)
		select {
		case f = <-w.Free:
		case <-rest.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
