// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type controller struct {
	client  rest.Interface
	server  string
	zone    string
	key     string
	dns     *mdns.Client
	store   cache.Store
	queue   workqueue.TypedRateLimitingInterface[string]
	mu      sync.Mutex
	written map[string]string // the name in the zone by object
}

func newController(config *rest.Config, server, zone, key, secret string) (*controller, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.APIPath, config.GroupVersion = -1, "/apis", &groupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(makeScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &controller{
		client: client, server: server, zone: zone, key: key, written: map[string]string{},
		dns:   &mdns.Client{Timeout: 5 * time.Second, TsigSecret: map[string]string{key: secret}},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}, nil
}

// runWorkers reconciles until ctx ends. It calls ready after the informer's list.
func (c *controller) runWorkers(ctx context.Context, workers int, ready func()) error {
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			c.queue.Add(key)
		}
	}
	informer := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(c.client, "records", "", fields.Everything()), &Record{}, 0, nil)
	c.store = informer.GetStore()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue,
	}); err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	ready()
	for range workers {
		running.Go(func() {
			for c.reconcileNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	return nil
}

func (c *controller) reconcileNext(ctx context.Context) bool {
	key, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcileKey(ctx, key); err != nil {
		fmt.Printf("%s: %v\n", key, err)
		c.queue.AddRateLimited(key)
	} else {
		c.queue.Forget(key)
	}
	return true
}

func (c *controller) reconcileKey(ctx context.Context, key string) error {
	object, exists, err := c.store.GetByKey(key)
	if err != nil {
		return err
	}
	c.mu.Lock()
	former := c.written[key]
	c.mu.Unlock()
	if !exists {
		return c.writeName(ctx, key, former, nil)
	}
	r := object.(*Record)
	if former != "" && former != r.Spec.Name {
		if err := c.writeName(ctx, key, former, nil); err != nil {
			return err
		}
	}
	if r.Status.ObservedGeneration == r.Generation {
		return nil
	}
	if err := c.writeName(ctx, key, r.Spec.Name, r); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": RecordStatus{ObservedGeneration: r.Generation, Conditions: []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Updated", LastTransitionTime: metav1.Now(), ObservedGeneration: r.Generation,
	}}}})
	if err != nil {
		return err
	}
	return c.client.Patch(types.MergePatchType).Namespace(r.Namespace).Resource("records").Name(r.Name).SubResource("status").
		Body(patch).Do(ctx).Error()
}

// writeName replaces the data at a name; a nil r removes it.
func (c *controller) writeName(ctx context.Context, key, name string, r *Record) error {
	if name == "" {
		return nil
	}
	m := new(mdns.Msg)
	m.SetUpdate(c.zone)
	m.RemoveName([]mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: name}}})
	if r != nil {
		for _, value := range r.Spec.Values {
			rr, err := mdns.NewRR(fmt.Sprintf("%s %d IN %s %s", name, r.Spec.TTL, r.Spec.Type, value))
			if err != nil {
				return err
			}
			m.Insert([]mdns.RR{rr})
		}
	}
	m.SetTsig(c.key, mdns.HmacSHA256, 300, time.Now().Unix())
	answer, _, err := c.dns.ExchangeContext(ctx, m, c.server)
	if err != nil {
		return fmt.Errorf("update of %s: %w", name, err)
	}
	if answer.Rcode != mdns.RcodeSuccess {
		return fmt.Errorf("update of %s: %s", name, mdns.RcodeToString[answer.Rcode])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written[key] = name; r == nil {
		delete(c.written, key)
	}
	return nil
}
