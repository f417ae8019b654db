// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

type pkg struct {
	output map[string]*strings.Builder // of running tests; "" is the package's
	order  []string
	tests  []taken
}

type taken struct {
	seconds float64
	name    string
}

// listed is the number of rows of each list in the printed summary; slow is the least of a file's table, in seconds.
const (
	listed = 15
	slow   = 1
)

// report collects the results of one or more runs of go test, also at the same time.
type report struct {
	out io.Writer

	mu              sync.Mutex
	packages, tests []taken
	cost            cost
}

// readEvents reads the events of a single go test, and prints what go test would print without -json.
func (r *report) readEvents(events io.Reader) error {
	running := map[string]*pkg{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.mu.Lock()
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.takeEvent(running, e)
			} else {
				r.out.Write(line)
			}
			r.mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) takeEvent(running map[string]*pkg, e event) {
	if e.Action == "build-output" {
		io.WriteString(r.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := running[e.Package]
	if p == nil {
		p = &pkg{output: map[string]*strings.Builder{}}
		running[e.Package] = p
	}
	switch e.Action {
	case "output":
		if strings.HasPrefix(e.Output, "=== ") {
			return
		}
		text := p.output[e.Test]
		if text == nil {
			text = &strings.Builder{}
			p.output[e.Test] = text
			p.order = append(p.order, e.Test)
		}
		text.WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.endTest(p, e)
			return
		}
		delete(running, e.Package)
		r.endPackage(p, e)
	}
}

func (r *report) endTest(p *pkg, e event) {
	if text := p.output[e.Test]; text != nil && e.Action == "fail" {
		io.WriteString(r.out, text.String())
	}
	delete(p.output, e.Test)
	if !strings.Contains(e.Test, "/") {
		p.tests = append(p.tests, taken{e.Elapsed, e.Package + " " + e.Test})
	}
}

func (r *report) endPackage(p *pkg, e event) {
	var own string
	if text := p.output[""]; text != nil {
		own = text.String()
	}
	if e.Action == "fail" {
		for _, test := range p.order { // ended by a crash or the time limit
			if text := p.output[test]; text != nil && test != "" {
				io.WriteString(r.out, text.String())
			}
		}
		io.WriteString(r.out, own)
	} else {
		for line := range strings.Lines(own) {
			if strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") || strings.HasPrefix(line, "\t") {
				io.WriteString(r.out, line)
			}
		}
	}
	if !strings.Contains(own, "\t(cached)") {
		r.packages = append(r.packages, taken{e.Elapsed, e.Package})
		r.tests = append(r.tests, p.tests...)
	}
}

// printSummary prints at most limit packages and tests of so many seconds, the slowest first, and the cost of all.
func (r *report) printSummary(out io.Writer, limit int, seconds float64, took time.Duration) {
	for _, list := range []struct {
		of  string
		all []taken
	}{{"packages", r.packages}, {"tests", r.tests}} {
		slices.SortStableFunc(list.all, func(a, b taken) int { return cmp.Compare(b.seconds, a.seconds) })
		fmt.Fprintf(out, "slowest %s:\n", list.of)
		for _, one := range list.all[:min(len(list.all), limit)] {
			if one.seconds < seconds {
				break
			}
			fmt.Fprintf(out, "%8.1fs  %s\n", one.seconds, one.name)
		}
	}
	r.cost.print(out, took)
}
