// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"time"
)

// FollowFormat returns ErrFormat when a newer version has taken the store over: this
// one would go on in a form that it does not know to be the old one. It returns nil
// when ctx ends. A version that changes the format writes that first, and the rest
// when the older servers have had a moment to end.
func (l *Ledger) FollowFormat(ctx context.Context) error {
	s := store{client: l.config.Client, layout: l.layout}
	for ctx.Err() == nil {
		// From before the reading on: nothing between both is missed.
		following, cancel := context.WithCancel(ctx)
		changes := l.config.Client.Watch(following, l.layout.config())
		for again := true; again; {
			_, _, err := s.read(ctx)
			if errors.Is(err, ErrFormat) {
				cancel()
				return err
			}
			if err != nil {
				break
			}
			r, open := <-changes
			again = open && r.Err() == nil
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}
