// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/zoneview/feed/fromapi"
)

const (
	// probeTime bounds reading a request of a prober.
	probeTime = 10 * time.Second
	// reachTime bounds one question whether the API answers; after reachPause comes the next. What zones are missing is
	// said after each readPause.
	reachTime  = 10 * time.Second
	reachPause = 2 * time.Second
	readPause  = 30 * time.Second
)

// Informers is a factory of them.
type Informers interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// Process is one run. Feed is required before Run.
type Process struct {
	// Registry has the metrics of this run alone; /metrics shows them.
	Registry metrics.KubeRegistry
	// Informers and Beside run until the work has ended.
	Informers []Informers
	Beside    []func(ctx context.Context)
	Feed      *fromapi.Source
	// Known returns when all that is to be known before the work begins, beside zones, is. Nil: nothing.
	Known func(ctx context.Context) error
	// Unready is why it is not ready though all is known, empty when it is. Nil: it always is.
	Unready func() string

	out    io.Writer
	health net.Listener
	begun  chan struct{}
}

// Open takes the port of the probes. The caller calls Run, or Close if it never does.
func Open(health netip.AddrPort, out io.Writer) (*Process, error) {
	listener, err := net.Listen("tcp", health.String())
	if err != nil {
		return nil, fmt.Errorf("--health-listen %s: %w; name an address of this machine and a free port", health, err)
	}
	p := &Process{Registry: metrics.NewKubeRegistry(), out: out, health: listener, begun: make(chan struct{})}
	p.Registry.RawMustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p, nil
}

// Close lets go of the port.
func (p *Process) Close() error { return p.health.Close() }

// Say writes a line for people.
func (p *Process) Say(format string, arguments ...any) {
	// A closed terminal must not stop a server.
	_, _ = fmt.Fprintf(p.out, format+"\n", arguments...)
}

// Run starts what is read, waits until it is there, and works until ctx ends, or something that it needs does; then it
// returns nil, or what ended it. running ends with ctx, outlasting when work has returned.
func (p *Process) Run(ctx context.Context, work func(running, outlasting context.Context) error) error {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var parts sync.WaitGroup
	defer parts.Wait()

	prober := &http.Server{Handler: p.handler(), ReadTimeout: probeTime, WriteTimeout: probeTime}
	parts.Go(func() {
		if err := prober.Serve(p.health); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("--health-listen %s: %w", p.health.Addr(), err))
		}
	})
	defer prober.Close()

	outlasting, end := context.WithCancel(context.WithoutCancel(ctx))
	for _, informers := range p.Informers {
		informers.StartWithContext(outlasting)
		defer informers.Shutdown()
	}
	defer end()
	for _, beside := range p.Beside {
		parts.Go(func() { beside(outlasting) })
	}
	p.Say("health on %s, reading zones", p.health.Addr())
	parts.Go(func() { p.explain(running) })
	err := p.read(running, outlasting, &parts)
	if err == nil {
		close(p.begun)
		err = work(running, outlasting)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

// explain says what it waits for until the work begins: why the API does not answer, once for each reason, for
// informers go on without a word where nobody listens; then which zones are missing.
func (p *Process) explain(ctx context.Context) {
	var said string
	for answers := false; ; {
		pause := readPause
		if !answers {
			err := p.Feed.Client.Get().AbsPath("/apis").MaxRetries(0).Timeout(reachTime).Do(ctx).Error()
			var status apierrors.APIStatus
			answers = err == nil || errors.As(err, &status)
			if !answers {
				pause = reachPause
				if why := err.Error(); why != said && ctx.Err() == nil {
					said = why
					p.Say("waiting for the API: %s; does the kubeconfig name the server, and does it run?", why)
				}
			}
		} else if err := p.Feed.Check(); err != nil {
			p.Say("still reading zones: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.begun:
			return
		case <-time.After(pause):
		}
	}
}

// read returns when all is known. Zones come after the rest, which may say which of them are wanted.
func (p *Process) read(running, outlasting context.Context, parts *sync.WaitGroup) error {
	if p.Known != nil {
		if err := p.Known(running); err != nil {
			return err
		}
	}
	parts.Go(func() { _ = p.Feed.Run(outlasting) }) // ends with outlasting, and no other way
	return p.Feed.Wait(running)
}

func (p *Process) handler() http.Handler {
	unready := func() string {
		select {
		case <-p.begun:
		default:
			// Names of zones are not for everybody who reaches the port.
			return "zones are still being read; the log names those that cannot be"
		}
		if p.Unready == nil {
			return ""
		}
		return p.Unready()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := unready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(p.Registry, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}
