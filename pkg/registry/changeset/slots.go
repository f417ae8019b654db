// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A set acquires both slots before it sends an item, so that sets cannot deadlock; the namespace's first, so that its
// waiting sets do not block others.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	of map[string]*namespaceSlots
}

type namespaceSlots struct {
	free  chan struct{}
	users int
}

func (s *slots) acquire(ctx context.Context, namespace string) (release func(), err error) {
	s.mu.Lock()
	own := s.of[namespace]
	if own == nil {
		own = &namespaceSlots{free: make(chan struct{}, maxSetsOfNamespace)}
		s.of[namespace] = own
	}
	own.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.of, namespace)
		}
	}
	select {
	case own.free <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, busy(fmt.Sprintf("%d change sets of namespace %s are in progress, which is the limit", maxSetsOfNamespace, namespace))
	}
	select {
	case s.all <- struct{}{}:
	case <-ctx.Done():
		<-own.free
		leave()
		return nil, busy(fmt.Sprintf("%d change sets are in progress, which is the limit", maxSets))
	}
	return func() {
		<-s.all
		<-own.free
		leave()
	}, nil
}

func busy(why string) error {
	return apierrors.NewTooManyRequests(why+"; nothing was written: try again", 1)
}
