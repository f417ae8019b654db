// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	opts, err := parseArgs(os.Args[1:])
	if err == nil {
		err = runAll(opts)
	}
	if err == nil {
		return
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		os.Exit(ended.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "slowest:", err)
	os.Exit(1)
}

type options struct {
	program string   // in place of the go command
	beside  []string // programs that run go in another module
	table   string   // the file for the whole table; empty: none
	args    []string // of go test
}

// parseArgs reads the options before the first argument that belongs to go test.
func parseArgs(args []string) (options, error) {
	o := options{program: "go"}
	for len(args) > 0 {
		name := args[0]
		if name != "-go" && name != "-beside" && name != "-table" {
			break
		}
		if len(args) == 1 {
			return o, fmt.Errorf("%s wants a value", name)
		}
		switch value := args[1]; name {
		case "-go":
			o.program = value
		case "-beside":
			o.beside = append(o.beside, value)
		case "-table":
			o.table = value
		}
		args = args[2:]
	}
	o.args = args
	return o, nil
}

// runAll runs the tests of this module and, at the same time, those of the modules beside it, one after the other: two
// that compile at once would take the processors from the tests. It returns the first error of a program.
func runAll(o options) error {
	r := &report{out: os.Stdout}
	began := time.Now()
	var running sync.WaitGroup
	var failed error
	running.Go(func() {
		for _, program := range o.beside {
			vet := exec.Command(program, "vet", "./...")
			vet.Stdout, vet.Stderr = os.Stderr, os.Stderr
			err := vet.Run()
			r.addCost(vet.ProcessState, "")
			if err == nil {
				err = runTests(r, program, append(othersOptions(o.args), "./..."))
			}
			if err != nil && failed == nil {
				failed = err
			}
		}
	})
	err := runTests(r, o.program, o.args)
	running.Wait()
	err = firstOf(err, failed)
	r.printSummary(r.out, listed, 0, time.Since(began))
	if o.table != "" {
		err = firstOf(err, r.writeTable(o.table, time.Since(began)))
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, "FAIL")
	}
	return err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// othersOptions returns the options of go test that hold for another module, too: without packages and parallelism.
func othersOptions(args []string) (kept []string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-vet=") || strings.HasPrefix(arg, "-timeout=") || arg == "-short" {
			kept = append(kept, arg)
		}
	}
	return kept
}

// runTests runs go test and reports its events. It returns the error of the program.
func runTests(r *report, program string, args []string) error {
	dir, err := os.MkdirTemp("", "slowest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	graph := filepath.Join(dir, "graph.json")
	test := exec.Command(program, append([]string{"test", "-json", "-debug-actiongraph=" + graph}, args...)...)
	test.Stderr = os.Stderr
	events, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	if err := r.readEvents(events); err != nil {
		test.Process.Kill()
		return errors.Join(err, test.Wait())
	}
	err = test.Wait()
	r.addCost(test.ProcessState, graph)
	return err
}

func (r *report) writeTable(file string, took time.Duration) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	r.printSummary(f, len(r.packages)+len(r.tests), slow, took)
	return errors.Join(err, f.Close())
}
