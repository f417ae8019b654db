// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if played, err := playRole(); played {
		exit(err)
	}
	p := defaultPlan()
	flag.IntVar(&p.Rounds, "rounds", p.Rounds, "rounds of everything that alternates")
	flag.DurationVar(&p.Time, "time", p.Time, "start no further round of changes after this long; three are made in any case")
	flag.IntVar(&p.Records, "records", p.Records, "records of the biggest zone, which is filled without the API; 0 leaves out transfers and memory")
	flag.IntVar(&p.Stored, "stored", p.Stored, "records of the zone that is filled through the API and held by kubizone primary; 0 leaves it out")
	flag.DurationVar(&p.Idle, "idle", 0, "watch 1,000 unchanged zones for so long (10m0s for the figure); 0 leaves it out")
	scale := flag.Float64("scale", 1, "changes of a round, records and rounds, as a factor of what is usual")
	flag.StringVar(&p.Kubizone, "kubizone", "", "program to measure (default: what this tree builds)")
	flag.StringVar(&p.Only, "only", "", "measure nothing but changes, writes, slow, idle or transfer")
	flag.StringVar(&p.Profiles, "profiles", "", "directory for a CPU profile of the primary while it transfers the biggest zone")
	results := flag.String("results", "test/bench/delivery/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()
	p.scale(*scale)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	r, err := p.run(ctx, os.Stderr)
	if err == nil {
		r.Header.Seconds = int(time.Since(began).Seconds())
		report{r}.print(os.Stdout)
		err = r.Finish(*results, *keep, os.Stdout)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-delivery:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
