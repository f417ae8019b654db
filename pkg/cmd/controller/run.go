// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coreinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/cmd/delivering"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/pkg/generated/informers/externalversions"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/pkg/zoneview/feed"
)

// probeTime bounds reading a request of a prober.
const probeTime = 10 * time.Second

// errLost ends a process that is not the one that works any more: what another writes is not known to its caches.
var errLost = errors.New("the Lease is another's, or could not be renewed in time")

// process is one run.
type process struct {
	*Config
	identity   string
	cluster    kubernetes.Interface
	feed       *feed.Feed
	controller *class.Controller
	ours       externalversions.SharedInformerFactory
	theirs     coreinformers.SharedInformerFactory
	recorder   events.EventBroadcaster
	// figures are those of this run alone.
	figures metrics.KubeRegistry
}

// Run works, or waits for its turn, until ctx ends, and returns nil then; an error is what ended it before.
func (c *Config) Run(ctx context.Context) error {
	health, err := net.Listen("tcp", c.HealthListen.String())
	if err != nil {
		return fmt.Errorf("--health-listen %s: %w; choose another port", c.HealthListen, err)
	}
	defer health.Close()
	p, err := c.assemble()
	if err != nil {
		return err
	}
	return p.run(ctx, health)
}

func (c *Config) assemble() (*process, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	p := &process{Config: c, identity: host + "_" + string(uuid.NewUUID()), figures: metrics.NewKubeRegistry()}
	reach := rest.CopyConfig(c.Client)
	reach.UserAgent = class.FieldManager
	// How much is too much a second is the server's to say.
	reach.QPS = -1
	client, err := versioned.NewForConfig(reach)
	if err != nil {
		return nil, err
	}
	reach.ContentType = "application/vnd.kubernetes.protobuf"
	if p.cluster, err = kubernetes.NewForConfig(reach); err != nil {
		return nil, err
	}
	p.ours = externalversions.NewSharedInformerFactory(client, 0)
	p.theirs = coreinformers.NewSharedInformerFactoryWithOptions(p.cluster, 0, coreinformers.WithTransform(trimNamespace))
	p.recorder = events.NewBroadcaster(&events.EventSinkImpl{Interface: p.cluster.EventsV1()})
	set, measured := zoneview.NewSet(zoneview.Config{}), class.NewMetrics()
	p.controller, err = class.New(class.Config{
		Identity: p.identity, Client: client, Informers: p.ours, Views: set, Providers: delivering.Providers,
		Secrets: delivering.ClusterSecrets{Client: p.cluster.CoreV1()}, Namespaces: p.theirs.Core().V1().Namespaces(),
		Events: p.recorder.NewRecorder(scheme.Scheme, class.FieldManager), Metrics: measured, Logger: slog.New(logr.ToSlogHandler(klog.Background())),
		Lease: c.LeaseDuration, HealthInterval: c.HealthCheckInterval, Backoff: c.Backoff(),
	})
	if err != nil {
		return nil, err
	}
	p.feed, err = feed.New(feed.Config{Client: client.KubizoneV1alpha1().RESTClient(), Zones: p.ours.Kubizone().V1alpha1().Zones(), Set: set})
	if err != nil {
		return nil, err
	}
	p.figures.MustRegister(append(p.feed.Metrics(), measured.Registerables()...)...)
	p.figures.RawMustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p, nil
}

// trimNamespace leaves what classes look at.
func trimNamespace(object any) (any, error) {
	if namespace, ok := object.(*corev1.Namespace); ok {
		namespace.ManagedFields, namespace.Annotations = nil, nil
	}
	return object, nil
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

	// What is under way when ctx ends is written down: that needs zones, Lease and Events for a moment longer.
	outlasting, end := context.WithCancel(context.WithoutCancel(ctx))
	p.ours.StartWithContext(outlasting)
	p.theirs.StartWithContext(outlasting)
	defer p.ours.Shutdown()
	defer p.theirs.Shutdown()
	defer end()
	if err := p.recorder.StartRecordingToSinkWithContext(outlasting); err != nil {
		return err
	}
	defer p.recorder.Shutdown()
	parts.Go(func() { _ = p.feed.Run(outlasting) }) // ends with outlasting, and no other way

	p.say("health on %s, reading zones", health.Addr())
	if err := p.feed.WaitForSync(running); err != nil {
		return p.ended(ctx, err)
	}
	p.say("ready: waiting for Lease %s as %s", p.Lease, p.identity)
	return p.ended(ctx, p.lead(running, outlasting))
}

// lead waits for the Lease and works while it has it. The Lease is let go of when the work has ended, not when it is told
// to: until then another would find calls of ours on their way.
func (p *process) lead(running, outlasting context.Context) error {
	electing, release := context.WithCancel(outlasting)
	defer release()
	stopped := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: p.Lease.Namespace, Name: p.Lease.Name}, Client: p.cluster.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: p.identity},
		},
		LeaseDuration: p.LeaseDuration, RenewDeadline: p.LeaseDuration * 2 / 3, RetryPeriod: p.LeaseDuration / 5, ReleaseOnCancel: true, Name: class.FieldManager,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				p.say("leading")
				working, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(running, stop)()
				err := p.controller.Run(working)
				stopped <- err
				release()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s: %w", p.Lease, err)
	}
	waiting := context.AfterFunc(running, func() {
		if !elector.IsLeader() {
			release()
		}
	})
	defer waiting()
	led := make(chan struct{})
	go func() {
		defer close(led)
		elector.Run(electing)
	}()
	<-led
	if running.Err() != nil {
		return context.Cause(running)
	}
	select {
	case err := <-stopped:
		if err != nil {
			return err
		}
	case <-time.After(p.LeaseDuration):
		klog.Background().Error(errLost, "something of the work does not end; the process ends with it")
	}
	return errLost
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
		if p.feed.Check() != nil {
			// Names of zones are not for everybody who reaches the port.
			http.Error(w, "zones are still being read; the log names those that cannot be", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(p.figures, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError}))
	return mux
}

func (c *Config) say(format string, arguments ...any) {
	// A closed terminal must not stop a server.
	_, _ = fmt.Fprintf(c.Out, format+"\n", arguments...)
}
