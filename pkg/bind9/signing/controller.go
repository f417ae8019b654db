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
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zoneview"
)

const (
	// workers are how many zones are looked at at the same time: most of a look is waiting for answers.
	workers = 16
	// lookTimeout bounds one look, and agentTimeout the questions to the agent in it.
	lookTimeout, agentTimeout = time.Minute, 10 * time.Second
	// writeTimeout bounds one request to the API.
	writeTimeout = 10 * time.Second
)

// ParentServer is a name server of a parent that is no Zone.
type ParentServer struct {
	Name      string
	Addresses []netip.AddrPort
	// Missing is the name directly above the zone where the resolver finds no servers of it, and this is a server of a
	// name further up.
	Missing name.Name
}

// ParentServers finds the servers of the zone above one of which no Zone is above.
type ParentServers func(ctx context.Context, zone name.Name) ([]ParentServer, error)

// Config of a Controller. All fields are required.
type Config struct {
	Client versioned.Interface
	// Zones, Deliveries and Classes are started by the caller. The transform of Zones leaves spec.dnssec.
	Zones      informers.ZoneInformer
	Deliveries informers.DeliveryInformer
	Classes    informers.DNSClassInformer
	// InForce are the classes in force for a zone.
	InForce func(zone *v1alpha1.Zone) []*v1alpha1.DNSClass
	// Holder is the UID of the Zone that has a right to a name in these classes, "" where it is not known.
	Holder        func(classes []string, zone name.Name) string
	Views         *zoneview.Set
	Servers       *transferclass.Servers
	Agents        *agents.Agents
	Secrets       class.Secrets
	ParentServers ParentServers
	Now           func() time.Time
}

// Controller signs zones. It runs once, in one process at a time.
type Controller struct {
	Config
	memory memory
	places places
	// left are the zones at each signer that the last look found left.
	left   map[v1alpha1.ZoneSigner]map[name.Name]bool
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	synced []cache.InformerSynced
}

// New registers with the informers and does nothing before Run.
func New(config Config) (*Controller, error) {
	c := &Controller{
		Config: config, memory: memory{zones: map[types.UID]*remembered{}},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second,
			time.Minute)),
	}
	c.places = places{wake: c.queue.Add, taken: map[place]int{}, held: map[cache.ObjectName][]place{}}
	indexed := c.Zones.Informer().AddIndexers(cache.Indexers{bySigned: indexSigned})
	zones, handled := c.Zones.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.zoneChanged,
		UpdateFunc: func(before, after any) {
			was, is := before.(*v1alpha1.Zone), after.(*v1alpha1.Zone)
			if !equality.Semantic.DeepEqual(was.Spec.DNSSEC, is.Spec.DNSSEC) || !equality.Semantic.DeepEqual(was.Status.DNSSEC,
				is.Status.DNSSEC) || was.Status.FQDN != is.Status.FQDN ||
				(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) {
				c.zoneChanged(is)
			}
		},
		DeleteFunc: c.forgetZone,
	})
	_, delivered := c.Deliveries.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.deliveryChanged,
		UpdateFunc: func(before, after any) {
			if before.(*v1alpha1.Delivery).Status.FQDN == "" {
				c.deliveryChanged(after)
			}
		},
		DeleteFunc: c.deliveryChanged,
	})
	if err := errors.Join(indexed, handled, delivered); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	c.synced = []cache.InformerSynced{zones.HasSynced, c.Deliveries.Informer().HasSynced, c.Classes.Informer().HasSynced}
	return c, nil
}

// bySigned is the index of Zones that have a signer, by their names in DNS.
const bySigned = "signed"

func indexSigned(object any) ([]string, error) {
	if zone := object.(*v1alpha1.Zone); zone.Status.DNSSEC != nil && zone.Status.DNSSEC.Signer != nil {
		return []string{zone.Status.FQDN}, nil
	}
	return nil, nil
}

func (c *Controller) zoneChanged(object any) {
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

// deliveryChanged looks at a zone that a class has begun to deliver, or delivers no more.
func (c *Controller) deliveryChanged(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	one, ok := object.(*v1alpha1.Delivery)
	if !ok || one.Status.FQDN == "" {
		return
	}
	if zone, err := c.Zones.Lister().Zones(one.Namespace).Get(one.Spec.Zone.Name); err == nil {
		c.zoneChanged(zone)
	}
}

// Run works until ctx ends. Zones stay signed as they are.
func (c *Controller) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				at, end := c.queue.Get()
				if end {
					return
				}
				c.lookAt(ctx, at)
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

func (c *Controller) lookAt(ctx context.Context, at cache.ObjectName) {
	zone, err := c.Zones.Lister().Zones(at.Namespace).Get(at.Name)
	if err != nil {
		c.places.returnPlaces(at) // it was woken perhaps
		return                    // it is gone, with its status
	}
	if !c.places.takePlaces(at, listPlaces(zone)) {
		return
	}
	defer c.places.returnPlaces(at)
	looking, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	again, err := c.syncZone(looking, zone)
	switch {
	case err != nil && ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "A zone is not signed as it should be; it is tried again", "zone", at)
		c.queue.AddRateLimited(at)
	default:
		c.queue.Forget(at)
		if again > 0 {
			c.queue.AddAfter(at, again)
		}
	}
}

// refuseOlder refuses what an older look at the zone would do at the signer.
func (w *work) refuseOlder(ctx context.Context) error {
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

// maxMessage bounds a message of the status, in octets.
const maxMessage = 512

// writeStatus writes status.dnssec, if it differs. What it replaces of the DS the parent replaces in the same moment.
func (w *work) writeStatus(ctx context.Context, status *v1alpha1.ZoneDNSSECStatus) error {
	if status != nil {
		status.FQDN = w.zone.Status.FQDN
		if status.Phase != "" && w.signer.Name != "" {
			status.Signer = &v1alpha1.ZoneSigner{Namespace: w.signer.Namespace, Name: w.signer.Name}
		}
		// What is not UTF-8 would be read again as another message, and written at each look.
		status.Message = strings.ToValidUTF8(status.Message[:min(len(status.Message), maxMessage)], "")
	}
	if equality.Semantic.DeepEqual(status, w.zone.Status.DNSSEC) {
		return nil
	}
	var body any
	if status != nil {
		// A merge patch leaves what it does not name.
		body = map[string]any{
			"fqdn": status.FQDN, "phase": status.Phase, "message": status.Message, "policy": status.Policy, "signer": status.Signer,
			"lastTransitionTime": status.LastTransitionTime, "ds": status.DS,
		}
	}
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

// writeProblem says in the status why a zone cannot be looked at. The phase stays. What the API refuses it returns too,
// for the log: an owner of the zone cannot mend the rights of this process.
func (w *work) writeProblem(ctx context.Context, problem error) error {
	status := cmp.Or(w.zone.Status.DNSSEC.DeepCopy(), &v1alpha1.ZoneDNSSECStatus{})
	status.Message = problem.Error()
	err := w.writeStatus(ctx, status)
	if refusal := apierrors.APIStatus(nil); errors.As(problem, &refusal) {
		err = errors.Join(ignoreChanged(problem), err)
	}
	return err
}

// serialMargin is how far the serial goes past that of the signer, which signs on until every server has left it: a
// server that had a later serial from there would wait for a day until the zone passes it again.
const serialMargin = 100

// raiseSerial asks for a serial past that of the servers, as for any secondary that is ahead (S6.11). It is asked of
// the Zone that was looked at: one that has changed since is looked at again.
func (w *work) raiseSerial(ctx context.Context) error {
	past := w.behind + serialMargin
	if past == 0 {
		past = 1 // 0 is the serial of no zone
	}
	conditions := slices.Clone(w.zone.Status.Conditions)
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSerialBehind,
		ObservedGeneration: w.zone.Generation,
		Message:            fmt.Sprintf("its servers have serial %d from the signer; the serial goes past %d", w.behind, past),
	})
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.zone.UID, "resourceVersion": w.zone.ResourceVersion},
		"status":   map[string]any{"serial": past, "conditions": []any{meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = w.Client.KubizoneV1alpha1().Zones(w.zone.Namespace).Patch(ctx, w.zone.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: class.FieldManager}, "status")
	return ignoreChanged(err)
}

// ignoreChanged drops the answer that a Zone is another one by now, or has changed: its change has it looked at again.
func ignoreChanged(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// memory has what this process knows of zones, by their UID.
type memory struct {
	mu    sync.Mutex
	zones map[types.UID]*remembered
}

func (m *memory) of(zone types.UID) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.zones[zone] == nil {
		m.zones[zone] = &remembered{told: map[told]bool{}}
	}
	return m.zones[zone]
}

func (m *memory) remove(zone types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.zones, zone)
}

// remembered is what is known of one zone. The one look at the zone that is under way uses it.
type remembered struct {
	// told has what the signer was told: a signer that is told again begins to wait anew.
	told map[told]bool
	// targets are those that the signer tells of new serials, as this process has seen to.
	targets string
	// reminded is when the signer last told them again.
	reminded time.Time
	// silent are addresses of servers of the parent that do not answer, since when.
	silent map[netip.AddrPort]time.Time
	// dsTTL is the longest TTL of the DS that was seen at the parent.
	dsTTL time.Duration
}

// tellOnce calls tell, unless that has succeeded before.
func (r *remembered) tellOnce(one told, tell func() error) error {
	if r.told[one] {
		return nil
	}
	err := tell()
	r.told[one] = err == nil
	return err
}

// remindInterval is the least time between two reminders of the servers of a zone.
const remindInterval = 30 * time.Second

// remindOnce calls remind, unless that has succeeded a moment ago.
func (r *remembered) remindOnce(now time.Time, remind func() error) error {
	if now.Sub(r.reminded) < remindInterval {
		return nil
	}
	err := remind()
	if err == nil {
		r.reminded = now
	}
	return err
}

// noteSilent notes which addresses do not answer now, and returns since when each has not.
func (r *remembered) noteSilent(addresses []netip.AddrPort, now time.Time) map[netip.AddrPort]time.Time {
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
