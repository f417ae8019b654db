// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

type plan struct {
	Rounds int
	// A slow system has FewLone changes (seconds for each).
	Lone, FewLone int
	Sizes         []int
	// Rest follows the last answer: status writes and a second synchronization count.
	Rest time.Duration
	// Kubizone is the measured program; "" means to build it.
	Kubizone string
	Systems  []string
}

func defaultPlan() plan {
	return plan{Rounds: 3, Lone: 10, FewLone: 4, Sizes: []int{500, 2000}, Rest: 6 * time.Second,
		Systems: []string{kubizone, plainCRD, raised, defaults}}
}

func (p *plan) scalePlan(factor float64) {
	scaled := func(n *int, least int) { *n = min(*n, max(least, int(factor*float64(*n)))) }
	scaled(&p.Lone, 2)
	scaled(&p.FewLone, 1)
	for i := range p.Sizes {
		scaled(&p.Sizes[i], 20)
	}
}

func (p plan) runPlan(ctx context.Context, log io.Writer) (*figures.Results, error) {
	printf := func(format string, args ...any) { fmt.Fprintf(log, "bench-peers: "+format+"\n", args...) }
	dir, err := os.MkdirTemp("", "kubizone-bench-peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	programs, err := p.findPrograms(ctx, dir)
	if err != nil {
		return nil, err
	}
	results := figures.New(p.Sizes[len(p.Sizes)-1])
	for round := range p.Rounds {
		results.Header.Rounds++
		got := map[string]map[string]figure{}
		for i := range systems {
			s := systems[(i+round)%len(systems)]
			if s.once && round > 0 || !slices.Contains(p.Systems, s.name) {
				continue
			}
			printf("round %d of %d, %s, load %s", round+1, p.Rounds, s.name, figures.LoadAverage())
			if got[s.name], err = p.measureSystem(ctx, s, programs, filepath.Join(dir, fmt.Sprintf("%d-%d", round, i))); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		addRound(results, got)
	}
	results.Header.LoadAfter = figures.LoadAverage()
	return results, nil
}

type figure struct {
	unit  string
	value float64
}

func addRound(into *figures.Results, got map[string]map[string]figure) {
	for _, s := range systems {
		for _, row := range sortedKeys(got[s.name]) {
			f := got[s.name][row]
			into.Add(row+"/"+s.name, f.unit, f.value)
			if ours, ok := got[kubizone][row]; ok && s.name != kubizone && ours.value > 0 {
				into.Add(row+"/"+s.name+" ÷ "+kubizone, "×", f.value/ours.value)
			}
		}
	}
}

func (p plan) measureSystem(ctx context.Context, system *system, programs programs, dir string) (got map[string]figure, err error) {
	s, err := startStack(ctx, dir, system, programs)
	if err != nil {
		return nil, err
	}
	defer s.closeStack()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, s.readLogs())
		}
	}()
	got = map[string]figure{}
	if err := s.makeFirst(ctx); err != nil {
		return nil, err
	}
	lone := p.Lone
	if system.confirmed == nil {
		lone = p.FewLone
	}
	if err := s.measureLone(ctx, lone, got); err != nil {
		return nil, err
	}
	if err := s.measureIdle(ctx, p.Rest, got); err != nil {
		return nil, err
	}
	sizes := p.Sizes
	if system.once {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		if err := s.measureBulk(ctx, n, p.Rest, got); err != nil {
			return nil, fmt.Errorf("%d records: %w", n, err)
		}
	}
	return got, nil
}

type programs struct{ kubizone, minimal, externalDNS, self string }

func (p plan) findPrograms(ctx context.Context, dir string) (found programs, err error) {
	if found.self, err = os.Executable(); err != nil {
		return found, err
	}
	if found.kubizone = p.Kubizone; found.kubizone == "" {
		if found.kubizone, err = rig.Kubizone(ctx, dir, ""); err != nil {
			return found, err
		}
	}
	if found.kubizone, err = filepath.Abs(found.kubizone); err != nil {
		return found, err
	}
	if found.minimal, err = rig.MinimalController(ctx, dir); err != nil {
		return found, err
	}
	if slices.Contains(p.Systems, raised) || slices.Contains(p.Systems, defaults) {
		found.externalDNS, err = rig.Tool("external-dns")
	}
	return found, err
}
