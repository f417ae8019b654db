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
	flag.IntVar(&p.Namespaces, "namespaces", p.Namespaces, "namespaces, each with clusters of its own")
	flag.IntVar(&p.Clusters, "clusters", p.Clusters, "Bind9Clusters in each namespace, each with a DNSClass of its own")
	flag.IntVar(&p.Servers, "servers", p.Servers, "servers of a cluster, 100 at most")
	flag.IntVar(&p.Zones, "zones", p.Zones, "zones of a class")
	flag.DurationVar(&p.Idle, "idle", p.Idle, "how long requests are counted while nothing changes")
	flag.IntVar(&p.Changes, "changes", p.Changes, "changes of a zone of the first class whose way to all its servers is timed")
	flag.StringVar(&p.Kubizone, "kubizone", "", "program to measure (default: what this tree builds)")
	results := flag.String("results", "test/bench/fleet/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()

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
		fmt.Fprintln(os.Stderr, "bench-fleet:", err)
		os.Exit(1)
	}
}
