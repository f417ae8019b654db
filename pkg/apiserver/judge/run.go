// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/samples"
)

const (
	workers = 4
	// Limits of writes a second to unchanged Records: revokeRate if a Ready=True is wrong, otherwise otherRate. At 1 to
	// 2 KB a write both are within a namespace's budget.
	revokeRate = 1000
	otherRate  = 500
	burst      = 1000
	// zoneRate bounds the Zones a second that get another condition than the confirmation of their last change.
	zoneRate       = 300
	frozenInterval = time.Second
	loudAfter      = 5 // failures of a zone until the error is logged
	retryInterval  = time.Second
)

func New(config Config) *Judge {
	return &Judge{config: config, Metrics: NewMetrics(config.Registry)}
}

func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	m := &Metrics{
		tally: newTally(),
		unconfirmed: metrics.NewGauge(&metrics.GaugeOpts{Name: "kubizone_records_unconfirmed", StabilityLevel: metrics.BETA,
			Help: "Records in zones that are not Ready; 0 at all servers but one."}),
		confirmed: metrics.NewCounter(&metrics.CounterOpts{Name: "kubizone_records_confirmed_total", StabilityLevel: metrics.BETA,
			Help: "Records whose Ready this server has written after a change of a delivery or a class."}),
	}
	registry.MustRegister(m.unconfirmed, m.confirmed)
	samples.Register(registry, m.sendLags, oldestMetric, behindMetric)
	samples.Register(registry, m.tally.sendSamples, unreadyMetric, unadoptedMetric, unadoptedInMetric, unconfirmedInMetric, withdrawnMetric)
	return m
}

// Run writes Ready while elected, until ctx ends.
func (c *Judge) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.config.Ledger.RunElected(ctx, c.runElected); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "This server stops judging zones; it or another server continues")
		}
		// The next leader counts. Two servers with samples would double the sum over all servers.
		c.unconfirmed.Set(0)
		c.tally.reset()
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
	return nil
}

// runElected judges until ctx, the election, ends. All state is new at each election, since another server may have
// written meanwhile.
func (c *Judge) runElected(ctx context.Context) {
	l := &leader{Judge: c, index: c.config.NewIndex(), frozen: &FrozenZones{List: c.config.Frozen},
		revokeLimit: rate.NewLimiter(revokeRate, burst), otherLimit: rate.NewLimiter(otherRate, burst), tracker: newTracker(),
		causes: newCauseLimit(), zoneLimit: rate.NewLimiter(zoneRate, burst),
		changes: changes{added: make(chan struct{}, 1)},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond,
			time.Minute))}
	defer l.index.Close()
	if err := l.run(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "This server does not judge zones; it is tried again")
	}
}

// run fills the caches, starts the workers, and follows the Records until ctx ends. On return, every goroutine has
// ended.
func (l *leader) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer l.queue.ShutDown()
	defer cancel()
	// 1. Fill the caches. Events queue zones.
	if err := l.index.Prepare(); err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	// The death or return of a controller changes the cause of every waiting zone.
	if l.config.Leases != nil {
		leases := l.config.Leases(func() {
			l.index.EachZone(func(*v1alpha1.Zone) bool { return true }, func(zone *v1alpha1.Zone) { l.queue.Add(string(zone.UID)) })
		})
		l.lives = func() Processes {
			return Processes{Controller: leases.LifeOf(heartbeat.Controller), Primary: leases.LifeOf(heartbeat.Primary)}
		}
		running.Go(func() { leases.Run(ctx) })
	}

	synced, err := l.index.WatchZones(func(zone *v1alpha1.Zone) { l.queue.Add(string(zone.UID)) })
	// A worker's report of progress arrives here: the Delivery names its zone.
	deliveries, failed := objects.Watch(l.index.Deliveries, func(before, after *v1alpha1.Delivery) {
		l.announceDelivery(before, after)
		l.queue.Add(string(cmp.Or(after, before).Spec.Zone.UID))
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}

	for _, informer := range []cache.SharedIndexInformer{l.index.Zones, l.index.Deliveries, l.index.Classes, l.index.Clusters} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	// Without all caches a zone would seem to have no class, and be Ready with NoClass.
	if !cache.WaitForCacheSync(ctx.Done(), append(synced, deliveries, l.index.Clusters.HasSynced)...) {
		return nil
	}

	// 2. Judge the queued zones.
	l.frozen.FindChanges()
	running.Go(func() { l.followFrozen(ctx) })
	l.resetTracker()
	// From here on, scrapes of /metrics have samples of this leader.
	l.leader.Store(l)
	defer l.leader.Store(nil)

	for range workers {
		running.Go(func() {
			for l.workNext(ctx) {
			}
		})
	}
	running.Go(func() { l.takeChanges(ctx) })
	if l.config.WhileElected != nil {
		running.Go(func() { l.config.WhileElected(ctx) })
	}

	// 3. Follow the Records.
	for since := ""; ctx.Err() == nil; {
		var err error
		if since, err = l.followRecords(ctx, since); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Info("The watch of Records begins again", "since", since, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
	return nil
}

// followFrozen queues the zones found damaged, or repaired, by the ledger, each frozenInterval, until ctx ends.
func (l *leader) followFrozen(ctx context.Context) {
	tick := time.NewTicker(frozenInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, at := range l.frozen.FindChanges() {
			if zone := l.index.ZoneByName(at.Namespace, at.Name); zone != nil {
				l.queue.Add(string(zone.UID))
			}
		}
	}
}

// workNext processes the next zone of the queue, and returns false when the queue or ctx has ended. The queue never
// gives a zone to two workers at once.
func (l *leader) workNext(ctx context.Context) bool {
	uid, end := l.queue.Get()
	if end {
		return false
	}
	defer l.queue.Done(uid)
	err := l.processZone(ctx, uid)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		// A short outage of etcd fails every zone once, so only the fifth failure in a row is logged as an error.
		if log := klog.FromContext(ctx); l.queue.NumRequeues(uid) == loudAfter {
			log.Error(err, "The conditions of a zone or of its Records are not written; it is tried again", "uid", uid)
		} else {
			log.V(2).Info("The conditions of a zone or of its Records are not written; it is tried again", "uid", uid, "err", err)
		}
		l.queue.AddRateLimited(uid)
		return true
	}
	l.queue.Forget(uid)
	return true
}
