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
		exitWith(err)
	}
	quietLog("FATAL")
	plan := defaultPlan()
	flag.IntVar(&plan.Rounds, "rounds", plan.Rounds, "rounds of the write benchmarks")
	flag.DurationVar(&plan.Time, "time", plan.Time, "start no further round after this long; three are made in any case")
	scale := flag.Float64("scale", 1, "writes of a round, as a factor of what is usual")
	flag.StringVar(&plan.Dir, "dir", "", "where the servers keep their data, which decides the disk that is measured (default: a new directory below the system's temporary one)")
	flag.StringVar(&plan.Profiles, "profiles", "", "directory for CPU profiles of the server and the etcd of each arm, and allocations of the servers, taken in a round of its own")
	flag.StringVar(&plan.Results, "results", "test/bench/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
	flag.DurationVar(&plan.SlowDisk, "slow-disk", 0, "each fdatasync of the etcds takes so much longer, by strace: 5ms is what members in three places need")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()
	for i, l := range plan.Load {
		plan.Load[i].Writes = max(l.Callers, int(*scale*float64(l.Writes)))
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	results, err := plan.runPlan(ctx, os.Stderr)
	if err != nil {
		exitWith(err)
	}
	results.Header.Seconds = int(time.Since(began).Seconds())
	report{Results: results, slow: plan.SlowDisk > 0}.printReport(os.Stdout)
	if plan.SlowDisk > 0 {
		exitWith(nil)
	}
	exitWith(results.Finish(plan.Results, *keep, os.Stdout))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
