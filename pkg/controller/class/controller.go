// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/delivery/schedule"
)

const (
	// workers is how many objects of the queue are worked on at a time. How many zones are delivered at a time is the
	// Loop's.
	workers = 4
	// frozenInterval is the time between two checks which zones are frozen.
	frozenInterval = time.Second
	// lastInterval is the time between two questions to a server for the zone that it confirmed last.
	lastInterval = time.Second
)

// Controller delivers. It runs once.
type Controller struct {
	*shared
	config  Config
	synced  []cache.InformerSynced
	reports *reports
	frozen  *frozenZones
	classes *classSync
	records *recordSync
	zones   *zoneSync
	metrics *Metrics
}

// shared are the parts that classSync, recordSync and zoneSync work with.
type shared struct {
	index  *index
	queue  queue
	stalls *stalls
	status statusWriter
	events announcer
	store  *store
	loop   *schedule.Loop
}

// task is one object to work on.
type task struct{ kind, namespace, name string }

const (
	zoneTask   = "zone"
	recordTask = "record"
	classTask  = "class"
	healthTask = "health"
)

type queue = workqueue.TypedRateLimitingInterface[task]

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, time.Minute))
}

// repeat calls do after each interval until ctx ends.
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

// New registers with the informers and does nothing before Run.
func New(config Config) (*Controller, error) {
	if config.Events == nil {
		config.Events = logged{}
	}
	index, err := newIndex(&config)
	if err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	queue, client := newQueue(), config.Client.KubizoneV1alpha1()
	with := &shared{
		index: index, queue: queue, stalls: &stalls{queue: queue, stood: map[types.UID]stood{}}, status: statusWriter{client,
			config.Client.Bind9V1alpha1()}, events: announcer{config.Events},
		store: &store{client: client, clusters: config.Client.Bind9V1alpha1(), zone: index.zoneByUID, class: index.classByName,
			seen: map[delivery.Key]seen{}},
	}
	counted := NewMetrics(config.Registry)
	c := &Controller{
		shared: with, config: config, reports: &reports{all: map[delivery.Key]report{}}, frozen: &frozenZones{find: config.Frozen},
		metrics: counted,
		classes: &classSync{
			shared: with, providers: providers{config.Providers, config.Secrets}, listServers: config.Servers, metrics: counted,
			interval: config.HealthInterval, known: map[string]*knownClass{}, questions: newQuestions(), emptied: map[types.UID]time.Time{},
		},
		records: &recordSync{
			shared: with, mass: rate.NewLimiter(massRate, massBurst), wrong: rate.NewLimiter(wrongRate, massBurst),
			standings: map[string]*standing{}, untold: map[string]bool{}, written: map[types.UID]written{},
		},
	}
	c.zones = &zoneSync{
		shared: with, reports: c.reports, frozen: c.frozen, classes: c.classes, records: c.records,
		memory: map[cache.ObjectName]*zoneMemory{},
	}
	past := history{config.Client, index}
	c.loop = schedule.New(schedule.Config{
		Identity: config.Identity, Source: plan.Source{Views: config.Views, History: past.readChanges, Left: past.readLeft},
		Store: c.store, Observer: c, Metrics: c.metrics, Logger: slog.New(logr.ToSlogHandler(klog.Background())),
		Lease: config.Lease, CallTimeout: validation.MaxWebhookTimeout * time.Second, Backoff: config.Backoff,
	})
	return c, c.watchObjects()
}

// InForce returns those of the classes in force for a zone that are there.
func (c *Controller) InForce(zone *v1alpha1.Zone) []*v1alpha1.DNSClass {
	var classes []*v1alpha1.DNSClass
	force, _ := c.zones.findInForce(zone)
	for _, name := range force.classes {
		if of := c.index.classByName(name); of != nil {
			classes = append(classes, of)
		}
	}
	return classes
}

// watchObjects has the queue follow the informers.
func (c *Controller) watchObjects() error {
	err := errors.Join(watchInformer(c, c.index.zones, c.zoneChanged), watchInformer(c, c.index.records, c.recordChanged),
		watchInformer(c, c.index.deliveries, c.deliveryChanged), watchInformer(c, c.index.classes, c.classChanged))
	synced := c.synced
	err = errors.Join(err, watchInformer(c, c.index.clusters, c.clusterChanged))
	c.synced = synced // Without their APIService zones of other classes are delivered all the same.
	if c.config.Namespaces != nil {
		err = errors.Join(err, watchInformer(c, c.config.Namespaces.Informer(), c.namespaceChanged))
	}
	return err
}

// watchInformer has changed called for each change in an informer: before is nil for an object that comes, after for
// one that goes.
func watchInformer[T any](c *Controller, in cache.SharedIndexInformer, changed func(before, after *T)) error {
	registration, err := in.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object.(*T)) },
		UpdateFunc: func(before, after any) { changed(before.(*T), after.(*T)) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if last, ok := object.(*T); ok {
				changed(last, nil)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	c.synced = append(c.synced, registration.HasSynced)
	return nil
}

// Run delivers until ctx ends, and returns when nothing of it is under way.
func (c *Controller) Run(ctx context.Context) error {
	defer c.metrics.followStatus(c.loop.Status)()
	var running sync.WaitGroup
	defer c.classes.checks.Wait()
	defer running.Wait()
	defer c.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return nil
	}
	c.frozen.findChanges()
	// A delivery has its names before an attempt begins.
	for _, one := range list[*v1alpha1.Delivery](c.index.deliveries) {
		if c.index.zoneByUID(string(one.Spec.Zone.UID)) != nil {
			c.zones.holdNames(one)
		}
	}
	// Classes come first: a zone must not be told that its class is missing because that comes later.
	for _, of := range c.index.allClasses() {
		if err := c.classes.syncClass(ctx, of.Name); err != nil {
			klog.FromContext(ctx).Error(err, "a class is not ready at the start; it is tried again", "class", of.Name)
			c.queue.AddRateLimited(task{kind: classTask, name: of.Name})
		}
	}
	for range workers {
		running.Go(func() {
			for c.workNext(ctx) {
			}
		})
	}
	running.Go(func() { repeat(ctx, secretInterval, c.classes.enqueueClasses) })
	running.Go(func() { // of a cluster that is not there no event tells
		if cache.WaitForCacheSync(ctx.Done(), c.index.clusters.HasSynced) {
			c.enqueueZones(namesAnyCluster)
		}
	})
	running.Go(func() {
		repeat(ctx, min(c.config.HealthInterval, time.Second), func() { c.classes.checkDue(ctx) })
	})
	running.Go(func() { repeat(ctx, lastInterval, func() { c.classes.askLast(ctx) }) })
	running.Go(func() {
		repeat(ctx, frozenInterval, func() {
			for _, zone := range c.frozen.findChanges() {
				c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
			}
		})
	})
	c.loop.Run(ctx)
	return nil
}

// workNext works on the next object of the queue. It is false when there will be none.
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
	case recordTask:
		err = c.records.syncRecord(ctx, todo.namespace, todo.name)
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
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		log.Error(err, "The API refuses what is to be written; it is tried again") // as where the role of the controller is an older one
	} else {
		log.V(2).Info("an object is tried again", "err", err)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && apierrors.IsTooManyRequests(err) {
		c.queue.Forget(todo)
		c.queue.AddAfter(todo, time.Duration(seconds)*time.Second)
		return true
	}
	c.queue.AddRateLimited(todo)
	return true
}

// Observe keeps what the Loop reports and enqueues the zone.
func (c *Controller) Observe(event delivery.Event) {
	c.classes.takeEvent(event)
	refused := c.reports.takeEvent(event)
	zone := c.index.zoneByUID(event.Key.UID)
	if zone == nil {
		return
	}
	logRefusals(zone, event.Key.Class, refused)
	c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	c.events.announceDelivery(zone, event)
}

func (c *Controller) zoneChanged(before, after *v1alpha1.Zone) {
	zone := cmp.Or(after, before)
	c.enqueueZone(zone)
	if before != nil && before.Status.FQDN != zone.Status.FQDN {
		c.enqueueZone(before)
	}
}

// enqueueZone enqueues a zone, and with one of the default view those of its name in other views: which classes they
// have depends on it (S1.9).
func (c *Controller) enqueueZone(zone *v1alpha1.Zone) {
	c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	if zone.Status.View != "" || zone.Status.FQDN == "" {
		return
	}
	for _, other := range c.index.zonesNamed(zone.Status.FQDN) {
		if other.Status.View != "" {
			c.queue.Add(task{zoneTask, other.Namespace, other.Name})
		}
	}
}

func (c *Controller) enqueueZones(which func(*v1alpha1.Zone) bool) {
	for _, zone := range list[*v1alpha1.Zone](c.index.zones) {
		if which(zone) {
			c.enqueueZone(zone)
		}
	}
}

func (c *Controller) recordChanged(before, after *v1alpha1.Record) {
	c.records.recordChanged(cmp.Or(after, before), after == nil)
}

func (c *Controller) deliveryChanged(before, after *v1alpha1.Delivery) {
	one := cmp.Or(after, before)
	c.reports.takeDelivery(keyOf(one), after)
	if after == nil {
		c.loop.Hold(keyOf(one), time.Time{}, "", delivery.State{})
		c.queue.Add(task{kind: classTask, name: keyOf(one).Class}) // It may be waiting for this one to go.
	}
	c.queue.Add(task{zoneTask, one.Namespace, one.Spec.Zone.Name})
}

func (c *Controller) classChanged(before, after *v1alpha1.DNSClass) {
	c.queue.Add(task{kind: classTask, name: cmp.Or(after, before).Name})
	if before == nil || after == nil || !sameForZones(before, after) {
		c.enqueueZones(func(*v1alpha1.Zone) bool { return true })
	}
}

func namesAnyCluster(zone *v1alpha1.Zone) bool {
	return slices.ContainsFunc(zone.Spec.DNSClassRefs,
		func(ref v1alpha1.DNSClassReference) bool { return ref.Kind == v1alpha1.KindBind9Cluster })
}

// clusterChanged is classChanged for a Bind9Cluster: the zones are those that name it.
func (c *Controller) clusterChanged(before, after *bind9.Bind9Cluster) {
	at := cmp.Or(after, before)
	name := class.OfCluster(at).Name
	if class.InUse(at) || c.index.namesCluster(name) {
		c.queue.Add(task{kind: classTask, name: name})
	}
	if before == nil || after == nil || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) {
		for _, zone := range c.index.zonesNaming(name) {
			c.enqueueZone(zone)
		}
	}
}

func (c *Controller) namespaceChanged(before, after *corev1.Namespace) {
	if before == nil || after == nil || !labels.Equals(before.Labels, after.Labels) ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) {
		c.enqueueZones(func(zone *v1alpha1.Zone) bool { return zone.Namespace == cmp.Or(after, before).Name })
	}
}
