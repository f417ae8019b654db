// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/pkg/generated/informers/externalversions"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/pkg/zoneview/feed"
)

// probeTime bounds reading a request of a prober.
const probeTime = 10 * time.Second

// process is one run.
type process struct {
	*Config
	dns   *primary.Primary
	feed  *feed.Feed
	zones externalversions.SharedInformerFactory
	// figures are those of this run alone.
	figures metrics.KubeRegistry
	// serving is true while questions are answered.
	serving atomic.Bool
}

// Run serves until ctx ends and returns nil then; an error is what ended it before.
func (c *Config) Run(ctx context.Context) error {
	for _, warning := range c.Warnings {
		c.say("warning: %s", warning)
	}
	p := &process{Config: c, figures: metrics.NewKubeRegistry()}
	set := zoneview.NewSet(zoneview.Config{})
	var err error
	if p.dns, err = c.Primary(set); err != nil {
		return err
	}
	defer p.dns.Close()
	health, err := net.Listen("tcp", c.HealthListen.String())
	if err != nil {
		return fmt.Errorf("--health-listen %s: %w; choose another port", c.HealthListen, err)
	}
	defer health.Close()

	// The feed bounds what it asks at once; how much that is a second is the server's to say.
	c.Client.QPS = -1
	c.Client.UserAgent = "kubizone-primary"
	client, err := versioned.NewForConfig(c.Client)
	if err != nil {
		return err
	}
	p.zones = externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithTransform(feed.Trim))
	p.feed, err = feed.New(feed.Config{
		Client: client.KubizoneV1alpha1().RESTClient(), Zones: p.zones.Kubizone().V1alpha1().Zones(), Set: set,
		Interest: func(zone *v1alpha1.Zone) bool { return slices.Contains(c.DNSViews, zone.Status.View) },
	})
	if err != nil {
		return err
	}
	p.figures.MustRegister(p.feed.Metrics()...)
	p.figures.RawMustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p.run(ctx, health)
}

// run starts what is needed in its order and stops it in the reverse one.
func (p *process) run(ctx context.Context, health net.Listener) error {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var parts sync.WaitGroup
	defer parts.Wait()

	prober := &http.Server{Handler: p.handler(), ReadTimeout: probeTime, WriteTimeout: probeTime}
	parts.Go(func() {
		if err := prober.Serve(health); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("--health-listen %s: %w", p.HealthListen, err))
		}
	})
	defer prober.Close()

	// Zones outlive DNS, which outlives ctx for as long as transfers may take to end.
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	p.zones.StartWithContext(reading)
	defer p.zones.Shutdown()
	defer stopReading()
	parts.Go(func() { _ = p.feed.Run(reading) }) // ends with reading, and no other way

	p.say("health on %s, reading zones", health.Addr())
	if err := p.feed.WaitForSync(running); err != nil {
		return p.ended(ctx, err)
	}
	p.serving.Store(true)
	stopped := context.AfterFunc(running, func() { p.serving.Store(false) })
	defer stopped()
	p.say("ready: DNS on %s", p.dns.Addrs()[0])
	err := p.dns.Run(running)
	if err == nil {
		err = context.Cause(running)
	}
	return p.ended(ctx, err)
}

// ended is nil where ctx is why.
func (p *process) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case p.feed.Check() != nil:
			// Names of zones are not for everybody who reaches the port.
			http.Error(w, "zones are still being read; the log names those that cannot be", http.StatusServiceUnavailable)
		case !p.serving.Load():
			http.Error(w, "not serving", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "ok")
		}
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(p.figures, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}

func (c *Config) say(format string, arguments ...any) {
	// A closed terminal must not stop a server.
	_, _ = fmt.Fprintf(c.Out, format+"\n", arguments...)
}
