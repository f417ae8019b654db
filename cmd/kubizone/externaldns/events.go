// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/client/externaldns"
)

const (
	maxNote = 1024
	// maxEvents bounds the remembered Events of a namespace, and the namespaces.
	repeatTime, maxEvents = 30 * time.Minute, 1 << 12
)

var sources = map[string]schema.GroupVersionResource{
	"service":   {Version: "v1", Resource: "services"},
	"pod":       {Version: "v1", Resource: "pods"},
	"ingress":   {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	"crd":       {Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"},
	"httproute": {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	"grpcroute": {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "grpcroutes"},
	"tlsroute":  {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "tlsroutes"},
	"tcproute":  {Group: "gateway.networking.k8s.io", Version: "v1alpha2", Resource: "tcproutes"},
	"udproute":  {Group: "gateway.networking.k8s.io", Version: "v1alpha2", Resource: "udproutes"},
	"route":     {Group: "route.openshift.io", Version: "v1", Resource: "routes"},
}

var errNoKind = errors.New("objects of its kind are not read here")

type reporter struct {
	objects   dynamic.Interface
	events    eventsclient.EventsV1Interface
	reporting sync.Mutex
	// recent maps a namespace to the cache of its recent Events.
	recent *cache.LRUExpireCache
}

// readObject removes managed fields and last-applied configuration, which may have former values.
func (t *reporter) readObject(ctx context.Context, r externaldns.Resource) (*unstructured.Unstructured, error) {
	resource, known := sources[r.Kind]
	if !known {
		return nil, errNoKind
	}
	object, err := t.objects.Resource(resource).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err == nil {
		trimObject(object)
	}
	return object, err
}

func trimObject(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// reportAll writes Events about refused changes to their source objects. A call writes at most fairShare Events for a
// namespace, and repeats an Event only after repeatTime. A call during another call does nothing; the next cycle of
// external-dns reports the rest. client-go's recorder would merge Events about different names of an object.
func (t *reporter) reportAll(ctx context.Context, candidates []externaldns.Candidate) {
	// The call before still writes Events to a slow API.
	if !t.reporting.TryLock() {
		return
	}
	defer t.reporting.Unlock()

	// Leave out the Events that a namespace has had within repeatTime. Each namespace has a cache of its own, so that a
	// tenant with many refused names displaces no Events of others.
	recent := map[string]*cache.LRUExpireCache{}
	unreported := slices.DeleteFunc(candidates, func(c externaldns.Candidate) bool {
		namespace := c.Resource.Namespace
		if recent[namespace] == nil {
			cached, isCached := t.recent.Get(namespace)
			if !isCached {
				cached = cache.NewLRUExpireCache(maxEvents)
			}
			recent[namespace] = cached.(*cache.LRUExpireCache)
			t.recent.Add(namespace, cached, repeatTime)
		}
		_, isRecent := recent[namespace].Get(c.Resource.String() + "|" + noteOf(&c))
		return isRecent
	})

	// A tenant with a thousand refused names comes between the Events of others, not before.
	orderFairly(unreported, func(c externaldns.Candidate) string { return c.Resource.Namespace })

	// A failed write is tried again after refusedTime, except for a kind of object that is never read.
	counts := map[string]int{}
	for _, c := range unreported {
		namespace := c.Resource.Namespace
		counts[namespace]++
		// A later cycle of external-dns reports the rest, because such an Event is not in the cache.
		if ctx.Err() != nil || counts[namespace] > fairShare {
			continue
		}
		note, expiry := noteOf(&c), repeatTime
		klog.V(1).InfoS("told", "object", c.Resource.String(), "why", note)
		if err := t.writeEvent(ctx, &c, note); err != nil {
			klog.V(1).InfoS("cannot write an event", "object", c.Resource.String(), "err", err)
			if !errors.Is(err, errNoKind) {
				expiry = refusedTime
			}
		}
		recent[namespace].Add(c.Resource.String()+"|"+note, true, expiry)
	}
}

func noteOf(c *externaldns.Candidate) string {
	note := fmt.Sprintf("%s %s: %v", c.Endpoint.DNSName, c.Endpoint.RecordType, c.Err)
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	return note
}

// writeEvent writes a Warning about an endpoint to its source object: NameKept if the object keeps its Record,
// otherwise NameRefused. It reads the object for the Event's reference.
func (t *reporter) writeEvent(ctx context.Context, c *externaldns.Candidate, note string) error {
	object, err := t.readObject(ctx, c.Resource)
	if err != nil {
		return err
	}
	r, reason := c.Resource, "NameRefused"
	if c.Admitted {
		reason = "NameKept"
	}
	_, err = t.events.Events(r.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, GenerateName: externaldns.FieldManager + "-"},
		EventTime:  metav1.NowMicro(), ReportingController: externaldns.FieldManager, ReportingInstance: externaldns.FieldManager,
		Type: corev1.EventTypeWarning, Reason: reason, Action: "Publish", Note: note,
		Regarding: corev1.ObjectReference{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: r.Namespace, Name: r.Name,
			UID: object.GetUID()},
	}, metav1.CreateOptions{})
	return err
}
