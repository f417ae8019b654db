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
	flag.IntVar(&p.Rounds, "rounds", p.Rounds, "rounds of everything that alternates")
	flag.DurationVar(&p.Time, "time", p.Time, "start no further round of changes after this long; three are made in any case")
	scale := flag.Float64("scale", 1, "changes of a round, records of a zone and rounds, as a factor of what is usual")
	flag.StringVar(&p.Kubizone, "kubizone", "", "program to measure (default: what this tree builds)")
	results := flag.String("results", "test/bench/delivery/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()
	p.scalePlan(*scale)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	r, err := p.runPlan(ctx, os.Stderr)
	if err == nil {
		r.Header.Seconds = int(time.Since(began).Seconds())
		report{r}.printReport(os.Stdout)
		err = r.Finish(*results, *keep, os.Stdout)
	}
	exitWith(err)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-delivery:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
