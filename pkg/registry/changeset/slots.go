// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// slots bound the sets of several writes that are under way. A set has both of its slots before it sends an item and
// waits for none after, so that no two wait for each other. The slot of the namespace is taken first: a namespace whose
// sets wait does not keep others' from theirs.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	of map[string]*namespaceSlots
}

type namespaceSlots struct {
	free  chan struct{}
	users int
}

// acquire waits for a slot until the request ends.
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
		return nil, busy(fmt.Sprintf("%d change sets of namespace %s are under way, and no more may be", maxSetsOfNamespace, namespace))
	}
	select {
	case s.all <- struct{}{}:
	case <-ctx.Done():
		<-own.free
		leave()
		return nil, busy(fmt.Sprintf("%d change sets are under way, and no more may be", maxSets))
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
