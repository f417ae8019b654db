// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"
)

// Workers are goroutines that have run before. A call of etcd needs a deep stack: a new goroutine grows its own
// for it three times, and copies it each time, which costs as much as what the call sends.
type Workers struct{ Free chan func() }

// workerRests is how long a worker waits for something to do.
const workerRests = 10 * time.Second

// Run calls f in a worker; it does not wait, neither for f nor for a worker. They end with ctx.
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
