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
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := runTests(os.Args[1:]); err != nil {
		if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
			os.Exit(ended.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
}

func runTests(args []string) error {
	program := "go"
	if len(args) > 1 && args[0] == "-go" {
		program, args = args[1], args[2:]
	}
	test := exec.Command(program, append([]string{"test", "-json"}, args...)...)
	test.Stderr = os.Stderr
	events, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	r := &report{out: os.Stdout, running: map[string]*pkg{}}
	if err := r.readEvents(events); err != nil {
		test.Process.Kill()
		return errors.Join(err, test.Wait())
	}
	err = test.Wait()
	r.printSummary()
	if err != nil {
		fmt.Fprintln(os.Stdout, "FAIL")
	}
	return err
}

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

const listed = 15

type report struct {
	out             io.Writer
	running         map[string]*pkg
	packages, tests []taken
}

func (r *report) readEvents(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.takeEvent(e)
			} else {
				r.out.Write(line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) takeEvent(e event) {
	if e.Action == "build-output" {
		io.WriteString(r.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.running[e.Package]
	if p == nil {
		p = &pkg{output: map[string]*strings.Builder{}}
		r.running[e.Package] = p
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
		} else {
			r.endPackage(p, e)
		}
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
	delete(r.running, e.Package)
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

func (r *report) printSummary() {
	for _, list := range []struct {
		of  string
		all []taken
	}{{"packages", r.packages}, {"tests", r.tests}} {
		slices.SortStableFunc(list.all, func(a, b taken) int { return cmp.Compare(b.seconds, a.seconds) })
		fmt.Fprintf(r.out, "slowest %s:\n", list.of)
		for _, one := range list.all[:min(len(list.all), listed)] {
			fmt.Fprintf(r.out, "%8.1fs  %s\n", one.seconds, one.name)
		}
	}
}
