// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"kubi.zone/kubizone/test/bench/member"
)

const memberVariable = "KUBIZONE_BENCH_PEERS_MEMBER"

func serveIfAsked() (served bool, err error) {
	dir := os.Getenv(memberVariable)
	if dir == "" {
		return false, nil
	}
	return true, member.Serve(context.Background(), dir, func(endpoint string) error {
		_, err := fmt.Println(readyLine + endpoint)
		return err
	})
}

func main() {
	if served, err := serveIfAsked(); served {
		exitWith(err)
	}
	p := defaultPlan()
	flag.IntVar(&p.Rounds, "rounds", p.Rounds, "rounds of all systems")
	scale := flag.Float64("scale", 1, "changes and records of a run, as a factor of what is usual")
	flag.StringVar(&p.Kubizone, "kubizone", "", "program to measure (default: what this tree builds)")
	names := flag.String("systems", strings.Join(p.Systems, ","), "measured systems, with commas between")
	results := flag.String("results", "test/bench/peers/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, "+
		"which is written")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()
	p.scalePlan(*scale)
	known := p.Systems
	p.Systems = strings.Split(*names, ",")
	for _, name := range p.Systems {
		if !slices.Contains(known, name) {
			exitWith(fmt.Errorf("-systems has %q: want some of %s", name, strings.Join(known, ",")))
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	r, err := p.runPlan(ctx, os.Stderr)
	if err == nil {
		r.Header.Seconds = int(time.Since(began).Seconds())
		report{r, p}.printReport(os.Stdout)
		err = r.Finish(*results, *keep, os.Stdout)
	}
	exitWith(err)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
