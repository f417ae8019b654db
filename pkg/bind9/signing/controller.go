// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const (
	workers                   = 16
	syncTimeout, agentTimeout = time.Minute, 10 * time.Second
	writeTimeout              = 10 * time.Second
)

type ParentServer struct {
	Name      string
	Addresses []netip.AddrPort
	// Missing is the name directly above the zone if that has no NS. The server then serves a name further up.
	Missing name.Name
}

type ParentServers func(ctx context.Context, zone name.Name) ([]ParentServer, error)

type Config struct {
	Client versioned.Interface
	// The caller starts these informers. The transform of Zones keeps spec.dnssec.
	Zones      informers.ZoneInformer
	Deliveries informers.DeliveryInformer
	Classes    informers.DNSClassInformer
	InForce    func(zone *v1alpha1.Zone) []*v1alpha1.DNSClass
	// Holder returns the UID of the Zone that owns a name in the classes; "" if unknown.
	Holder        func(classes []string, zone name.Name) string
	Views         *zoneview.Set
	Servers       *transferclass.Servers
	Agents        *agents.Agents
	Secrets       secrets.Reader
	ParentServers ParentServers
	Now           func() time.Time
	Registry      metrics.KubeRegistry
}

// Controller signs zones. A single process may run a Controller, once.
type Controller struct {
	Config
	memory  memory
	places  places
	metrics *Metrics
	orphans map[v1alpha1.ZoneSigner]map[name.Name]bool
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	synced  []cache.InformerSynced
}

// New returns a Controller with event handlers for Zones and Deliveries. It starts nothing. The error is a failed
// registration at an informer.
func New(config Config) (*Controller, error) {
	c := &Controller{
		Config: config, memory: memory{zones: map[types.UID]*zoneMemory{}}, metrics: NewMetrics(config.Registry),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second,
			time.Minute)),
	}

	c.places = places{wake: c.queue.Add, inUse: map[place]int{}, byZone: map[cache.ObjectName][]place{}}
	indexed := c.Zones.Informer().AddIndexers(cache.Indexers{bySigned: indexSigned})

	zones, handled := c.Zones.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.enqueueZone,
		UpdateFunc: func(before, after any) {
			// A zone's serial changes with each record. Only changes of DNSSEC, name and deletion need a decision.
			was, is := before.(*v1alpha1.Zone), after.(*v1alpha1.Zone)
			if !equality.Semantic.DeepEqual(was.Spec.DNSSEC, is.Spec.DNSSEC) || !equality.Semantic.DeepEqual(was.Status.DNSSEC,
				is.Status.DNSSEC) || was.Status.FQDN != is.Status.FQDN ||
				(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) {
				c.enqueueZone(is)
			}
		},
		DeleteFunc: c.forgetZone,
	})

	_, delivered := c.Deliveries.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.enqueueDelivery,
		UpdateFunc: func(before, after any) {
			// A Delivery without a name has just been created. From now on a class delivers the zone.
			if before.(*v1alpha1.Delivery).Status.FQDN == "" {
				c.enqueueDelivery(after)
			}
		},
		DeleteFunc: c.enqueueDelivery,
	})

	if err := errors.Join(indexed, handled, delivered); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	c.synced = []cache.InformerSynced{zones.HasSynced, c.Deliveries.Informer().HasSynced, c.Classes.Informer().HasSynced}
	return c, nil
}

const bySigned = "signed"

func indexSigned(object any) ([]string, error) {
	if zone := object.(*v1alpha1.Zone); zone.Status.DNSSEC != nil && zone.Status.DNSSEC.Signer != nil {
		return []string{zone.Status.FQDN}, nil
	}
	return nil, nil
}

func (c *Controller) enqueueZone(object any) {
	if zone, ok := object.(*v1alpha1.Zone); ok && (zone.Spec.DNSSEC != nil || zone.Status.DNSSEC != nil) {
		c.queue.Add(cache.MetaObjectToName(zone))
	}
}

func (c *Controller) forgetZone(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if zone, ok := object.(*v1alpha1.Zone); ok {
		c.memory.remove(zone.UID)
	}
}

func (c *Controller) enqueueDelivery(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	one, ok := object.(*v1alpha1.Delivery)
	if !ok || one.Status.FQDN == "" {
		return
	}
	if zone, err := c.Zones.Lister().Zones(one.Namespace).Get(one.Spec.Zone.Name); err == nil {
		c.enqueueZone(zone)
	}
}

// Run signs zones until ctx ends, and then waits for the work in progress.
func (c *Controller) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	defer c.metrics.measureZones(source{c.Zones.Informer().GetIndexer().List, c.memory.readTimes, c.Now})()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				at, end := c.queue.Get()
				if end {
					return
				}
				c.syncObject(ctx, at)
				c.queue.Done(at)
			}
		})
	}
	all.Go(func() {
		tick := time.NewTicker(sweepInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.sweepSigners(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	all.Wait()
}

// syncObject takes the places of a zone, decides and acts, and enqueues the zone again. A zone without free places is
// enqueued by places.
func (c *Controller) syncObject(ctx context.Context, at cache.ObjectName) {
	zone, err := c.Zones.Lister().Zones(at.Namespace).Get(at.Name)
	if err != nil {
		c.places.returnPlaces(at)
		return
	}

	if !c.places.takePlaces(at, listPlaces(zone)) {
		return
	}
	defer c.places.returnPlaces(at)

	looking, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	requeueAfter, err := c.syncZone(looking, zone)
	switch {
	case err != nil && ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "A zone cannot be signed as specified; it is retried", "zone", at)
		c.queue.AddRateLimited(at)
	default:
		c.queue.Forget(at)
		if requeueAfter > 0 {
			c.queue.AddAfter(at, requeueAfter)
		}
	}
}

// checkUnchanged precedes each write to the signer, and returns an error if the Zone has changed since the decision.
func (w *work) checkUnchanged(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := w.Client.KubizoneV1alpha1().Zones(w.zone.Namespace).Get(ctx, w.zone.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case live.UID != w.zone.UID || (live.DeletionTimestamp == nil) != (w.zone.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(live.Status.DNSSEC, w.zone.Status.DNSSEC) || (live.Spec.DNSSEC == nil) != (w.zone.Spec.DNSSEC == nil):
		return errors.New("the Zone has changed since it was read")
	}
	return nil
}

const maxMessage = 512

// writeStatus writes status.dnssec if it has changed; nil clears it. A missing or replaced Zone is no error.
func (w *work) writeStatus(ctx context.Context, status *v1alpha1.ZoneDNSSECStatus) error {
	if status != nil {
		status.FQDN = w.zone.Status.FQDN
		// Without a signer in this sync, the status keeps the former, which has the keys.
		if status.Phase != "" && w.signer.Name != "" {
			status.Signer = &v1alpha1.ZoneSigner{Namespace: w.signer.Namespace, Name: w.signer.Name}
		}
		// Invalid UTF-8 would be stored changed, and written again in each sync.
		status.Message = strings.ToValidUTF8(status.Message[:min(len(status.Message), maxMessage)], "")
	}
	if equality.Semantic.DeepEqual(status, w.zone.Status.DNSSEC) {
		return nil
	}
	var body any
	if status != nil {
		body = map[string]any{
			"fqdn": status.FQDN, "phase": status.Phase, "message": status.Message, "policy": status.Policy, "signer": status.Signer,
			"lastTransitionTime": status.LastTransitionTime, "ds": status.DS, "passSerial": status.PassSerial,
			"longestDSTTL": status.LongestDSTTL,
		}
	}
	// The uid makes the API refuse the patch for another Zone of the same name.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.zone.UID}, "status": map[string]any{"dnssec": body}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = w.Client.KubizoneV1alpha1().Zones(w.zone.Namespace).Patch(ctx, w.zone.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: class.FieldManager}, "dnssec")
	return ignoreChanged(err)
}

// writeProblem returns refusals of the API for the log, because a zone's owner cannot give rights to this process.
func (w *work) writeProblem(ctx context.Context, problem error) error {
	status := cmp.Or(w.zone.Status.DNSSEC.DeepCopy(), &v1alpha1.ZoneDNSSECStatus{})
	status.Message = problem.Error()
	err := w.writeStatus(ctx, status)
	if refusal := apierrors.APIStatus(nil); errors.As(problem, &refusal) {
		err = errors.Join(ignoreChanged(problem), err)
	}
	return err
}

// serialMargin is added to the servers' serials, because the signer's rises meanwhile. A server still ahead would wait
// a day.
const serialMargin = 100

// serialToPass returns the serial that the zone's must pass, so that servers transfer the unsigned zone.
func (w *work) serialToPass() int64 { return int64(max(w.highest+serialMargin, 1)) }

func ignoreChanged(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

type memory struct {
	mu    sync.Mutex
	zones map[types.UID]*zoneMemory
}

func (m *memory) forZone(zone types.UID) *zoneMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.zones[zone] == nil {
		m.zones[zone] = &zoneMemory{sentReports: map[dsReport]bool{}}
	}
	return m.zones[zone]
}

func (m *memory) remove(zone types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.zones, zone)
}

type zoneMemory struct {
	// sentReports prevents repetitions, which would restart the signer's timer.
	sentReports map[dsReport]bool
	targets     string
	remindedAt  time.Time
	// silent has the parent's silent addresses, with the time of the first silence.
	silent map[netip.AddrPort]time.Time
	// measured is read by scrapes. Guarded by memory.mu.
	measured
}

func (m *memory) readTimes(zone types.UID) measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.zones[zone]; known != nil {
		return known.measured
	}
	return measured{}
}

func (m *memory) update(zone types.UID, change func(*measured)) {
	known := m.forZone(zone)
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&known.measured)
}

func (r *zoneMemory) reportOnce(one dsReport, report func() error) error {
	if r.sentReports[one] {
		return nil
	}
	err := report()
	r.sentReports[one] = err == nil
	return err
}

const remindInterval = 30 * time.Second

func (r *zoneMemory) remindOnce(now time.Time, remind func() error) error {
	if now.Sub(r.remindedAt) < remindInterval {
		return nil
	}
	err := remind()
	if err == nil {
		r.remindedAt = now
	}
	return err
}

func (r *zoneMemory) noteSilent(addresses []netip.AddrPort, now time.Time) map[netip.AddrPort]time.Time {
	silent := map[netip.AddrPort]time.Time{}
	for _, at := range addresses {
		silent[at] = now
		if before, ok := r.silent[at]; ok {
			silent[at] = before
		}
	}
	r.silent = silent
	return silent
}
