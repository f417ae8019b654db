// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	bind9typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/bind9/v1alpha1"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

// store keeps the state of each delivery (a zone in a class) in a Delivery object. Each write names the resourceVersion
// that the worker read, so it gets a conflict if another worker has written the object meanwhile.
type store struct {
	client   typed.KubizoneV1alpha1Interface
	clusters bind9typed.Bind9ClustersGetter
	// findZone and findClass return nil if the object does not exist.
	findZone  func(uid string) *v1alpha1.Zone
	findClass func(name string) *v1alpha1.DNSClass

	// finalizerLocks are chosen by a hash of the zone's UID. Without the lock, a delivery that ends could remove the
	// zone's finalizer while another begins.
	finalizerLocks [64]sync.Mutex
	// mu guards lastSeen, the last version of each Delivery, with its logged failure.
	mu       sync.Mutex
	lastSeen map[delivery.Key]observed
}

// logFailure logs the failure in a state, with the provider's words, but a repeated failure once. After a success the
// same failure is logged again.
func (s *store) logFailure(key delivery.Key, zone *v1alpha1.Zone, state *delivery.State) {
	failure := state.Error
	// Neither a failure nor a success: an intent, for example, changes nothing about the last failure.
	if failure == nil && state.Ready.Status != delivery.True {
		return
	}
	message := ""
	if failure != nil {
		if failure.Stored {
			return // from a Delivery: the words are logged already, or come with the next attempt
		}
		message = strings.Join([]string{string(failure.Reason), failure.Code, failure.Message, failure.Detail}, " ")
	}
	s.mu.Lock()
	known := s.lastSeen[key]
	again := known.message == message
	known.message = message
	s.lastSeen[key] = known
	s.mu.Unlock()
	if failure != nil && !again {
		klog.Background().Error(nil, "A class does not deliver a zone", "class", key.Class, "namespace", zone.Namespace, "zone", zone.Name,
			"reason", failure.Reason, "code", failure.Code, "message", failure.Message, "said", failure.Detail)
	}
}

type observed struct {
	finalizer  bool
	conditions []metav1.Condition
	message    string // last logged failure
}

var _ lease.Store = (*store)(nil)

var errNoZone = errors.New("the Zone is gone")

// Load reads a Delivery from the API, not from the informer, because the fence relies on it.
func (s *store) Load(ctx context.Context, key delivery.Key) (delivery.State, error) {
	zone := s.findZone(key.UID)
	if zone == nil {
		return delivery.State{}, errNoZone
	}
	name := class.DeliveryName(zone.Name, zone.UID, class.RefOf(key.Class))
	one, err := s.client.Deliveries(zone.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return delivery.State{}, nil
	}
	if err != nil {
		return delivery.State{}, err
	}
	s.rememberDelivery(key, one)
	return objects.StateOf(one)
}

// Save writes a Delivery's status, and makes the Delivery if state.Version is "". This takes two writes, so a crash may
// leave a Delivery without a status, which the next worker fills.
func (s *store) Save(ctx context.Context, key delivery.Key, state delivery.State) (string, error) {
	zone := s.findZone(key.UID)
	if zone == nil {
		return "", errNoZone
	}
	s.mu.Lock()
	known := s.lastSeen[key]
	s.mu.Unlock()
	s.logFailure(key, zone, &state)
	ref := class.RefOf(key.Class)
	one := &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: class.DeliveryName(zone.Name, zone.UID, ref), Namespace: zone.Namespace,
			ResourceVersion: state.Version},
		Spec:   v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: zone.Name, UID: zone.UID, FQDN: zone.Status.FQDN}, ClassRef: ref},
		Status: objects.StatusFor(key.Class, state, known.conditions),
	}
	deliveries := s.client.Deliveries(zone.Namespace)

	// Before the first call to a server, zone, class and Delivery get finalizers, because none may be deleted while a
	// server has the zone.
	begun := !state.Zone.IsZero()
	// releaseZone of another class must not remove the zone's finalizer in between.
	if begun && !known.finalizer || state.Version == "" {
		lock := s.lockZone(key.UID)
		defer lock.Unlock()
	}
	if begun && !known.finalizer {
		if err := s.addFinalizers(ctx, zone, key.Class); err != nil {
			return "", err
		}
		if state.Version != "" {
			held, err := patchObject(ctx, deliveries, one.Name, finalizerPatch(true, "", state.Version))
			if err != nil {
				return "", asConflict(err)
			}
			s.rememberDelivery(key, held)
			one.ResourceVersion = held.ResourceVersion
		}
	}

	if state.Version == "" {
		// The owner reference lets the garbage collector remove the Delivery with its Zone.
		fresh := one.DeepCopy()
		fresh.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Zone", Name: zone.Name,
			UID: zone.UID}}
		if begun {
			fresh.Finalizers = []string{v1alpha1.FinalizerDelivery}
		}
		made, err := deliveries.Create(ctx, fresh, metav1.CreateOptions{FieldManager: FieldManager})
		if err != nil {
			return "", asConflict(err)
		}
		s.rememberDelivery(key, made)
		one.ResourceVersion = made.ResourceVersion
	}
	written, err := deliveries.UpdateStatus(ctx, one, metav1.UpdateOptions{FieldManager: FieldManager})
	if err != nil {
		return "", asConflict(err)
	}
	s.rememberDelivery(key, written)
	return written.ResourceVersion, nil
}

// Delete also removes the zone's finalizer after the last Delivery.
func (s *store) Delete(ctx context.Context, key delivery.Key) error {
	zone := s.findZone(key.UID)
	if zone == nil {
		return nil
	}
	deliveries := s.client.Deliveries(zone.Namespace)
	name := class.DeliveryName(zone.Name, zone.UID, class.RefOf(key.Class))
	_, err := patchObject(ctx, deliveries, name, finalizerPatch(false, "", ""))
	if err == nil {
		err = deliveries.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.mu.Lock()
	delete(s.lastSeen, key)
	s.mu.Unlock()
	return s.releaseZone(ctx, zone)
}

func (s *store) removeUnheld(ctx context.Context, one *v1alpha1.Delivery) error {
	return ignoreGone(s.client.Deliveries(one.Namespace).Delete(ctx, one.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &one.UID}}))
}

// addFinalizers adds the finalizer to Zone and class, so that neither goes before its data at the servers.
func (s *store) addFinalizers(ctx context.Context, zone *v1alpha1.Zone, name string) error {
	// Write the finalizer always, because the informer may lag behind a removal.
	_, err := patchObject(ctx, s.client.Zones(zone.Namespace), zone.Name, finalizerPatch(true, zone.UID, ""), finalizers)
	if err != nil {
		return fmt.Errorf("finalizer of Zone %s/%s: %w", zone.Namespace, zone.Name, err)
	}
	of := s.findClass(name)
	// The informer shows the finalizer, which only this controller removes, and only from a deleted class.
	if of == nil || slices.Contains(of.Finalizers, v1alpha1.FinalizerDelivery) && of.DeletionTimestamp == nil {
		return nil
	}
	if err := s.patchClass(ctx, of.Name, finalizerPatch(true, of.UID, "")); err != nil {
		return fmt.Errorf("finalizer of %s: %w", objects.Describe(of.Name), err)
	}
	return nil
}

func (s *store) patchClass(ctx context.Context, name string, patch map[string]any) error {
	if namespace, cluster, ok := class.SplitCluster(name); ok {
		_, err := patchObject(ctx, s.clusters.Bind9Clusters(namespace), cluster, patch, finalizers)
		return err
	}
	_, err := patchObject(ctx, s.client.DNSClasses(), name, patch, finalizers)
	return err
}

// releaseZone removes the zone's finalizer if no Delivery holds the zone any more. A deleted Zone then goes.
func (s *store) releaseZone(ctx context.Context, zone *v1alpha1.Zone) error {
	lock := s.lockZone(string(zone.UID))
	defer lock.Unlock()
	// Already released: a Zone under deletion gets no finalizer again.
	if zone.DeletionTimestamp != nil && !slices.Contains(zone.Finalizers, v1alpha1.FinalizerDelivery) {
		return nil
	}
	if zone.Status.DNSSEC != nil || zone.Spec.DNSSEC != nil {
		// The signer may still have the zone.
		live, err := s.client.Zones(zone.Namespace).Get(ctx, zone.Name, metav1.GetOptions{})
		if err != nil {
			return ignoreGone(err)
		}
		if status := live.Status.DNSSEC; live.UID == zone.UID && status != nil && status.Signer != nil {
			return nil // the signer must first remove the zone
		}
	}
	// Asked of the API, because the informer may not have a Delivery that another worker just made.
	held, err := s.hasDelivery(ctx, zone.Namespace, v1alpha1.FieldDeliveryZoneName, zone.Name,
		func(one *v1alpha1.Delivery) bool { return one.Spec.Zone.UID == zone.UID })
	if held || err != nil {
		return err
	}
	_, err = patchObject(ctx, s.client.Zones(zone.Namespace), zone.Name, finalizerPatch(false, zone.UID, ""), finalizers)
	return ignoreGone(err)
}

func (s *store) holdsClass(ctx context.Context, of *v1alpha1.DNSClass) (bool, error) {
	namespace, _, ok := class.SplitCluster(of.Name)
	if !ok {
		namespace = metav1.NamespaceAll
	}
	return s.hasDelivery(ctx, namespace, v1alpha1.FieldDeliveryClassRefName, class.RefOf(of.Name).Name,
		func(one *v1alpha1.Delivery) bool { return objects.KeyOf(one).Class == of.Name })
}

func (s *store) releaseClass(ctx context.Context, of *v1alpha1.DNSClass) error {
	return ignoreGone(s.patchClass(ctx, of.Name, finalizerPatch(false, of.UID, "")))
}

func (s *store) hasDelivery(ctx context.Context, namespace, field, value string, of func(*v1alpha1.Delivery) bool) (bool, error) {
	left, err := s.client.Deliveries(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(field,
		value).String()})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(left.Items, func(one v1alpha1.Delivery) bool {
		return of(&one) && slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery)
	}), nil
}

// finalizers is a subresource, because the controller has no right on specs.
const finalizers = "finalizers"

// finalizerPatch leaves other finalizers. With uid or version, a changed object gets 409.
func finalizerPatch(add bool, uid types.UID, version string) map[string]any {
	metadata := map[string]any{"finalizers": []string{v1alpha1.FinalizerDelivery}}
	if !add {
		metadata = map[string]any{"$deleteFromPrimitiveList/finalizers": []string{v1alpha1.FinalizerDelivery}}
	}
	if uid != "" {
		metadata["uid"] = uid
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	return map[string]any{"metadata": metadata}
}

func (s *store) lockZone(uid string) *sync.Mutex {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(uid))
	lock := &s.finalizerLocks[sum.Sum32()%uint32(len(s.finalizerLocks))]
	lock.Lock()
	return lock
}

func (s *store) rememberDelivery(key delivery.Key, one *v1alpha1.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSeen[key] = observed{slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery), one.Status.Conditions, s.lastSeen[key].message}
}

func (s *store) forgetDeliveries(which func(delivery.Key) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lastSeen, func(key delivery.Key, _ observed) bool { return which(key) })
}

func asConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", lease.ErrConflict, err)
	}
	return err
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
