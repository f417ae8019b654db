// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	informers "kubi.zone/kubizone/pkg/generated/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zoneview"
)

const (
	// parallel is well below the half of its seats that the server gives to one user.
	parallel = 8
	// firstPause doubles with each failure of a zone, up to longestPause, and each is drawn up to half longer.
	firstPause   = 200 * time.Millisecond
	longestPause = time.Minute
	// trying is the failures of a zone in a row before the log hears of it: a server that restarts is no news.
	trying = 3
)

// Config says where zones come from and go to. Client, Zones and Set are required.
type Config struct {
	// Client reaches kubi.zone/v1alpha1. It should not be limited in queries per second: Parallel is the limit.
	Client rest.Interface
	// Zones tells of Zones. Whoever has it starts it; a feed looks at names, labels and status alone, so a transform
	// may drop the rest.
	Zones informers.ZoneInformer
	// Set is written by the feed alone.
	Set *zoneview.Set
	// Interest says whether a zone belongs in the Set. It sees what the transform of Zones leaves. Nil: every zone.
	Interest func(*v1alpha1.Zone) bool
	// Parallel is how many zones are read at once. 0: 8.
	Parallel int
}

// Feed writes one Set.
type Feed struct {
	Config
	registration cache.ResourceEventHandlerRegistration
	queue        workqueue.TypedRateLimitingInterface[cache.ObjectName]
	failed       *metrics.CounterVec
	stuck        *metrics.Gauge

	mutex sync.Mutex
	// uids are the zones in the Set by their objects.
	uids map[cache.ObjectName]string
	// missing are the zones of the first listing that are not in yet, with the last error; nil once all are.
	missing map[cache.ObjectName]error
	// frozen are the zones that cannot be proven, though they were read anew: those of the Set stay as they were proven
	// last, and nobody waits for them.
	frozen map[cache.ObjectName]bool
	listed bool
	synced chan struct{}
}

// New makes a feed that hears of Zones from now on. The error is that of an informer that has ended.
func New(config Config) (*Feed, error) {
	if config.Parallel == 0 {
		config.Parallel = parallel
	}
	if config.Interest == nil {
		config.Interest = func(*v1alpha1.Zone) bool { return true }
	}
	f := &Feed{
		Config:  config,
		uids:    make(map[cache.ObjectName]string),
		missing: make(map[cache.ObjectName]error),
		frozen:  make(map[cache.ObjectName]bool),
		synced:  make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueue[cache.ObjectName](jittered{
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstPause, longestPause),
		}),
		failed: metrics.NewCounterVec(&metrics.CounterOpts{Namespace: "kubizone", Subsystem: "feed", Name: "restarts_total",
			Help:           "Zones read anew because a view was not what the server said (reason misfit), or the server no longer held its serial (reason trimmed).",
			StabilityLevel: metrics.BETA}, []string{"reason"}),
		stuck: metrics.NewGauge(&metrics.GaugeOpts{Namespace: "kubizone", Subsystem: "view", Name: "frozen_zones",
			Help:           "Zones that cannot be proven at this moment, and are served as they were proven last or not at all.",
			StabilityLevel: metrics.BETA}),
	}
	registration, err := config.Zones.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, first bool) { f.heard(object, first) },
		UpdateFunc: func(_, object any) { f.heard(object, false) },
		DeleteFunc: func(object any) { f.heard(object, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	f.registration = registration
	return f, nil
}

// jittered keeps the zones that failed together from coming back together.
type jittered struct {
	workqueue.TypedRateLimiter[cache.ObjectName]
}

func (j jittered) When(zone cache.ObjectName) time.Duration {
	return wait.Jitter(j.TypedRateLimiter.When(zone), 0.5)
}

// Metrics are to be registered by whoever serves them, before Run.
func (f *Feed) Metrics() []metrics.Registerable { return []metrics.Registerable{f.failed, f.stuck} }

// Look has a zone looked at again: what Interest says of it has changed.
func (f *Feed) Look(zone cache.ObjectName) { f.queue.Add(zone) }

// heard queues a zone. Events that come while it is being read become one.
func (f *Feed) heard(object any, first bool) {
	zone, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		klog.Background().Error(err, "an event of no Zone")
		return
	}
	if first {
		f.mutex.Lock()
		if f.missing != nil {
			f.missing[zone] = errors.New("not read yet")
		}
		f.mutex.Unlock()
	}
	f.queue.Add(zone)
}

// Run follows until ctx ends. It is called once.
func (f *Feed) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer f.queue.ShutDown()
	for range f.Parallel {
		workers.Go(func() {
			for f.next(ctx) {
			}
		})
	}
	if cache.WaitForCacheSync(ctx.Done(), f.registration.HasSynced) {
		f.mutex.Lock()
		f.listed = true
		f.look()
		f.mutex.Unlock()
	}
	<-ctx.Done()
	return nil
}

// next brings one zone up to date; false at the end.
func (f *Feed) next(ctx context.Context) bool {
	zone, end := f.queue.Get()
	if end {
		return false
	}
	defer f.queue.Done(zone)
	err := f.bring(ctx, zone)
	if ctx.Err() != nil {
		return false
	}
	failures := f.queue.NumRequeues(zone) + 1
	frozen := unproven(err) && failures >= trying
	f.mutex.Lock()
	if was := f.frozen[zone]; frozen && !was {
		f.frozen[zone] = true
		klog.FromContext(ctx).Error(err, "a zone is frozen: it cannot be proven. It is served as it was proven last, or not at all, and read again", "zone", zone.String())
	} else if was && err == nil {
		delete(f.frozen, zone)
		klog.FromContext(ctx).Info("a frozen zone is proven again, or gone", "zone", zone.String())
	}
	f.stuck.Set(float64(len(f.frozen)))
	if _, first := f.missing[zone]; first && err != nil && !frozen {
		f.missing[zone] = err
	} else if first {
		delete(f.missing, zone)
		f.look()
	}
	f.mutex.Unlock()
	if err == nil {
		f.queue.Forget(zone)
		return true
	}
	if failures >= trying && !frozen {
		klog.FromContext(ctx).Error(err, "a zone cannot be read; what is there stays", "zone", zone.String(), "times", failures)
	}
	f.queue.AddRateLimited(zone)
	return true
}

// unproven is an error that stays when the zone is read anew: the server says so, or its answer does not prove.
func unproven(err error) bool {
	return errors.Is(err, zoneview.ErrMisfit) || apierrors.IsStoreReadError(err)
}

// Frozen are the zones that cannot be proven, though they were read anew several times.
func (f *Feed) Frozen() []cache.ObjectName {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return slices.Collect(maps.Keys(f.frozen))
}

// look finds out whether the first listing is in. The mutex is held.
func (f *Feed) look() {
	if f.listed && f.missing != nil && len(f.missing) == 0 {
		f.missing = nil
		close(f.synced)
	}
}

// WaitForSync returns when every zone of the first listing is in the Set, or is none to be in it; else with the cause
// of ctx.
func (f *Feed) WaitForSync(ctx context.Context) error {
	select {
	case <-f.synced:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Check says what is missing until the feed is in sync, for who waits.
func (f *Feed) Check() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case f.missing == nil:
		return nil
	case !f.listed:
		return errors.New("the Zones are not listed yet; the log says why if that lasts")
	}
	for zone, err := range f.missing {
		return fmt.Errorf("%d zones are not in yet, one of them %s: %w", len(f.missing), zone, err)
	}
	return nil
}
