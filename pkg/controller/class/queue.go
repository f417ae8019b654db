// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// task is one object to work on.
type task struct{ kind, namespace, name string }

const (
	zoneTask   = "zone"
	recordTask = "record"
	classTask  = "class"
	healthTask = "health"
)

type queue = workqueue.TypedRateLimitingInterface[task]

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, time.Minute))
}

// repeat calls do after each interval until ctx ends.
func repeat(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
