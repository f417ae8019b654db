// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubizone/controller"
	"kubi.zone/kubizone/cmd/kubizone/primary"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const (
	restartPause  = 5 * time.Second
	besideTimeout = 30 * time.Second
)

type subcommand struct {
	name, user string
	run        func(ctx context.Context, server *process.Server) error
}

type runner interface {
	Run(ctx context.Context) error
}

// parseSubcommands parses the arguments after "--": sub-commands with their flags, with "--" between. The error joins
// the faults of all.
func parseSubcommands(arguments []string, out io.Writer, traces tracing.Options) (all []subcommand, err error) {
	var wrong []error
	for section := range splitSections(arguments) {
		one, err := parseSection(section, out, traces)
		if err == nil && slices.ContainsFunc(all, func(other subcommand) bool { return other.name == one.name }) {
			err = errors.New("named twice; one of each runs beside the server")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("-- %s: %w", strings.Join(section[:min(1, len(section))], ""), err))
			continue
		}
		all = append(all, one)
	}
	return all, errors.Join(wrong...)
}

// splitSections yields the arguments between "--", empty sections too: these are an error of the user.
func splitSections(arguments []string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(arguments) > 0 {
			section := arguments
			if end := slices.Index(arguments, "--"); end >= 0 {
				section, arguments = arguments[:end], arguments[end+1:]
			} else {
				arguments = nil
			}
			if !yield(section) {
				return
			}
		}
	}
}

// parseSection parses a sub-command with flags. The result creates a configuration for each run, because a failed
// sub-command starts again and reads all files again.
func parseSection(section []string, out io.Writer, traces tracing.Options) (subcommand, error) {
	if len(section) == 0 {
		return subcommand{}, errors.New("name controller or primary, and its flags")
	}
	one := subcommand{name: section[0]}
	flags := pflag.NewFlagSet(one.name, pflag.ContinueOnError)

	// 1. The options of the sub-command, which are the same as in a process of its own.
	lines := &linePrefix{to: out, prefix: one.name + ": "}
	var user *kubeconfig.Options
	var complete func(server *process.Server) (runner, error)
	switch one.name {
	case "controller":
		options := controller.NewOptions()
		options.Traces = traces
		options.AddFlags(flags)
		user = options.Client
		complete = func(server *process.Server) (runner, error) {
			config, err := options.Complete(lines)
			config.Server = server
			return config, err
		}
	case "primary":
		options := primary.NewOptions()
		options.Traces = traces
		options.AddFlags(flags)
		user = options.Client
		complete = func(server *process.Server) (runner, error) {
			config, err := options.Complete(lines)
			config.Server = server
			return config, err
		}
	default:
		return one, errors.New("is no sub-command that runs beside the server: name controller or primary")
	}

	// 2. Parse the flags. Without --as, requests would have all rights of the server.
	if err := flags.Parse(section[1:]); err != nil {
		return one, fmt.Errorf("%w; kubizone %s --help lists the flags", err, one.name)
	}
	if flags.NArg() > 0 {
		return one, fmt.Errorf("takes flags only, and %q is not a flag", flags.Arg(0))
	}
	if one.user = user.User(); one.user == "" {
		return one, errors.New("--as is missing, and without it the server's rights would count; give " +
			"--as=system:serviceaccount:NAMESPACE:NAME, of the account with the rights of this sub-command")
	}

	// 3. The run, once with a configuration that is thrown away, for the faults of all flags before the start.
	one.run = func(ctx context.Context, server *process.Server) error {
		config, err := complete(server)
		if err != nil {
			return err
		}
		return config.Run(ctx)
	}
	// A missing Secret of keys must not keep the API from starting.
	if _, err := complete(nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return one, err
	}
	return one, nil
}

type linePrefix struct {
	to     io.Writer
	prefix string
}

func (p *linePrefix) Write(line []byte) (int, error) {
	_, err := p.to.Write(slices.Concat([]byte(p.prefix), line))
	return len(line), err
}

// runRepeatedly runs the sub-command until ctx ends, each time restartPause after the last end. It calls fail if the
// work of a run does not stop, since a second run beside could write the same Deliveries.
func (s subcommand) runRepeatedly(ctx context.Context, newServer func() *process.Server, fail context.CancelCauseFunc) {
	for ctx.Err() == nil {
		err := s.run(ctx, newServer())
		if errors.Is(err, process.ErrUnfinished) {
			fail(fmt.Errorf("%s: %w", s.name, err))
		}
		if ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "A part of the server has ended, and starts again", "part", s.name, "after", restartPause)
		select {
		case <-ctx.Done():
		case <-time.After(restartPause):
		}
	}
}

// runSubcommands runs the sub-commands in this process until ctx ends, and restarts each after a failure. It returns
// process.ErrUnfinished if the work of a sub-command does not stop, otherwise nil.
func (o *Options) runSubcommands(ctx context.Context, server *apiserver.Server, views *zoneview.Set) error {
	err := server.WaitForAPI(ctx)
	if ctx.Err() != nil {
		return nil // the server stops
	}
	if err != nil {
		return err
	}
	memory.SpareHeap() // after the garbage of the start
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var running sync.WaitGroup
	for _, subcommand := range o.subcommands {
		newServer := func() *process.Server {
			return &process.Server{API: server.ConfigAs(subcommand.user), Views: views, Frozen: server.Frozen}
		}
		running.Go(func() { subcommand.runRepeatedly(ctx, newServer, fail) })
	}
	<-ctx.Done()

	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(besideTimeout):
		// The goroutines end with the process.
		klog.ErrorS(nil, "A part of the server does not stop; the server stops without it", "after", besideTimeout)
	}
	if err := context.Cause(ctx); errors.Is(err, process.ErrUnfinished) {
		return err
	}
	return nil
}
