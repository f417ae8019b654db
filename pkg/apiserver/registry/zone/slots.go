// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// slots limits concurrent reads of zones, because a slow reader keeps its slot for long. A user gets another slot only
// while more slots are free than the user has. A quarter of the slots is for users who may read all zones.
type slots struct {
	total   int
	perUser int

	mutex    sync.Mutex
	acquired int
	byUser   map[string]int // only users with slots
}

func newSlots(total, each int) *slots {
	return &slots{total: total, perUser: each, byUser: make(map[string]int)}
}

// acquire takes a slot for a user, and returns the function that releases it, or a 429. readsAll is true for users who
// may read all zones: they may take the reserved quarter.
func (s *slots) acquire(user string, readsAll bool) (release func(), refusal *apierrors.StatusError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	free, mine := s.total-s.acquired, s.byUser[user]
	if !readsAll {
		free -= s.total / 4
	}
	switch {
	case free <= 0:
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d zones are being read already; please try again", s.acquired), retrySoon)
	// The first user of 32 slots gets at most 12 of the 24 open to all: a user with many watches leaves room for the
	// next.
	case mine >= min(free, s.perUser):
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%s is reading %d zones already, and the %d free places are for others; "+
			"please try again", user, mine, free), retrySoon)
	}
	s.acquired++
	s.byUser[user]++
	return func() { s.release(user) }, nil
}

func (s *slots) release(user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.acquired--
	if s.byUser[user]--; s.byUser[user] == 0 {
		delete(s.byUser, user)
	}
}

// readerOf returns the user for slots. A namespace's service accounts share a user, because their number is free.
func readerOf(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return ""
	}
	if namespace, _, err := serviceaccount.SplitUsername(user.GetName()); err == nil {
		return fmt.Sprintf("user %q", serviceaccount.ServiceAccountUsernamePrefix+namespace)
	}
	return fmt.Sprintf("user %q", user.GetName())
}

// namespaceOf is the reader of a namespace's Records, however many users ask.
func namespaceOf(ctx context.Context) string {
	return fmt.Sprintf("namespace %q", genericapirequest.NamespaceValue(ctx))
}
