// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// ReasonDNSClassNotFound of a condition Ready: a zone names a class that is not there.
const ReasonDNSClassNotFound delivery.Reason = "DNSClassNotFound"

// Reasons of a class's Ready beside those of delivery.
const (
	// ReasonServerHealthy: its last health check went well, or a delivery since.
	ReasonServerHealthy = "ServerHealthy"
	// ReasonNotProven: nothing is wrong as far as can be seen (delivery.ErrNotProven).
	ReasonNotProven = "NotProven"
)

// healthTime bounds a health check.
const healthTime = 30 * time.Second

// knownClass is a class as the Loop was told of it.
type knownClass struct {
	uid        types.UID
	generation int64
	missing    bool
	// secrets are what its provider was made with, by namespace/name; digests of what they held, or why they were not
	// read.
	secrets map[string]string
	err     *delivery.Error
	// abilities are those of its provider.
	abilities delivery.Abilities
	// spec is what the Loop was told.
	spec delivery.Class
	// checked is when its health was asked last, learned when a delivery showed last what works (learn).
	checked, learned time.Time
	// health is what was found last, if asked: nil for health.
	asked  bool
	health error
	// found is when that was.
	found metav1.Time
	// claim is what it holds or wants alone; nil: nothing. stale: whether it has it is another answer than it was.
	claim *claim
	stale bool
}

// missing has the Loop say so of zones that name a class which is not there.
func (c *Controller) missing(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[name]; known != nil {
		if known.missing {
			return
		}
		delete(c.stood, known.uid)
	}
	c.known[name] = &knownClass{missing: true}
	c.contend()
	c.loop.SetClass(delivery.Class{Name: name, Generation: "missing", Err: &delivery.Error{
		Reason: ReasonDNSClassNotFound, Permanent: true, Message: fmt.Sprintf("there is no %s %s", kindOf(refOf(name)), refOf(name).Name),
	}})
}

// syncClass tells the Loop of a class. Its provider is made anew when spec or Secrets changed, and kept else.
func (c *Controller) syncClass(ctx context.Context, name string) error {
	of := c.classByName(name)
	c.mu.Lock()
	known := c.known[name]
	stale := known != nil && known.stale
	c.mu.Unlock()
	if of == nil {
		if known != nil && !known.missing {
			c.missing(name)
		}
		return nil
	}
	if of.DeletionTimestamp != nil && slices.Contains(of.Finalizers, v1alpha1.FinalizerDelivery) {
		if err := c.store.releaseClass(ctx, of); err != nil {
			return err
		}
	}
	if known != nil && !stale && known.uid == of.UID && known.generation == of.Generation && maps.Equal(known.secrets, c.digests(ctx, known.secrets)) {
		if now := c.driftInterval(of, known.abilities); now >= 2*known.spec.DriftInterval || now <= known.spec.DriftInterval/2 {
			c.mu.Lock()
			known.spec.DriftInterval = now // It has many more zones than it had, or fewer.
			c.mu.Unlock()
			c.loop.SetClass(known.spec)
		}
		return nil
	}
	fresh := &knownClass{uid: of.UID, generation: of.Generation, secrets: map[string]string{}}
	spec := delivery.Class{Name: name, Paused: of.Spec.Paused, AllowRetain: of.Spec.AllowRetain}
	if of.Spec.RequestsPerSecond != nil {
		spec.RequestsPerSecond = float64(*of.Spec.RequestsPerSecond)
	}
	if err := c.provide(ctx, of, fresh, &spec); err != nil {
		spec.Provider = nil
		if !errors.As(err, &spec.Err) {
			return err
		}
		// Nothing is asked of anybody, and what it waits for is another Generation.
		broken := *spec.Err
		broken.Permanent, broken.WholeClass = true, false
		spec.Err = &broken
	}
	if spec.Provider != nil {
		fresh.abilities = spec.Provider.Abilities()
	}
	spec.DriftInterval = c.driftInterval(of, fresh.abilities)
	fresh.claim = claimOf(of, fresh.abilities)
	c.mu.Lock()
	if known != nil && known.uid != of.UID {
		delete(c.stood, known.uid)
	}
	c.known[name] = fresh
	c.contend()
	fresh.stale = false
	if fresh.claim != nil && fresh.claim.lost != "" {
		provider := spec.Provider
		defer provider.Close() // it was never used
		spec.Provider, spec.Err = nil, lostTo(fresh.claim.lost)
		spec.Err.Permanent = true
	}
	fresh.err = spec.Err
	spec.Generation = generationOf(fresh)
	fresh.spec = spec
	c.mu.Unlock()
	c.loop.SetClass(spec)
	if known != nil && known.spec.Target != spec.Target {
		c.lookAgain(name) // What it has confirmed is somewhere else.
	}
	c.check(ctx, of)
	return nil
}

// lookAgain has the zones looked at that a class has deliveries of.
func (c *Controller) lookAgain(class string) {
	found, err := c.deliveries.GetIndexer().ByIndex(byClass, class)
	if err != nil {
		return
	}
	for _, object := range found {
		one := object.(*v1alpha1.Delivery)
		c.queue.Add(task{zoneTask, one.Namespace, one.Spec.Zone.Name})
	}
}

// driftInterval is how often each zone is compared, or its secondaries are asked whether they still have what they
// confirmed: as the class says, and less often where that would be more than half of what the class may be asked for.
func (c *Controller) driftInterval(of *v1alpha1.DNSClass, can delivery.Abilities) time.Duration {
	interval, perSecond := v1alpha1.DefaultDriftInterval, 50
	if can.Fetched {
		interval = time.Minute
	}
	if of.Spec.DriftInterval != nil {
		interval = of.Spec.DriftInterval.Duration
	}
	if of.Spec.RequestsPerSecond != nil {
		perSecond = int(*of.Spec.RequestsPerSecond)
	}
	zones, err := c.deliveries.GetIndexer().ByIndex(byClass, of.Name)
	if err != nil {
		return interval
	}
	return max(interval, time.Duration(2*len(zones))*time.Second/time.Duration(perSecond))
}

func generationOf(known *knownClass) string {
	text := fmt.Sprintf("%s/%d", known.uid, known.generation)
	for _, name := range slices.Sorted(maps.Keys(known.secrets)) {
		text += "/" + name + "=" + known.secrets[name]
	}
	if known.claim != nil {
		text += "/" + known.claim.lost
	}
	return text
}

// provide makes the provider of a class and notes the Secrets that it was made with.
func (c *Controller) provide(ctx context.Context, of *v1alpha1.DNSClass, fresh *knownClass, spec *delivery.Class) error {
	kind := class.ProviderOf(&of.Spec)
	newProvider, ok := c.config.Providers[kind]
	if !ok {
		return delivery.Errorf(delivery.ReasonInvalidConfiguration, "this controller has no provider for any block of the spec; it has %s", strings.Join(slices.Sorted(maps.Keys(c.config.Providers)), ", "))
	}
	spec.Kind = kind
	var err error
	spec.Provider, spec.Target, err = newProvider(of.DeepCopy(), func(namespace, name string) (map[string][]byte, error) {
		data, digest, err := c.secret(ctx, namespace, name)
		fresh.secrets[namespace+"/"+name] = digest
		if err != nil {
			cause := errors.Unwrap(err)
			if cause == nil {
				cause = err
			}
			klog.FromContext(ctx).Error(cause, "a Secret that a class names cannot be read", "class", of.Name, "namespace", namespace, "name", name)
		}
		return data, err
	})
	spec.Target = fingerprint(spec.Target)
	return err
}

// secret reads one, with what tells it from another: nothing that a digest could be guessed from leaves the process.
func (c *Controller) secret(ctx context.Context, namespace, name string) (map[string][]byte, string, error) {
	data, err := c.config.Secrets.Get(ctx, namespace, name)
	if errors.Is(err, ErrSecretNotFound) {
		next := "make it"
		var missing *MissingSecret
		if errors.As(err, &missing) {
			next = missing.Next
		}
		return nil, "none", &delivery.Error{Reason: delivery.ReasonSecretNotFound, Message: fmt.Sprintf("there is no Secret %s/%s; %s, or name another one in the DNSClass", namespace, name, next)}
	}
	if err != nil {
		return nil, "error", &delivery.Error{Reason: delivery.ReasonSecretNotFound, Message: fmt.Sprintf("the Secret %s/%s cannot be read; the controller's log says why", namespace, name), Err: err}
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%d %s %d ", len(key), key, len(data[key]))
		sum.Write(data[key])
	}
	return data, string(sum.Sum(nil)), nil
}

func (c *Controller) digests(ctx context.Context, of map[string]string) map[string]string {
	now := make(map[string]string, len(of))
	for at := range of {
		namespace, name, _ := strings.Cut(at, "/")
		_, digest, err := c.secret(ctx, namespace, name)
		if digest == "error" {
			klog.FromContext(ctx).V(2).Info("a Secret cannot be read; what it held stays in use", "namespace", namespace, "name", name, "err", errors.Unwrap(err))
			digest = of[at] // A server that does not answer is no reason to stop.
		}
		now[at] = digest
	}
	return now
}

// watchSecrets reads the Secrets of the classes by name, again and again: a watch would need the right to list.
func (c *Controller) watchSecrets(ctx context.Context) {
	tick := time.NewTicker(secretInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		var names []string
		for name, known := range c.known {
			if !known.missing {
				names = append(names, name)
			}
		}
		c.mu.Unlock()
		for _, name := range names {
			c.queue.Add(task{kind: classTask, name: name})
		}
	}
}

// checkHealth asks each class whether it works, when that is due. One that does not answer holds up no other.
func (c *Controller) checkHealth(ctx context.Context) {
	tick := time.NewTicker(min(c.config.HealthInterval, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, object := range c.classes.GetStore().List() {
			of := object.(*v1alpha1.DNSClass)
			c.mu.Lock()
			known := c.known[of.Name]
			due := known != nil && !known.missing && time.Since(known.checked) >= c.config.HealthInterval
			c.mu.Unlock()
			if due {
				c.check(ctx, of)
			}
		}
	}
}

// check asks for the health of a class in the background and has it written down. What a delivery has shown since the
// last time needs no asking.
func (c *Controller) check(ctx context.Context, of *v1alpha1.DNSClass) {
	c.mu.Lock()
	known := c.known[of.Name]
	proven, can := false, delivery.Abilities{}
	if known != nil {
		can = known.abilities
		proven = known.asked && known.health == nil && !known.learned.Before(known.checked)
		known.checked = time.Now()
	}
	c.mu.Unlock()
	c.checks.Go(func() {
		var err error
		began := time.Now()
		if !proven {
			asked, cancel := context.WithTimeout(ctx, healthTime)
			defer cancel()
			err = c.loop.Health(asked, of.Name)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, delivery.ErrNotProven) && c.delivers(of.Name, can) {
			err = nil
		}
		c.found(known, began, err)
		c.queue.Add(task{kind: healthTask, name: of.Name})
	})
}

// found takes down what a class was found to be by a check that began then, unless a delivery has shown since what
// works.
func (c *Controller) found(known *knownClass, began time.Time, err error) {
	if known == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known.learned.Before(began) { // else a delivery has shown since then what works
		known.heard(err)
	}
}

// heard takes down what the class was just found to be.
func (k *knownClass) heard(health error) {
	k.asked, k.health, k.found = true, health, metav1.Now().Rfc3339Copy()
}

// delivers: a zone stands confirmed by servers of the class.
func (c *Controller) delivers(class string, can delivery.Abilities) bool {
	deliveries, err := c.deliveries.GetIndexer().ByIndex(byClass, class)
	return err == nil && slices.ContainsFunc(deliveries, func(object any) bool {
		one := object.(*v1alpha1.Delivery)
		return meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionReady) && (!can.Fetched || len(one.Status.Servers) > 0)
	})
}

// learn takes a delivery for a health check: one that the provider confirmed proves that it lets us in, and one that
// fails for the whole class that the class does not work. What is known already is not written again.
func (c *Controller) learn(event delivery.Event) {
	var health error
	switch {
	case event.OfClass != nil:
		health = event.OfClass
	case !event.Proven:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[event.Key.Class]
	if known == nil || known.missing {
		return
	}
	known.learned = time.Now()
	if known.asked && alike(known.health, health) {
		return
	}
	known.heard(health)
	c.queue.Add(task{kind: healthTask, name: event.Key.Class})
}

func alike(one, other error) bool {
	if one == nil || other == nil {
		return one == nil && other == nil
	}
	return one.Error() == other.Error()
}

// syncHealth writes what was found last: by one writer, so that nothing older comes after it.
func (c *Controller) syncHealth(ctx context.Context, name string) error {
	of := c.classByName(name)
	c.mu.Lock()
	known := c.known[name]
	var health error
	var found metav1.Time
	write := known != nil && known.asked && of != nil && known.uid == of.UID
	if write {
		health, found = known.health, known.found
	}
	c.mu.Unlock()
	if !write {
		return nil
	}
	return c.writeHealth(ctx, of, health, found)
}

// writeHealth writes what a class was found to be then, with Stalled where that waits for a person.
func (c *Controller) writeHealth(ctx context.Context, of *v1alpha1.DNSClass, err error, now metav1.Time) error {
	health := v1alpha1.ClassHealth{Status: v1alpha1.HealthStatusHealthy, LastCheck: &now}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonServerHealthy, Message: "the provider answers and lets us in", ObservedGeneration: of.Generation, LastTransitionTime: now}
	switch {
	case errors.Is(err, delivery.ErrNotProven):
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, ReasonNotProven, cut(err.Error())
		health.Status, health.Message = v1alpha1.HealthStatusUnknown, ready.Message
	case err != nil:
		reason, message := delivery.ReasonServerError, "the provider failed in a way that it does not explain; the controller's log has the error"
		var e *delivery.Error
		if errors.As(err, &e) {
			reason, message = e.Reason, cmp.Or(e.Message, string(e.Reason))
			if e.Said != "" {
				message += "; it says: " + e.Said
			}
		} else {
			klog.FromContext(ctx).Error(err, "a health check failed", "class", of.Name)
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(reason), cut(message)
		health.Status, health.Message = v1alpha1.HealthStatusUnhealthy, ready.Message
	}
	before := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
	if before != nil && before.Status == ready.Status {
		ready.LastTransitionTime = before.LastTransitionTime
	}
	stalled, in := c.stall(&of.ObjectMeta, of.Status.Conditions, &ready)
	if in > 0 {
		c.queue.AddAfter(task{kind: healthTask, name: of.Name}, in)
	}
	if before != nil && *before == ready && of.Status.LastHealthCheck.Equal(&now) && sameStall(of.Status.Conditions, stalled) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": of.UID}, "status": map[string]any{
		"observedGeneration": of.Generation, "lastHealthCheck": now, "conditions": append([]any{ready}, stallPatch(of.Status.Conditions, stalled)...),
		"health": map[string]any{"status": health.Status, "lastCheck": health.LastCheck, "message": health.Message},
	}})
	if err != nil {
		return err
	}
	_, err = c.store.client.DNSClasses().Patch(ctx, of.Name, patchType, patch, metav1.PatchOptions{FieldManager: FieldManager}, "status")
	return gone(err)
}
