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

// sources are the objects that endpoints come from, as external-dns calls them. Of others no more is known than a name.
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

// teller reads the objects that endpoints come from, and tells them what they do not get.
type teller struct {
	objects dynamic.Interface
	events  eventsclient.EventsV1Interface
	telling sync.Mutex
	// said is what objects were told.
	said *cache.LRUExpireCache
}

// readObject reads an object, except what other field managers keep in it. One of a kind that is not known is empty.
func (t *teller) readObject(ctx context.Context, r externaldns.Resource) (*unstructured.Unstructured, error) {
	resource, known := sources[r.Kind]
	if !known {
		return &unstructured.Unstructured{}, nil
	}
	object, err := t.objects.Resource(resource).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err == nil {
		object.SetManagedFields(nil)
	}
	return object, err
}

// appendTexts appends all texts in a value of JSON.
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
		good := sayTime
		if err := t.writeEvent(ctx, c.Resource, note); err != nil {
			klog.V(1).InfoS("cannot write an event", "object", c.Resource.String(), "err", err)
			good = refusedTime
		}
		t.said.Add(key, true, good)
	}
}

func (t *teller) writeEvent(ctx context.Context, r externaldns.Resource, note string) error {
	object, err := t.readObject(ctx, r)
	if err != nil || object.Object == nil {
		return err
	}
	_, err = t.events.Events(r.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, GenerateName: externaldns.FieldManager + "-"},
		EventTime:  metav1.NowMicro(), ReportingController: externaldns.FieldManager, ReportingInstance: externaldns.FieldManager,
		Type: corev1.EventTypeWarning, Reason: "NameRefused", Action: "Publish", Note: note,
		Regarding: corev1.ObjectReference{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: r.Namespace, Name: r.Name,
			UID: object.GetUID()},
	}, metav1.CreateOptions{})
	return err
}
