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

// seats are shared by everybody who reads zones. A client that reads slowly keeps its seat for as long as it likes, so
// nobody may take them all: a user has at most as many as are free beside them. One user alone gets half, the next half
// of the rest, and whoever comes new finds a seat until as many users as halvings have come.
type seats struct {
	total int

	mutex sync.Mutex
	taken int
	of    map[string]int // by user; no zeros
}

func newSeats(total int) *seats { return &seats{total: total, of: make(map[string]int)} }

// take gives the user a seat, or says why not. leave is called once.
func (s *seats) take(user string) (leave func(), refusal *apierrors.StatusError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch free, mine := s.total-s.taken, s.of[user]; {
	case free == 0:
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d zones are being read already; please try again", s.total), retrySoon)
	case mine >= free:
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("user %q is reading %d zones already, and %d more is what is left for others; please try again", user, mine, free), retrySoon)
	}
	s.taken++
	s.of[user]++
	return func() { s.leave(user) }, nil
}

func (s *seats) leave(user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.taken--
	if s.of[user]--; s.of[user] == 0 {
		delete(s.of, user)
	}
}

func (s *seats) inUse() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.taken
}

// readerOf is the name of the user who reads. The service accounts of a namespace are one reader: whoever owns a
// namespace makes as many as he likes, and with one seat more for each he would have all of them.
func readerOf(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return ""
	}
	if namespace, _, err := serviceaccount.SplitUsername(user.GetName()); err == nil {
		return serviceaccount.ServiceAccountUsernamePrefix + namespace
	}
	return user.GetName()
}
