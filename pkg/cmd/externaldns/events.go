// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"fmt"
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

	"kubi.zone/kubizone/pkg/externaldns"
)

const (
	// maxNote is what an Event may say, in octets.
	maxNote = 1024
	// sayTime is after which an object is told the same again.
	sayTime = 30 * time.Minute
)

// kinds are the objects that endpoints come from, as external-dns calls them. Of others nothing is known but the name.
var kinds = map[string]struct{ group, version, resource, kind string }{
	"service":   {"", "v1", "services", "Service"},
	"pod":       {"", "v1", "pods", "Pod"},
	"ingress":   {"networking.k8s.io", "v1", "ingresses", "Ingress"},
	"crd":       {"externaldns.k8s.io", "v1alpha1", "dnsendpoints", "DNSEndpoint"},
	"httproute": {"gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute"},
	"grpcroute": {"gateway.networking.k8s.io", "v1", "grpcroutes", "GRPCRoute"},
	"tlsroute":  {"gateway.networking.k8s.io", "v1", "tlsroutes", "TLSRoute"},
	"tcproute":  {"gateway.networking.k8s.io", "v1alpha2", "tcproutes", "TCPRoute"},
	"udproute":  {"gateway.networking.k8s.io", "v1alpha2", "udproutes", "UDPRoute"},
	"route":     {"route.openshift.io", "v1", "routes", "Route"},
}

// teller reads the objects that endpoints come from, and tells them what they do not get.
type teller struct {
	objects dynamic.Interface
	events  eventsclient.EventsV1Interface
	telling sync.Mutex
	// said is what objects were told.
	said *cache.LRUExpireCache
}

// readObject reads an object. One that may not be read, or is of a kind that is not known, is empty.
func (t *teller) readObject(ctx context.Context, r externaldns.Resource) *unstructured.Unstructured {
	if of, ok := kinds[r.Kind]; ok {
		resource := schema.GroupVersionResource{Group: of.group, Version: of.version, Resource: of.resource}
		object, err := t.objects.Resource(resource).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err == nil {
			return object
		}
		klog.V(1).InfoS("cannot read the object that an endpoint comes from", "object", r.String(), "err", err)
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// readTexts are all texts in an object, except those that the field managers of others keep.
func (t *teller) readTexts(ctx context.Context, r externaldns.Resource) []string {
	object := t.readObject(ctx, r)
	object.SetManagedFields(nil)
	return appendTexts(nil, object.Object)
}

func appendTexts(to []string, value any) []string {
	switch value := value.(type) {
	case string:
		return append(to, value)
	case []any:
		for _, one := range value {
			to = appendTexts(to, one)
		}
	case map[string]any:
		for _, one := range value {
			to = appendTexts(to, one)
		}
	}
	return to
}

// tellAll says by Events of their objects why candidates are left out. What is left when it is called again is said in
// a later cycle. A recorder of client-go would take two names of one object for the same.
func (t *teller) tellAll(ctx context.Context, refused []externaldns.Candidate) {
	if !t.telling.TryLock() {
		return
	}
	defer t.telling.Unlock()
	for _, c := range refused {
		note := fmt.Sprintf("%s %s: %v", c.Endpoint.DNSName, c.Endpoint.RecordType, c.Err)
		if len(note) > maxNote {
			note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
		}
		key := c.Resource.String() + "|" + note
		if _, again := t.said.Get(key); again || ctx.Err() != nil {
			continue
		}
		klog.V(1).InfoS("left out", "object", c.Resource.String(), "why", note)
		if err := t.writeEvent(ctx, c.Resource, note); err != nil {
			klog.V(1).InfoS("cannot write an event", "object", c.Resource.String(), "err", err)
			continue
		}
		t.said.Add(key, true, sayTime)
	}
}

func (t *teller) writeEvent(ctx context.Context, r externaldns.Resource, note string) error {
	of, known := kinds[r.Kind]
	if !known {
		return nil
	}
	_, err := t.events.Events(r.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, GenerateName: externaldns.FieldManager + "-"},
		EventTime:  metav1.NowMicro(), ReportingController: externaldns.FieldManager, ReportingInstance: externaldns.FieldManager,
		Type: corev1.EventTypeWarning, Reason: "NameRefused", Action: "Publish", Note: note,
		Regarding: corev1.ObjectReference{APIVersion: schema.GroupVersion{Group: of.group, Version: of.version}.String(), Kind: of.kind,
			Namespace: r.Namespace, Name: r.Name, UID: t.readObject(ctx, r).GetUID()},
	}, metav1.CreateOptions{})
	return err
}
