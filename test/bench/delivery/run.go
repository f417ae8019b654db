// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

type plan struct {
	Rounds int
	Time   time.Duration
	Zone   int
	// Steady changes are due at Rate a second, regardless of earlier changes.
	Lone, Steady int
	Rate         float64
	Writes       int
	// Kubizone is the measured program; "" means to build it.
	Kubizone string
}

func defaultPlan() plan {
	return plan{Rounds: 5, Time: 10 * time.Minute, Zone: 1000, Lone: 40, Steady: 500, Rate: 100, Writes: 2000}
}

const fewestRounds = 3

func (p *plan) scalePlan(factor float64) {
	scaled := func(n *int, least int) { *n = min(*n, max(least, int(factor*float64(*n)))) }
	scaled(&p.Rounds, fewestRounds)
	scaled(&p.Zone, 100)
	scaled(&p.Lone, 4)
	scaled(&p.Steady, 100)
	scaled(&p.Writes, 100)
}

type stage struct {
	plan     plan
	dir      string
	kubizone string
	printf   func(format string, args ...any)
}

func (p plan) runPlan(ctx context.Context, log io.Writer) (*figures.Results, error) {
	dir, err := os.MkdirTemp("", "kubizone-bench-delivery-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &stage{plan: p, dir: dir, printf: func(format string, args ...any) { fmt.Fprintf(log, "bench-delivery: "+format+"\n", args...) }}
	if s.kubizone = p.Kubizone; s.kubizone == "" {
		if s.kubizone, err = rig.Kubizone(ctx, dir, ""); err != nil {
			return nil, err
		}
	}
	results := figures.New(0)
	if err := s.measureUpdates(ctx, results); err != nil {
		return nil, err
	}
	if err := s.measureChanges(ctx, results); err != nil {
		return nil, err
	}
	results.Header.LoadAfter = figures.LoadAverage()
	return results, nil
}
