// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/schedule"
)

type shared struct {
	index  *objects.Index
	queue  queue
	stalls *objects.Stalls
	status statusWriter
	events announcer
	store  *store
	loop   *schedule.Loop
}

type task struct{ kind, namespace, name string }

const (
	zoneTask   = "zone"
	classTask  = "class"
	healthTask = "health"
)

type queue = workqueue.TypedRateLimitingInterface[task]

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, time.Minute))
}

func (s *shared) judgeStalled(again task, of *metav1.ObjectMeta, conditions []metav1.Condition, waits *metav1.Condition) *metav1.Condition {
	return s.stalls.Judge(of, conditions, waits, func(in time.Duration) { s.queue.AddAfter(again, in) })
}
