// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"
)

// Workers reuses goroutines for etcd calls, since growing a new stack costs as much as sending the request.
type Workers struct{ Jobs chan func() }

const workerIdleTimeout = 10 * time.Second

// Run calls f in a worker without waiting. Workers end with ctx.
func (w *Workers) Run(ctx context.Context, f func()) {
	select {
	case w.Jobs <- f:
	default:
		go w.runWorker(ctx, f)
	}
}

// runWorker runs f, then further jobs, and ends after workerIdleTimeout without a job or with ctx. Its stack stays
// grown.
func (w *Workers) runWorker(ctx context.Context, f func()) {
	rest := time.NewTimer(workerIdleTimeout)
	defer rest.Stop()
	for {
		f()
		rest.Reset(workerIdleTimeout)
		select {
		case f = <-w.Jobs:
		case <-rest.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
