// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// slots limits the items (writes) of change sets in progress, in total and for each namespace. A change set acquires
// the slots of all items at once. Otherwise two sets with a part of their slots could deadlock. The namespace's slots
// come first, so that a waiting set blocks no other namespace.
type slots struct {
	all *semaphore.Weighted

	// mu guards byNamespace: the namespaces with change sets in progress.
	mu          sync.Mutex
	byNamespace map[string]*namespaceSlots
}

type namespaceSlots struct {
	free  *semaphore.Weighted
	users int // sets that wait or have slots
}

func newSlots() slots {
	return slots{all: semaphore.NewWeighted(maxItems), byNamespace: map[string]*namespaceSlots{}}
}

// acquire waits for as many slots as the set has items, until ctx ends. The result is the function that releases them,
// or a 429.
func (s *slots) acquire(ctx context.Context, namespace string, items int) (release func(), err error) {
	s.mu.Lock()
	own := s.byNamespace[namespace]
	if own == nil {
		own = &namespaceSlots{free: semaphore.NewWeighted(maxItemsOfNamespace)}
		s.byNamespace[namespace] = own
	}
	own.users++
	s.mu.Unlock()
	// Namespaces without sets take no memory, so a map entry goes with the last set, waiting or not.
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.byNamespace, namespace)
		}
	}
	n := int64(items)
	if own.free.Acquire(ctx, n) != nil {
		leave()
		return nil, busy(fmt.Sprintf("change sets of namespace %s with %d items are in progress, which is the limit", namespace,
			maxItemsOfNamespace))
	}
	if s.all.Acquire(ctx, n) != nil {
		own.free.Release(n)
		leave()
		return nil, busy(fmt.Sprintf("change sets with %d items are in progress, which is the limit", maxItems))
	}
	return func() {
		s.all.Release(n)
		own.free.Release(n)
		leave()
	}, nil
}

func busy(why string) error {
	return apierrors.NewTooManyRequests(why+"; nothing was written: try again", 1)
}
