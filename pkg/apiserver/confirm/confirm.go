// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

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
	"kubi.zone/kubizone/pkg/heartbeat"
	"kubi.zone/kubizone/pkg/ready"
	"kubi.zone/kubizone/pkg/samples"
)

const (
	workers = 4
	// Limits of writes a second to unchanged Records: revokeRate if a Ready=True is wrong, otherwise otherRate. At 1 to
	// 2 KB a write both are within a namespace's budget.
	revokeRate = 1000
	otherRate  = 500
	burst      = 1000
	// zoneRate bounds the Zones a second whose cause of Pending is written.
	zoneRate, zoneBurst = 10, 20
	frozenInterval      = time.Second
	loudAfter           = 5 // failures of a zone until the error is logged
	retryInterval       = time.Second
)

func New(config Config) *Confirmer {
	c := &Confirmer{config: config, Metrics: NewMetrics(config.Registry)}
	if config.Leases != nil {
		c.lags = NewLagMetrics(config.Registry)
	}
	return c
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
	samples.Register(registry, m.tally.sendSamples, unreadyMetric, unadoptedMetric, unadoptedInMetric, unconfirmedInMetric, withdrawnMetric)
	return m
}

// Run writes Ready while elected, until ctx ends.
func (c *Confirmer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.config.Ledger.RunElected(ctx, c.runElected); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "This server stops confirming Records; it or another server continues")
		}
		c.unconfirmed.Set(0)
		c.tally.reset()
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
	return nil
}

func (c *Confirmer) runElected(ctx context.Context) {
	l := &leader{Confirmer: c, index: c.config.NewIndex(), frozen: &ready.FrozenZones{List: c.config.Frozen},
		revokeLimit: rate.NewLimiter(revokeRate, burst), otherLimit: rate.NewLimiter(otherRate, burst), tracker: newTracker(),
		causes: newCauseLimit(), zoneLimit: rate.NewLimiter(zoneRate, zoneBurst),
		changes: changes{added: make(chan struct{}, 1)},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond,
			time.Minute))}
	defer l.index.Close()
	if err := l.run(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Records are not confirmed by this server; it is tried again")
	}
}

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
	if l.config.Leases != nil {
		leases := l.config.Leases(func() {
			l.index.EachZone(func(*v1alpha1.Zone) bool { return true }, func(zone *v1alpha1.Zone) { l.queue.Add(string(zone.UID)) })
		})
		l.index.Processes = func() ready.Processes {
			return ready.Processes{Controller: leases.LifeOf(heartbeat.Controller), Primary: leases.LifeOf(heartbeat.Primary)}
		}
		running.Go(func() { leases.Run(ctx) })
		l.lags.index.Store(l.index)
		defer l.lags.index.Store(nil)
	}

	synced, err := l.index.WatchZones(func(zone *v1alpha1.Zone) { l.queue.Add(string(zone.UID)) })
	deliveries, failed := ready.Watch(l.index.Deliveries, func(before, after *v1alpha1.Delivery) {
		l.queue.Add(string(cmp.Or(after, before).Spec.Zone.UID))
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}

	for _, informer := range []cache.SharedIndexInformer{l.index.Zones, l.index.Deliveries, l.index.Classes, l.index.Clusters} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), append(synced, deliveries, l.index.Clusters.HasSynced)...) {
		return nil
	}

	// 2. Judge the queued zones.
	l.frozen.FindChanges()
	running.Go(func() { l.followFrozen(ctx) })
	l.resetTracker()

	for range workers {
		running.Go(func() {
			for l.workNext(ctx) {
			}
		})
	}
	running.Go(func() { l.takeChanges(ctx) })

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
		if log := klog.FromContext(ctx); l.queue.NumRequeues(uid) == loudAfter {
			log.Error(err, "The Records of a zone are not confirmed; it is tried again", "uid", uid)
		} else {
			log.V(2).Info("The Records of a zone are not confirmed; it is tried again", "uid", uid, "err", err)
		}
		l.queue.AddRateLimited(uid)
		return true
	}
	l.queue.Forget(uid)
	return true
}
