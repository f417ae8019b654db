// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	workers      = 4
	lastInterval = time.Second
)

type Controller struct {
	*shared
	config   Config
	synced   []cache.InformerSynced
	refusals *refusals
	classes  *classSync
	zones    *zoneSync
	metrics  *Metrics
}

// repeat calls do at each interval until ctx ends. The first call comes after one interval.
func repeat(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// New makes a controller and registers with the informers. The caller starts the informers, then calls Run.
func New(config Config) (*Controller, error) {
	api := config.Informers.Kubizone().V1alpha1()
	index := &objects.Index{Zones: api.Zones().Informer(), Deliveries: api.Deliveries().Informer(), Classes: api.DNSClasses().Informer(),
		Clusters: config.Clusters.Informer(), Namespaces: config.Namespaces}
	if err := index.Prepare(); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	queue, client := newQueue(), config.Client.KubizoneV1alpha1()
	with := &shared{
		index: index, queue: queue, stalls: &objects.Stalls{}, status: statusWriter{client,
			config.Client.Bind9V1alpha1()}, events: announcer{config.Events},
		store: &store{client: client, clusters: config.Client.Bind9V1alpha1(), findZone: index.ZoneByUID, findClass: index.ClassByName,
			lastSeen: map[delivery.Key]observed{}},
	}
	counted := NewMetrics(config.Registry)
	c := &Controller{
		shared: with, config: config, refusals: &refusals{last: map[delivery.Key]map[delivery.RRsetKey]*delivery.Error{}},
		metrics: counted,
		classes: &classSync{
			shared: with, providers: providers{config.Providers, config.Secrets}, listServers: config.Servers, metrics: counted,
			interval: config.HealthInterval, known: map[string]*knownClass{}, questions: newQuestions(), emptied: map[types.UID]time.Time{},
		},
	}
	c.zones = &zoneSync{shared: with, refusals: c.refusals, classes: c.classes, desired: map[cache.ObjectName]delivery.Zone{}}
	past := history{config.Client, index}
	c.loop = schedule.New(schedule.Config{
		Identity: config.Identity, Source: plan.Source{Views: config.Views, History: past.readChanges, ChangedAt: past.readTime,
			EndedRRsets: past.readEndedRRsets},
		Store: c.store, Observer: c, Metrics: c.metrics, Logger: slog.New(logr.ToSlogHandler(klog.Background())),
		Lease: config.Lease, CallTimeout: validation.MaxWebhookTimeout * time.Second, Backoff: config.Backoff,
		Traces: config.Traces,
	})
	return c, c.watchObjects()
}

func (c *Controller) InForce(zone *v1alpha1.Zone) []*v1alpha1.DNSClass {
	var classes []*v1alpha1.DNSClass
	force, _ := c.index.InForce(zone)
	for _, name := range force.Classes {
		if of := c.index.ClassByName(name); of != nil {
			classes = append(classes, of)
		}
	}
	return classes
}

func (c *Controller) watchObjects() error {
	synced, errZones := c.index.WatchZones(c.enqueueZone)
	deliveries, errDeliveries := objects.Watch(c.index.Deliveries, c.deliveryChanged)
	classes, errClasses := objects.Watch(c.index.Classes, c.classChanged)
	_, errClusters := objects.Watch(c.index.Clusters, c.clusterChanged)
	c.synced = append(synced, deliveries, classes)
	return errors.Join(errZones, errDeliveries, errClasses, errClusters)
}

// Run delivers zones until ctx ends, and returns after the last call to a provider. It first waits for the informers,
// except for that of Bind9Clusters, which a cluster without fleets may lack.
func (c *Controller) Run(ctx context.Context) error {
	defer c.metrics.followStatus(c.loop.Status)()
	var running sync.WaitGroup
	defer c.classes.checks.Wait()
	defer running.Wait()
	defer c.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return nil
	}
	// Reserve the zone names of stored Deliveries before the first attempt.
	for _, one := range c.index.AllDeliveries() {
		if c.index.ZoneByUID(string(one.Spec.Zone.UID)) != nil {
			c.zones.holdNames(one)
		}
	}
	// Pass classes before zones, or a zone would report a missing class.
	for _, of := range c.index.AllClasses() {
		if err := c.classes.syncClass(ctx, of.Name); err != nil {
			klog.FromContext(ctx).Error(err, "a class is not ready at the start; it is tried again", "class", of.Name)
			c.queue.AddRateLimited(task{kind: classTask, name: of.Name})
		}
	}
	// The queue gives a task to one worker at a time. A class task and a health task of the same class may run at once.
	for range workers {
		running.Go(func() {
			for c.workNext(ctx) {
			}
		})
	}
	running.Go(func() { repeat(ctx, secretInterval, c.classes.enqueueClasses) })
	running.Go(func() { // an absent cluster has no event
		if cache.WaitForCacheSync(ctx.Done(), c.index.Clusters.HasSynced) {
			c.index.EachZone(objects.NamesAnyCluster, c.enqueueZone)
		}
	})
	running.Go(func() {
		repeat(ctx, min(c.config.HealthInterval, time.Second), func() { c.classes.checkDue(ctx) })
	})
	running.Go(func() { repeat(ctx, lastInterval, func() { c.classes.askLast(ctx) }) })
	c.loop.Run(ctx)
	return nil
}

// workNext performs the next task, and reports whether the worker goes on. A failed task is retried.
func (c *Controller) workNext(ctx context.Context) bool {
	todo, end := c.queue.Get()
	if end {
		return false
	}
	defer c.queue.Done(todo)
	var err error
	switch todo.kind {
	case zoneTask:
		err = c.zones.syncZone(ctx, todo.namespace, todo.name)
	case classTask:
		err = c.classes.syncClass(ctx, todo.name)
	case healthTask:
		err = c.classes.syncHealth(ctx, todo.name)
	}
	if ctx.Err() != nil {
		return false
	}

	if err == nil {
		c.queue.Forget(todo)
		return true
	}
	log := klog.FromContext(ctx).WithValues("kind", todo.kind, "namespace", todo.namespace, "name", todo.name)
	// A missing Role is worth an error in the log. A namespace under deletion also answers Forbidden, which is normal.
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		log.Error(err, "The API refuses a write; it is retried")
	} else {
		log.V(2).Info("an object is retried", "err", err)
	}
	// The budget of the namespace is used up (429): wait as long as the server says.
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && apierrors.IsTooManyRequests(err) {
		c.queue.Forget(todo)
		c.queue.AddAfter(todo, time.Duration(seconds)*time.Second)
		return true
	}
	c.queue.AddRateLimited(todo)
	return true
}

func (c *Controller) Observe(event delivery.Event) {
	c.classes.takeEvent(event)
	refused := c.refusals.takeEvent(event)
	zone := c.index.ZoneByUID(event.Key.UID)
	if zone == nil {
		return
	}
	logRefusals(zone, event.Key.Class, refused)
	c.events.announceLeftovers(zone, event)
}

func (c *Controller) deliveryChanged(before, after *v1alpha1.Delivery) {
	one := cmp.Or(after, before)
	if after == nil {
		c.loop.Hold(objects.KeyOf(one), time.Time{}, "", name.Name{})
		c.queue.Add(task{kind: classTask, name: objects.KeyOf(one).Class}) // the class may wait for the Delivery to go
	}
	c.queue.Add(task{zoneTask, one.Namespace, one.Spec.Zone.Name})
}

func (c *Controller) classChanged(before, after *v1alpha1.DNSClass) {
	c.queue.Add(task{kind: classTask, name: cmp.Or(after, before).Name})
}

func (c *Controller) clusterChanged(before, after *bind9.Bind9Cluster) {
	at := cmp.Or(after, before)
	if name := class.OfCluster(at).Name; class.InUse(at) || c.index.NamesClass(name) {
		c.queue.Add(task{kind: classTask, name: name})
	}
}

func (c *Controller) enqueueZone(zone *v1alpha1.Zone) {
	c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
}
