// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/pkg/generated/informers/externalversions"
	"kubi.zone/kubizone/pkg/zoneview"
)

// FieldManager is the name under which status and finalizers are written.
const FieldManager = "kubizone-controller"

// NewProvider makes the provider of a class that has its block. target stands for where zones go (delivery.Class); it
// is told with an error too, where it is known: a class that is redirected has nothing there, whatever else is wrong
// with it. What secret returned is what the provider works with: it is made anew when one of those Secrets changes.
// Errors are *delivery.Error; those of secret are returned as they are.
type NewProvider func(class *v1alpha1.DNSClass, secret GetSecret) (provider delivery.Provider, target string, err error)

// GetSecret reads one Secret by name.
type GetSecret func(namespace, name string) (map[string][]byte, error)

// Secrets is where Secrets are read from.
type Secrets interface {
	// Get returns the data; an error that wraps ErrSecretNotFound where there is no such Secret.
	Get(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// ErrSecretNotFound: there is no Secret of this name.
var ErrSecretNotFound = errors.New("there is no such Secret")

// MissingSecret is ErrSecretNotFound with what makes the Secret.
type MissingSecret struct{ Next string }

func (e *MissingSecret) Error() string { return ErrSecretNotFound.Error() + "; " + e.Next }

func (e *MissingSecret) Unwrap() error { return ErrSecretNotFound }

// Config of a Controller. Identity, Client, Informers, Views, Providers and Secrets are required.
type Config struct {
	// Identity of this process, never used by another one.
	Identity string
	// Client is made of a configuration by WithoutWaiting.
	Client versioned.Interface
	// Informers is started by whoever made it, after New.
	Informers externalversions.SharedInformerFactory
	// Views holds every zone when Run is called.
	Views *zoneview.Set
	// Frozen are the zones that the Views cannot prove. Nil: nobody looks.
	Frozen func() []cache.ObjectName
	// Providers by the name of their block in the spec of a DNSClass.
	Providers map[string]NewProvider
	Secrets   Secrets
	// Namespaces says which labels namespaces have and which are going. Nil: a server without a cluster, where each
	// has its name alone.
	Namespaces coreinformers.NamespaceInformer
	// Events takes what people should see beside status. Nil: it is logged.
	Events events.EventRecorder
	// Metrics counts; nil: nothing does.
	Metrics *Metrics
	Logger  *slog.Logger
	// Alone: who delivered before has ended, or has not led for as long as a call takes (delivery.Config).
	Alone bool
	// Lease is how long another may think that it leads after it no longer does; 0: delivery's.
	Lease time.Duration
	// HealthInterval is the time between two health checks of a class. 0: 10 min.
	HealthInterval time.Duration
	Backoff        delivery.Backoff
}

const (
	// workers is how many zones' status is worked out at a time; what is delivered at a time is the Loop's.
	workers = 4
	// secretInterval is the time between two looks at the Secrets of a class.
	secretInterval = 5 * time.Second
	// frozenInterval is the time between two looks at which zones are frozen.
	frozenInterval = time.Second
	defaultHealth  = 10 * time.Minute
)

// task is one thing to look at.
type task struct{ kind, namespace, name string }

const (
	zoneTask   = "zone"
	recordTask = "record"
	classTask  = "class"
	healthTask = "health"
)

// Controller delivers. It runs once.
type Controller struct {
	config Config
	loop   *delivery.Loop
	store  *store
	queue  workqueue.TypedRateLimitingInterface[task]
	synced []cache.InformerSynced
	checks sync.WaitGroup

	zones, records, deliveries, classes cache.SharedIndexInformer

	mu sync.Mutex
	// states are those that the Loop told, which observed says of which; the others are those of the Deliveries, which
	// another process writes until this one leads.
	states   map[delivery.Key]delivery.State
	observed map[delivery.Key]bool
	// failures are the RRsets that the last attempt of a delivery was refused.
	failures map[delivery.Key]map[delivery.RRsetKey]*delivery.Error
	// failedWhole are the deliveries of which the last attempt failed for more than RRsets that it was refused.
	failedWhole map[delivery.Key]bool
	// standings is what Records were told of last, by their zone's UID; unsaid are the zones of which not all Records
	// were told.
	standings map[string]*standing
	unsaid    map[string]bool
	// mass and wrong bound what is told to many Records (massRate, wrongRate).
	mass, wrong *rate.Limiter
	// told is what the Loop was told of each zone, by UID; uids are the UIDs of the objects that there were.
	told    map[string]delivery.Zone
	uids    map[cache.ObjectName]string
	known   map[string]*knownClass
	patched map[types.UID]patched
	// readied are the last writes of Records' Ready of which the informer has not told yet.
	readied map[types.UID]patched
	// frozen are the zones that cannot be proven; true: an Event told of it.
	frozen map[cache.ObjectName]bool
	// asked are secondaries ahead of zones for which the server was asked to go past them.
	asked map[types.UID]sighting
	// stood is since when what an object waits for waits for a person.
	stood map[types.UID]stood
}

// New registers with the informers and does nothing before Run.
func New(config Config) (*Controller, error) {
	if config.HealthInterval == 0 {
		config.HealthInterval = defaultHealth
	}
	if config.Events == nil {
		config.Events = logged{}
	}
	c := &Controller{
		config:      config,
		queue:       workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, time.Minute)),
		states:      map[delivery.Key]delivery.State{},
		observed:    map[delivery.Key]bool{},
		failures:    map[delivery.Key]map[delivery.RRsetKey]*delivery.Error{},
		failedWhole: map[delivery.Key]bool{},
		standings:   map[string]*standing{},
		unsaid:      map[string]bool{},
		mass:        rate.NewLimiter(massRate, massBurst),
		wrong:       rate.NewLimiter(wrongRate, massBurst),
		told:        map[string]delivery.Zone{},
		uids:        map[cache.ObjectName]string{},
		known:       map[string]*knownClass{},
		patched:     map[types.UID]patched{},
		readied:     map[types.UID]patched{},
		stood:       map[types.UID]stood{},
		asked:       map[types.UID]sighting{},
	}
	if err := c.follow(); err != nil {
		return nil, err
	}
	c.store = &store{client: config.Client.KubizoneV1alpha1(), zone: c.zoneByUID, class: c.classByName, seen: map[delivery.Key]seen{}}
	var err error
	var counting delivery.Metrics
	if config.Metrics != nil {
		counting = config.Metrics
	}
	c.loop, err = delivery.New(delivery.Config{
		Identity: config.Identity, Views: config.Views, History: c.history, Left: c.left, Store: c.store, Observer: c,
		Metrics: counting, Logger: config.Logger, Alone: config.Alone, Lease: config.Lease, CallTimeout: v1alpha1.MaxWebhookTimeout * time.Second, Backoff: config.Backoff,
	})
	return c, err
}

// follow hears of everything there is from now on.
func (c *Controller) follow() error {
	api := c.config.Informers.Kubizone().V1alpha1()
	c.zones, c.records = api.Zones().Informer(), api.Records().Informer()
	c.deliveries, c.classes = api.Deliveries().Informer(), api.DNSClasses().Informer()
	err := errors.Join(
		c.zones.SetTransform(trimZone), c.records.SetTransform(trimRecord), c.deliveries.SetTransform(trim), c.classes.SetTransform(trim),
		c.zones.AddIndexers(cache.Indexers{byUID: zoneUID, byFQDN: zoneFQDN}),
		c.records.AddIndexers(cache.Indexers{byUID: pendingInZone, byZone: inZone}),
		c.deliveries.AddIndexers(cache.Indexers{byUID: deliveredZone, byClass: deliveringClass}),
	)
	if err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	namespaces := func(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) { return nil, nil }
	if c.config.Namespaces != nil {
		namespaces = c.config.Namespaces.Informer().AddEventHandler
	}
	for _, one := range []struct {
		handle func(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
		heard  func(before, after any)
	}{
		{c.zones.AddEventHandler, c.zoneHeard}, {c.records.AddEventHandler, c.recordHeard},
		{c.deliveries.AddEventHandler, c.deliveryHeard}, {c.classes.AddEventHandler, c.classHeard},
		{namespaces, c.namespaceHeard},
	} {
		registration, err := one.handle(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { one.heard(nil, object) },
			UpdateFunc: one.heard,
			DeleteFunc: func(object any) {
				if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = gone.Obj
				}
				one.heard(object, nil)
			},
		})
		if err != nil {
			return fmt.Errorf("informers: %w", err)
		}
		if registration != nil {
			c.synced = append(c.synced, registration.HasSynced)
		}
	}
	return nil
}

// Run delivers until ctx ends, and returns when nothing of it is under way.
func (c *Controller) Run(ctx context.Context) error {
	if c.config.Metrics != nil {
		defer c.config.Metrics.follow(c, c.loop.Status)()
	}
	var running sync.WaitGroup
	defer c.checks.Wait()
	defer running.Wait()
	defer c.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return nil
	}
	c.lookForFrozen()
	// What is delivered has its names before anything is begun.
	for _, object := range c.deliveries.GetStore().List() {
		if one := object.(*v1alpha1.Delivery); c.zoneByUID(string(one.Spec.Zone.UID)) != nil {
			c.hold(one)
		}
	}
	// Classes first: a zone must not be told that its class is missing because it was looked at later.
	for _, object := range c.classes.GetStore().List() {
		if err := c.syncClass(ctx, object.(*v1alpha1.DNSClass).Name); err != nil {
			klog.FromContext(ctx).Error(err, "a class is looked at again")
			c.queue.AddRateLimited(task{kind: classTask, name: object.(*v1alpha1.DNSClass).Name})
		}
	}
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	running.Go(func() { c.watchSecrets(ctx) })
	running.Go(func() { c.checkHealth(ctx) })
	running.Go(func() { c.watchFrozen(ctx) })
	return c.loop.Run(ctx)
}

func (c *Controller) next(ctx context.Context) bool {
	todo, end := c.queue.Get()
	if end {
		return false
	}
	defer c.queue.Done(todo)
	var err error
	switch todo.kind {
	case zoneTask:
		err = c.syncZone(ctx, todo.namespace, todo.name)
	case recordTask:
		err = c.syncRecord(ctx, todo.namespace, todo.name)
	case classTask:
		err = c.syncClass(ctx, todo.name)
	case healthTask:
		err = c.syncHealth(ctx, todo.name)
	}
	if ctx.Err() != nil {
		return false
	}
	if err == nil {
		c.queue.Forget(todo)
		return true
	}
	klog.FromContext(ctx).V(2).Info("looked at again", "what", todo.kind, "namespace", todo.namespace, "name", todo.name, "err", err)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && apierrors.IsTooManyRequests(err) {
		c.queue.Forget(todo)
		c.queue.AddAfter(todo, time.Duration(seconds)*time.Second)
		return true
	}
	c.queue.AddRateLimited(todo)
	return true
}

func (c *Controller) zoneHeard(before, after any) {
	zone, ok := latest[*v1alpha1.Zone](before, after)
	if !ok {
		return
	}
	c.look(zone)
	if was, ok := before.(*v1alpha1.Zone); ok && was.Status.FQDN != zone.Status.FQDN {
		c.look(was)
	}
}

// look has a zone looked at, and with one of the default view those of its name in others: which classes they have
// depends on its (S1.8).
func (c *Controller) look(zone *v1alpha1.Zone) {
	c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	if zone.Status.View != "" || zone.Status.FQDN == "" {
		return
	}
	for _, other := range c.zonesNamed(zone.Status.FQDN) {
		if other.Status.View != "" {
			c.queue.Add(task{zoneTask, other.Namespace, other.Name})
		}
	}
}

// recordHeard has a Record looked at that could be Ready already: its zone was delivered before we heard of it.
func (c *Controller) recordHeard(before, after any) {
	record, ok := latest[*v1alpha1.Record](before, after)
	if !ok {
		return
	}
	c.mu.Lock()
	if last, known := c.readied[record.UID]; known && (after == nil || last.from != record.ResourceVersion) {
		delete(c.readied, record.UID)
	}
	c.mu.Unlock()
	if after == nil {
		c.mu.Lock()
		delete(c.stood, record.UID)
		c.mu.Unlock()
		return
	}
	if isPending(record) || record.Status.ZoneRef == nil || meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionStalled) != nil {
		c.queue.Add(task{recordTask, record.Namespace, record.Name})
	}
}

func (c *Controller) deliveryHeard(before, after any) {
	one, ok := latest[*v1alpha1.Delivery](before, after)
	if !ok {
		return
	}
	key := keyOf(one)
	c.mu.Lock()
	if !c.observed[key] {
		delete(c.states, key)
		if state, err := stateOf(one); err == nil && after != nil {
			c.states[key] = state
		}
	}
	c.mu.Unlock()
	if after == nil {
		c.loop.Hold(key, time.Time{}, "", delivery.State{})
	}
	c.queue.Add(task{zoneTask, one.Namespace, one.Spec.Zone.Name})
	if after == nil && one.Spec.ClassRef.Kind == v1alpha1.KindDNSClass {
		c.queue.Add(task{kind: classTask, name: one.Spec.ClassRef.Name}) // It may be waiting for this one to go.
	}
}

// hold tells the Loop of a Delivery of a Zone that is there: one whose Zone is gone keeps no name. Of two the earlier
// has it, as primaries see it (transferclass).
func (c *Controller) hold(one *v1alpha1.Delivery) {
	if state, err := stateOf(one); err == nil {
		c.loop.Hold(keyOf(one), one.CreationTimestamp.Time, string(one.UID), state)
	}
}

func (c *Controller) classHeard(before, after any) {
	one, ok := latest[*v1alpha1.DNSClass](before, after)
	if !ok {
		return
	}
	c.queue.Add(task{kind: classTask, name: one.Name})
	was, is := before != nil, after != nil
	if was && is && sameForZones(before.(*v1alpha1.DNSClass), after.(*v1alpha1.DNSClass)) {
		return
	}
	c.everyZone(func(*v1alpha1.Zone) bool { return true })
}

func (c *Controller) namespaceHeard(before, after any) {
	one, ok := latest[metav1.Object](before, after)
	if !ok {
		return
	}
	if before != nil && after != nil && labels.Equals(before.(metav1.Object).GetLabels(), one.GetLabels()) &&
		(before.(metav1.Object).GetDeletionTimestamp() == nil) == (one.GetDeletionTimestamp() == nil) {
		return
	}
	c.everyZone(func(zone *v1alpha1.Zone) bool { return zone.Namespace == one.GetName() })
}

func (c *Controller) everyZone(of func(*v1alpha1.Zone) bool) {
	for _, object := range c.zones.GetStore().List() {
		if zone := object.(*v1alpha1.Zone); of(zone) {
			c.look(zone)
		}
	}
}

func latest[T any](before, after any) (T, bool) {
	if after == nil {
		after = before
	}
	object, ok := after.(T)
	return object, ok
}
