// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

type plan struct {
	// Sizes are the record counts of the big zone, ascending.
	Sizes []int
	// Zones have ten records each, in up to a thousand namespaces.
	Zones int
	// A round has Writes by a lone caller and Burst by many.
	Rounds, Writes, Burst int
	// Rest precedes the measurement of memory, Idle that of memory at rest.
	Rest, Idle time.Duration
	// Mass is the number of records of a withdrawn delegation.
	Mass    int
	Program string
	// Fixtures keeps filled stores; Dir has servers' files.
	Fixtures, Dir string
	// Profiles is the directory of heap profiles; "" for none.
	Profiles string
}

func fillIfAsked() (started bool, err error) {
	path := os.Getenv(filling)
	if path == "" {
		return false, nil
	}
	var f fixture
	if _, err := fmt.Sscanf(os.Getenv(filled), "%d %d", &f.records, &f.zones); err != nil {
		return true, err
	}
	return true, f.fillStore(context.Background(), path, os.Getenv(into))
}

func main() {
	if started, err := fillIfAsked(); started {
		exitWith(err)
		return
	}
	cache, err := os.UserCacheDir()
	exitWith(err)
	p := plan{Rounds: 3, Writes: 100, Burst: 500, Rest: 3 * time.Second, Idle: 150 * time.Second}
	sizes := flag.String("sizes", "1000,10000,100000,1000000", "records of the one zone, ascending; the first is what the others are compared with")
	flag.IntVar(&p.Zones, "zones", 100000, "zones of ten records each; 0 leaves them out")
	flag.IntVar(&p.Mass, "mass", 100000, "records that a withdrawn delegation concerns; 0 leaves it out")
	flag.DurationVar(&p.Idle, "idle", p.Idle, "rest of a server before its memory at rest is measured; 0 leaves it out")
	flag.StringVar(&p.Program, "kubizone", "bin/kubizone", "the program that is measured")
	flag.StringVar(&p.Fixtures, "fixtures", filepath.Join(cache, "kubizone", "large"), "where filled stores are kept between runs")
	flag.StringVar(&p.Dir, "dir", os.TempDir(), "where servers work on copies of them")
	flag.StringVar(&p.Profiles, "profiles", "", "directory for a heap profile of each server after its start; none are taken without")
	results := flag.String("results", "test/bench/large/results", "directory with kept.jsonl, the run to compare with, and last.jsonl, which is written")
	keep := flag.Bool("keep", false, "make this run the kept one")
	flag.Parse()
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(p.Sizes) > 0 && n <= p.Sizes[len(p.Sizes)-1] {
			exitWith(fmt.Errorf("--sizes %q: want numbers of records, ascending, with commas between", *sizes))
		}
		p.Sizes = append(p.Sizes, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	r := figures.New(p.Sizes[len(p.Sizes)-1])
	failed := p.runPlan(ctx, r)
	r.Header.Seconds = int(time.Since(began).Seconds())
	report{r, p}.printReport(os.Stdout)
	exitWith(failed)
	exitWith(r.Finish(*results, *keep, os.Stdout))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-large:", err)
		os.Exit(1)
	}
}

func printLine(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench-large: "+format+"\n", args...)
}

func (p *plan) runPlan(ctx context.Context, r *figures.Results) error {
	dir, err := os.MkdirTemp(p.Dir, "kubizone-bench-large-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.Header.Rounds = p.Rounds
	start := func(f fixture, name string) (*server, error) {
		kept, err := f.keepSnapshot(ctx, p.Fixtures)
		if err != nil {
			return nil, err
		}
		return p.startServer(ctx, filepath.Join(dir, name), kept)
	}
	if p.Idle > 0 {
		if err := p.measureIdle(ctx, r, dir, "artifacts/examples"); err != nil {
			return fmt.Errorf("at rest: %w", err)
		}
	}
	small, err := start(fixture{records: p.Sizes[0]}, "small")
	if err != nil {
		return err
	}
	defer small.endServer()
	for _, n := range p.Sizes {
		s, err := start(fixture{records: n}, fmt.Sprint(n))
		if err != nil {
			return err
		}
		printLine("%d records: ready after %s, %d MB; load %s", n, s.ready.Round(time.Millisecond), s.resident>>20, figures.LoadAverage())
		err = p.measureZone(ctx, r, n, s, small)
		printLine("%d records: measured; load %s", n, figures.LoadAverage())
		s.endServer()
		if err != nil {
			return fmt.Errorf("%d records: %w", n, err)
		}
	}
	if p.Zones > 0 {
		s, err := start(fixture{zones: p.Zones}, "zones")
		if err != nil {
			return err
		}
		printLine("%d zones: ready after %s, %d MB", p.Zones, s.ready.Round(time.Millisecond), s.resident>>20)
		err = p.measureZones(ctx, r, s, small)
		s.endServer()
		if err != nil {
			return fmt.Errorf("%d zones: %w", p.Zones, err)
		}
	}
	if p.Mass == 0 {
		return nil
	}
	for _, mass := range masses {
		s, err := start(fixture{records: p.Mass}, mass.what)
		if err != nil {
			return err
		}
		printLine("%s of %d records", mass.what, p.Mass)
		err = p.measureMass(ctx, r, p.Mass, s, mass.what, mass.patch)
		s.endServer()
		if err != nil {
			return fmt.Errorf("%s of %d records: %w", mass.what, p.Mass, err)
		}
	}
	return nil
}
