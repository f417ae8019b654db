// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
)

// writes counts what delivering has the API server write, beside the changes themselves.
func (s *stage) writes(ctx context.Context, into *figures.Results) error {
	u, err := s.up(ctx, "writes")
	if err != nil {
		return err
	}
	defer u.stop()
	sink := newSink()
	defer sink.Close()
	const zone = "w"
	if err := u.class(ctx, zone, v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](10_000), Webhook: &v1alpha1.WebhookProvider{Server: sink.URL}}); err != nil {
		return err
	}
	if err := u.zone(ctx, zone, domain(zone), zone); err != nil {
		return err
	}
	if err := u.fill(ctx, zone, s.plan.Zone); err != nil {
		return err
	}
	if err := u.settle(ctx); err != nil {
		return err
	}
	made := 0
	for range s.plan.Rounds {
		for _, load := range []struct {
			name    string
			changes int
		}{{atOnce, 1}, {"burst", s.plan.Burst}} {
			before, err := u.writes(ctx)
			if err != nil {
				return err
			}
			if _, _, err := figures.Callers(ctx, 16, load.changes, func(ctx context.Context, i int) error {
				return u.change(ctx, zone, i, address(1, made+i))
			}); err != nil {
				return err
			}
			made += load.changes
			if err := u.settle(ctx); err != nil {
				return err
			}
			// The remaining writes come within moments; a request is counted once it was answered.
			after, err := u.calm(ctx)
			if err != nil {
				return err
			}
			more := since(before, after)
			if more["records"] != load.changes {
				return fmt.Errorf("%d changes were made, the server counted %d", load.changes, more["records"])
			}
			at := "writes/" + load.name + "/"
			for _, what := range []string{"records/status", "zones/status", "deliveries/status"} {
				into.Add(at+what, "writes", float64(more[what]))
			}
			into.Add(at+"changes", "changes", float64(load.changes))
			beside := float64(total(more) - load.changes)
			into.Add(at+"beside", "writes", beside)
			into.Add(at+"per change", "writes/change", beside/float64(load.changes))
		}
	}
	return nil
}

// calm is what was written when nothing is written any more.
func (u *server) calm(ctx context.Context) (counts map[string]int, err error) {
	const quiet = time.Second
	last := -1
	err = eventually(ctx, "nothing is written any more", func() (bool, error) {
		if counts, err = u.writes(ctx); err != nil || total(counts) == last {
			return err == nil, err
		}
		last = total(counts)
		select {
		case <-ctx.Done():
		case <-time.After(quiet):
		}
		return false, ctx.Err()
	})
	return counts, err
}
