// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/externaldns"
)

const (
	// reasonRefused is that of Events.
	reasonRefused = "NameRefused"
	// maxNote is what an Event may say, in octets.
	maxNote = 1024
	// sayTime is after which an object is told the same again.
	sayTime = 30 * time.Minute
	// maxWaiting is how many Events wait to be written. What comes then is said in a later cycle.
	maxWaiting = 1 << 12
)

// kinds are the objects that endpoints come from, as external-dns calls them. Of others nothing is known but the name.
var kinds = map[string]struct{ version, kind, resource string }{
	"service":   {"v1", "Service", "services"},
	"pod":       {"v1", "Pod", "pods"},
	"ingress":   {"networking.k8s.io/v1", "Ingress", "ingresses"},
	"crd":       {"externaldns.k8s.io/v1alpha1", "DNSEndpoint", "dnsendpoints"},
	"httproute": {"gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes"},
	"grpcroute": {"gateway.networking.k8s.io/v1", "GRPCRoute", "grpcroutes"},
	"tlsroute":  {"gateway.networking.k8s.io/v1", "TLSRoute", "tlsroutes"},
	"tcproute":  {"gateway.networking.k8s.io/v1alpha2", "TCPRoute", "tcproutes"},
	"udproute":  {"gateway.networking.k8s.io/v1alpha2", "UDPRoute", "udproutes"},
	"route":     {"route.openshift.io/v1", "Route", "routes"},
}

// teller reads the objects that endpoints come from, and tells them what they do not get.
type teller struct {
	local    kubernetes.Interface
	recorder events.EventRecorder
	// said is what objects were told.
	said    *cache.LRUExpireCache
	waiting chan note
}

// note is one Event.
type note struct {
	to   externaldns.Resource
	text string
}

func newTeller(local kubernetes.Interface, recorder events.EventRecorder) *teller {
	return &teller{local: local, recorder: recorder, said: cache.NewLRUExpireCache(maxRemembered),
		waiting: make(chan note, maxWaiting)}
}

// source is what an object says of itself.
type source struct {
	uid types.UID
	// texts are all texts in it, except those that the field managers of others keep.
	texts []string
}

// readSource reads an object. One that may not be read, or is of a kind that is not known, says nothing.
func (t *teller) readSource(ctx context.Context, r externaldns.Resource) source {
	of, ok := kinds[r.Kind]
	if !ok {
		return source{}
	}
	prefix := "/apis/"
	if !strings.Contains(of.version, "/") {
		prefix = "/api/"
	}
	data, err := t.local.Discovery().RESTClient().Get().AbsPath(prefix+of.version, "namespaces", r.Namespace, of.resource,
		r.Name).SetHeader("Accept", "application/json").DoRaw(ctx)
	var object map[string]any
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		klog.V(1).InfoS("cannot read the object that an endpoint comes from", "object", r.String(), "err", err)
	}
	var found source
	if metadata, ok := object["metadata"].(map[string]any); ok {
		uid, _ := metadata["uid"].(string)
		found.uid = types.UID(uid)
		delete(metadata, "managedFields")
	}
	found.texts = appendTexts(nil, object)
	return found
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

// tellObject says by an Event of the object why an endpoint is left out. It does not wait.
func (t *teller) tellObject(r externaldns.Resource, e *externaldns.Endpoint, message string) {
	text := fmt.Sprintf("%s %s: %s", e.DNSName, e.RecordType, message)
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote-3], "") + "..."
	}
	key := r.String() + "|" + text
	if _, again := t.said.Get(key); again {
		return
	}
	select {
	case t.waiting <- note{r, text}:
		t.said.Add(key, true, sayTime)
	default:
	}
}

// runTelling writes Events until ctx ends.
func (t *teller) runTelling(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-t.waiting:
			klog.V(1).InfoS("left out", "object", n.to.String(), "why", n.text)
			if of, known := kinds[n.to.Kind]; known {
				regarding := &corev1.ObjectReference{APIVersion: of.version, Kind: of.kind, Namespace: n.to.Namespace, Name: n.to.Name,
					UID: t.readSource(ctx, n.to).uid}
				t.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, reasonRefused, "Publish", "%s", n.text)
			}
		}
	}
}
