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
	p := defaultPlan()
	flag.IntVar(&p.Rounds, "rounds", p.Rounds, "rounds of all arms")
	flag.DurationVar(&p.Time, "time", p.Time, "start no further round after this long; three are made in any case")
	scale := flag.Float64("scale", 1, "requests of a round, and objects in a list, as a factor of what is usual")
	flag.IntVar(&p.Records, "records", p.Records, "objects that servers are started with; 0 leaves out memory and starts")
	flag.StringVar(&p.Profiles, "profiles", "", "directory for CPU profiles of kubizone under each arm of Records, taken in a round of its own")
	results := flag.String("results", "test/bench/cluster/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
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
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-cluster:", err)
		os.Exit(1)
	}
}
