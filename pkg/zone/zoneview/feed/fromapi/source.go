// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	informers "kubi.zone/kubizone/api/client/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed"
)

const (
	// parallel limits concurrent reads, well below half a user's seats of API priority and fairness.
	parallel = 8
	// firstPause is the delay before the first retry of a zone. The delay doubles up to longestPause, plus up to 50 %
	// at random.
	firstPause   = 200 * time.Millisecond
	longestPause = time.Minute
	// quietFailures is the number of failures in a row, more than a restart causes, until a zone's failures are
	// logged and a failed proof freezes the zone.
	quietFailures = 3
)

// Config configures a Source. Client, Zones and Set are required.
type Config struct {
	// Client is a client for kubi.zone/v1alpha1, without a limit of queries per second.
	Client rest.Interface
	// Zones is the informer, started by the caller. A transform may drop all fields but names, labels and status.
	Zones informers.ZoneInformer
	// Set gets the content of zones.
	Set *zoneview.Set
	// Interest reports whether a zone, after the transform, belongs in the Set. If nil, every zone does.
	Interest func(*v1alpha1.Zone) bool
	// Traced requests the W3C traceparents of changes. This requires the right to list Records.
	Traced bool
	// Registry exports the metrics, unless nil.
	Registry metrics.KubeRegistry
}

// Source keeps a Set up to date with the API. The keys of zones are "namespace/name".
type Source struct {
	Config
	*feed.Feed
	registration cache.ResourceEventHandlerRegistration
	queue        workqueue.TypedRateLimitingInterface[cache.ObjectName] // zones to read
	metrics      *Metrics
	traced       atomic.Bool // false once the server forbids traceparents
	// catchUpInterval is short, because the server keeps a busy zone's changes only for seconds.
	catchUpInterval time.Duration
}

// New returns a Source that handles events of Zones. It returns an error if the informer has stopped.
func New(config Config) (*Source, error) {
	if config.Registry == nil {
		config.Registry = metrics.NewKubeRegistry()
	}
	if config.Interest == nil {
		config.Interest = func(*v1alpha1.Zone) bool { return true }
	}
	s := &Source{
		Config: config,
		Feed:   feed.New(config.Set, parallel),
		// A failing zone is retried ever less often, and with jitter, so that many zones do not ask at the same moment.
		queue: workqueue.NewTypedRateLimitingQueue[cache.ObjectName](jittered{
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstPause, longestPause),
		}),
		metrics:         NewMetrics(config.Registry),
		catchUpInterval: time.Second,
	}

	s.traced.Store(config.Traced)

	registration, err := config.Zones.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, first bool) { s.enqueue(object, first) },
		UpdateFunc: func(_, object any) { s.enqueue(object, false) },
		DeleteFunc: func(object any) { s.enqueue(object, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}

	s.registration = registration
	return s, nil
}

type jittered struct {
	workqueue.TypedRateLimiter[cache.ObjectName]
}

func (j jittered) When(zone cache.ObjectName) time.Duration {
	return wait.Jitter(j.TypedRateLimiter.When(zone), 0.5)
}

func (s *Source) Recheck(zone cache.ObjectName) { s.queue.Add(zone) }

func (s *Source) enqueue(object any, first bool) {
	zone, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		klog.Background().Error(err, "an event of no Zone")
		return
	}
	// Until its first read, the zone keeps the feed out of sync.
	if first {
		s.Expect(zone.String())
	}
	s.queue.Add(zone)
}

// Run reads zones and their changes until ctx ends. It must be called only once.
func (s *Source) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer s.queue.ShutDown()
	for range parallel {
		workers.Go(func() {
			for s.updateNext(ctx) {
			}
		})
	}
	if cache.WaitForCacheSync(ctx.Done(), s.registration.HasSynced) {
		s.EndListing(ctx, nil)
	}
	<-ctx.Done()
	return nil
}

// updateNext reads a zone from the queue and reports the result to the feed. It returns false when the queue or ctx
// ends.
func (s *Source) updateNext(ctx context.Context) bool {
	zone, end := s.queue.Get()
	if end {
		return false
	}
	defer s.queue.Done(zone)

	err := s.updateZone(ctx, zone)
	if ctx.Err() != nil {
		return false
	}

	key, failures := zone.String(), s.queue.NumRequeues(zone)+1
	// A restore or a restart of the server explains a few failures. After that, the content itself is wrong.
	unprovable := failures >= quietFailures && (errors.Is(err, zoneview.ErrMisfit) || apierrors.IsStoreReadError(err))
	s.Report(ctx, key, err, unprovable)
	s.metrics.countFrozen(s.Feed)

	if err == nil {
		s.queue.Forget(zone)
		return true
	}

	if failures >= quietFailures && !unprovable {
		klog.FromContext(ctx).Error(err, "a zone cannot be read; its present content is served", "zone", key, "times", failures)
	}
	s.queue.AddRateLimited(zone)
	return true
}
