// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

// rivals is what a writer waits for the slowest, beside what he usually waits, where two servers write one zone.
const rivals = "rivals/p99 ÷ p50"

// twoServers has a second server beside that of the one zone, and callers of both create in it.
func (s *stage) twoServers(ctx context.Context, dir string, rounds int, l load, into *figures.Results) error {
	other := &backend{etcd: s.one.etcd}
	if err := other.serve(ctx, filepath.Join(dir, "rival"), false, func(*process) {}); err != nil {
		return err
	}
	defer other.server.stop()
	for round := range rounds + 1 {
		var batches [2]batch
		for i, b := range []*backend{s.one, other} {
			var err error
			if batches[i], err = b.batch([]string{hotDomain})(fmt.Sprintf("rival%d-%02d", i, round), l.Writes/2); err != nil {
				return err
			}
		}
		took, _, err := figures.Callers(ctx, l.Callers, l.Writes, func(ctx context.Context, i int) error { return batches[i%2].create(ctx, i/2) })
		if err == nil {
			_, _, err = figures.Callers(ctx, l.Callers, l.Writes, func(ctx context.Context, i int) error { return batches[i%2].remove(ctx, i/2) })
		}
		if err != nil {
			return fmt.Errorf("two servers in one zone: %w", err)
		}
		if round == 0 { // connections, and the rival's memory of the zone
			continue
		}
		worst := 0.0
		for i := range batches {
			var own []time.Duration
			for at := i; at < l.Writes; at += len(batches) {
				own = append(own, took[at])
			}
			worst = max(worst, figures.Quantile(own, 0.99)/figures.Quantile(own, 0.50))
		}
		into.Add(rivals, "×", worst)
	}
	return nil
}
