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
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
)

const (
	probeTimeout = 10 * time.Second
	reachTimeout = 10 * time.Second
	reachPause   = 2 * time.Second
	readPause    = 30 * time.Second
)

type Informers interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// Process runs a sub-command such as kubizone primary: informers, health port and work. The sub-command may set the
// exported fields before Run.
type Process struct {
	// Registry has the metrics of the health port.
	Registry metrics.KubeRegistry
	// Informers and Background start before the work, and end afterwards.
	Informers  []Informers
	Background []func(ctx context.Context)
	// Feed reads the zones over the API. Nil if an API server in this process has them, or none are needed.
	Feed *fromapi.Source
	// Client tests whether the API answers yet, for the log.
	Client rest.Interface
	// WaitFirst returns when everything but the zones has been read. Optional.
	WaitFirst func(ctx context.Context) error
	// Unready returns why the process is not ready although the work has begun; "" if ready. Optional.
	Unready func() string

	out     io.Writer
	health  net.Listener    // the health port
	started chan struct{}   // closed when the work begins
	beat    *heartbeat.Beat // nil without a Lease
}

func Open(health netip.AddrPort, out io.Writer) (*Process, error) {
	listener, err := BindPort("--health-listen", health.String())
	if err != nil {
		return nil, err
	}
	p := &Process{Registry: metrics.NewKubeRegistry(), out: out, health: listener, started: make(chan struct{})}
	p.Registry.RawMustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p, nil
}

func BindPort(flag, at string) (net.Listener, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; name an address of this machine and a free port above 1023", flag, at, err)
	}
	return listener, nil
}

func (p *Process) Close() error { return p.health.Close() }

func (p *Process) Printf(format string, arguments ...any) {
	_, _ = terminal.Fprintf(p.out, format+"\n", arguments...)
}

// Run starts the informers, waits for all data, and calls work. The context running ends when ctx ends, and the context
// outlasting ends after work has returned. Run returns nil after the end of ctx, or the error of a necessary part.
func (p *Process) Run(ctx context.Context, work func(running, outlasting context.Context) error) error {
	running, fail := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer fail(nil)

	prober := &http.Server{Handler: p.newHandler(), ReadTimeout: probeTimeout, WriteTimeout: probeTimeout}
	parts.Go(func() {
		if err := prober.Serve(p.health); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("--health-listen %s: %w", p.health.Addr(), err))
		}
	})
	defer prober.Close()

	// At the return, outlasting ends first, then informers, probes and the other parts end.
	outlasting, end := context.WithCancel(context.WithoutCancel(ctx))
	for _, informers := range p.Informers {
		informers.StartWithContext(outlasting)
		defer informers.Shutdown()
	}
	defer end()

	if p.beat != nil {
		parts.Go(func() { p.beat.Run(running, func() bool { return p.unready() == "" }) })
	}
	for _, run := range p.Background {
		parts.Go(func() { run(outlasting) })
	}
	resources := "zones"
	if p.Feed == nil {
		resources = "objects"
	}
	p.Printf("health on %s, reading %s", p.health.Addr(), resources)
	parts.Go(func() { p.reportWaiting(running) })

	err := p.readZones(running, outlasting, &parts)
	if err == nil {
		close(p.started)
		err = work(running, outlasting)
	}
	endedByCaller := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if endedByCaller {
		return nil
	}
	return err
}

// reportWaiting prints why the work has not begun, because informers retry silently.
func (p *Process) reportWaiting(ctx context.Context) {
	var message string
	for {
		err := p.Client.Get().AbsPath("/apis").MaxRetries(0).Timeout(reachTimeout).Do(ctx).Error()
		var status apierrors.APIStatus
		hasAnswered := err == nil || errors.As(err, &status)
		if hasAnswered {
			break
		}
		if why := err.Error(); why != message && ctx.Err() == nil {
			message = why
			p.Printf("waiting for the API: %s; does the kubeconfig name the server, and does it run?", why)
		}
		if !p.waitForStart(ctx, reachPause) {
			return
		}
	}

	for p.waitForStart(ctx, readPause) && p.Feed != nil {
		if err := p.Feed.Check(); err != nil {
			p.Printf("still reading zones: %v", err)
		}
	}
}

func (p *Process) waitForStart(ctx context.Context, pause time.Duration) (isWaiting bool) {
	select {
	case <-ctx.Done():
		return false
	case <-p.started:
		return false
	case <-time.After(pause):
		return true
	}
}

func (p *Process) readZones(running, outlasting context.Context, parts *sync.WaitGroup) error {
	if p.WaitFirst != nil {
		if err := p.WaitFirst(running); err != nil {
			return err
		}
	}
	if p.Feed == nil {
		return nil
	}
	parts.Go(func() { _ = p.Feed.Run(outlasting) }) // the error is the end of outlasting
	return p.Feed.Wait(running)
}

// unready returns why the process is not ready, "" if ready. A standby is ready as soon as the work could begin.
func (p *Process) unready() string {
	select {
	case <-p.started:
	default:
		// Probes have no credentials, so only the log names zones.
		return "data that the work needs is still being read; the log names zones that cannot be read"
	}
	if p.Unready == nil {
		return ""
	}
	return p.Unready()
}

// newHandler returns the handler of the health port: probes and metrics, without credentials.
func (p *Process) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/healthz"} { // the chart of external-dns probes /healthz
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	}
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := p.unready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(p.Registry, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}
