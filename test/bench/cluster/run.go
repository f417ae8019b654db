// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

// plan of a run.
type plan struct {
	Rounds int
	Time   time.Duration
	// Load is what each round sends of each operation on one object: so many requests by so many callers.
	Load []load
	// Population is how many objects a list and a watch bring, Reads how many of each a round makes.
	Population, Reads int
	// Records is how many objects servers are started with. Calm is how long one is left alone before its memory is
	// looked at: the garbage of its start goes by then.
	Records  int
	Calm     time.Duration
	Profiles string
}

type load struct{ Callers, Requests int }

func defaultPlan() plan {
	return plan{Rounds: 5, Time: 4 * time.Minute, Load: []load{{lone, 100}, {many, 500}}, Population: 1000, Reads: 10, Records: 100_000, Calm: 3 * time.Second}
}

const lone, many = 1, 16

// fewestRounds a median is made of, whatever the time.
const fewestRounds = 3

func (p *plan) scale(factor float64) {
	for i, l := range p.Load {
		p.Load[i].Requests = max(l.Callers, int(factor*float64(l.Requests)))
	}
	p.Population, p.Reads = max(1, int(factor*float64(p.Population))), max(2, int(factor*float64(p.Reads)))
}

// run measures everything and returns what it found.
func (p plan) run(ctx context.Context, log io.Writer) (*figures.Results, error) {
	dir, err := os.MkdirTemp("", "kubizone-bench-cluster-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &stage{plan: p, dir: dir, say: func(format string, args ...any) { fmt.Fprintf(log, "bench-cluster: "+format+"\n", args...) }}
	defer s.close()
	results := figures.New(p.Records)
	for _, step := range []func(context.Context, *figures.Results) error{s.start, s.rounds, s.profiles, s.sizes} {
		if err := step(ctx, results); err != nil {
			return nil, err
		}
	}
	results.Header.LoadAfter = figures.LoadAverage()
	return results, nil
}

// warming is the round before those that count: it makes connections and fills caches.
func (p plan) warming() plan {
	population := p.Population
	p.Load = slices.Clone(p.Load)
	p.scale(1. / 8)
	p.Population = population
	return p
}

// rounds goes through all arms in every round, each round beginning with another, so that what the machine does
// meanwhile meets all of them.
func (s *stage) rounds(ctx context.Context, into *figures.Results) error {
	began := time.Now()
	for round := range s.plan.Rounds + 1 {
		if round > fewestRounds && time.Since(began) > s.plan.Time {
			s.say("no time for more than %d rounds", round-1)
			break
		}
		s.say("round %d of %d, load %s", round, s.plan.Rounds, figures.LoadAverage())
		p := s.plan
		if round == 0 {
			p = p.warming()
		}
		got := map[string]sample{}
		for i := range s.arms {
			a := s.arms[(i+round)%len(s.arms)]
			samples, err := a.round(ctx, p, fmt.Sprintf("r%02d", round))
			if err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
			for name, value := range samples {
				got[a.String()+"/"+name] = value
			}
		}
		if round > 0 {
			s.add(into, got)
			into.Header.Rounds++
		}
	}
	return nil
}

// add a round of all arms, and its ratios: pairs of the same round.
func (s *stage) add(into *figures.Results, got map[string]sample) {
	for _, m := range measures {
		sampled := "/" + strings.TrimSuffix(m.name, "/cpu")
		for _, a := range s.arms {
			into.Add(a.String()+"/"+m.name, m.unit, got[a.String()+sampled].of(m))
			if m.unit != "µs" {
				into.Add(a.String()+"/"+m.name+"/p99", "ms", got[a.String()+sampled].p99)
			}
		}
		for _, pair := range pairs {
			over, under := got[pair.over+sampled].of(m), got[pair.under+sampled].of(m)
			if under > 0 { // so few requests may have used no hundredth of a second of CPU time
				into.Add(pair.String()+"/"+m.name, "×", over/under)
			}
		}
	}
}
