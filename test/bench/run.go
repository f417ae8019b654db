// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

type plan struct {
	Rounds                 int
	Time                   time.Duration
	Load                   []load
	Profiled               int
	Dir, Profiles, Results string
	SlowDisk               time.Duration
}

type load struct{ Callers, Writes int }

func defaultPlan() plan {
	return plan{Rounds: 5, Time: 4 * time.Minute, Profiled: 4, Load: []load{{1, 300}, {16, 1600}, {64, 2560}}}
}

const fewestRounds = 3

func (p plan) runPlan(ctx context.Context, log io.Writer) (_ *figures.Results, err error) {
	printf := func(format string, args ...any) { fmt.Fprintf(log, "bench: "+format+"\n", args...) }
	dir, err := os.MkdirTemp(p.Dir, "kubizone-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, out := range []string{p.Profiles} {
		if out == "" {
			continue
		}
		if p.Profiles, err = filepath.Abs(out); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(p.Profiles, 0o755); err != nil {
			return nil, err
		}
	}
	var running []*process
	defer func() {
		for i := len(running) - 1; i >= 0; i-- {
			running[i].stop()
		}
	}()
	started := func(one *process) { running = append(running, one) }

	results := figures.New(0)
	printf("starting servers in %s", dir)
	s, err := newStage(ctx, dir, p.SlowDisk, started)
	if err != nil {
		return nil, err
	}
	if err := s.measureWrites(ctx, p, results, printf); err != nil {
		return nil, err
	}
	if p.Profiles != "" {
		if err := s.takeProfiles(ctx, p, printf); err != nil {
			return nil, err
		}
	}
	results.Header.LoadAfter = figures.LoadAverage()
	return results, nil
}

// Each round begins with a different arm: disturbances of the machine affect all.
func (s *stage) measureWrites(ctx context.Context, p plan, into *figures.Results, printf func(string, ...any)) error {
	began := time.Now()
	for round := range p.Rounds + 1 {
		if round > fewestRounds && time.Since(began) > p.Time {
			printf("no time for more than %d rounds", round-1)
			break
		}
		printf("round %d of %d, load %s", round, p.Rounds, figures.LoadAverage())
		for _, l := range p.Load {
			n := l.Writes
			if round == 0 { // warm-up
				n = max(l.Callers, n/8)
			}
			got := map[string]map[string]sample{}
			for i := range s.arms {
				a := s.arms[(i+round)%len(s.arms)]
				samples, err := a.runRound(ctx, s.makeLabel(a, round, l), l.Callers, n)
				if err != nil {
					return err
				}
				got[a.name] = samples
			}
			if round > 0 {
				addWrites(into, l.Callers, got)
			}
		}
		if round > 0 {
			into.Header.Rounds++
		}
	}
	return nil
}

func (s *stage) makeLabel(a *arm, round int, l load) string {
	return fmt.Sprintf("%c%02d-%03d", "abcdefgh"[s.indexOf(a)], round, l.Callers)
}

func (s *stage) indexOf(a *arm) int {
	for i, one := range s.arms {
		if one == a {
			return i
		}
	}
	return len(s.arms)
}

// Profiling would disturb the measured rounds.
func (s *stage) takeProfiles(ctx context.Context, p plan, printf func(string, ...any)) error {
	for _, a := range s.arms {
		for _, l := range p.Load {
			name := fmt.Sprintf("%s-%d", strings.ReplaceAll(a.name, " ", "-"), l.Callers)
			for file, of := range map[string]*process{name: a.server, name + "-etcd": a.etcd} {
				if _, err := of.callControl(ctx, "/cpu/start", filepath.Join(p.Profiles, file+".cpu.pb.gz")); err != nil {
					return err
				}
			}
			_, err := a.runRound(ctx, s.makeLabel(a, 99, l), l.Callers, p.Profiled*l.Writes)
			_, stop := a.server.callControl(ctx, "/cpu/stop", "")
			_, stopEtcd := a.etcd.callControl(ctx, "/cpu/stop", "")
			if err := errors.Join(err, stop, stopEtcd); err != nil {
				return err
			}
		}
	}
	for name, b := range map[string]*backend{"ledger": s.one, "plain": s.plain} {
		if _, err := b.server.callControl(ctx, "/allocations", filepath.Join(p.Profiles, name+".allocs.pb.gz")); err != nil {
			return err
		}
	}
	printf("profiles of the servers and their etcds are in %s", p.Profiles)
	return nil
}
