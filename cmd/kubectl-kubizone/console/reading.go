// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/overview"
)

// pageEntries is the number of entries per page. A search returns after searchTime with the entries found so far.
const (
	pageEntries = 200
	searchTime  = 5 * time.Second
	searchPause = 50 * time.Millisecond
)

type reading struct {
	config  *rest.Config
	objects versioned.Interface
	api     client.KubizoneV1alpha1Interface
	status  *overview.Reader
	// namespaces are the namespaces of the flag -n, or NamespaceAll alone.
	namespaces []string
	// own is the first namespace of -n, or the namespace of the kubeconfig context.
	own  string
	base string // the URL path of all pages, with a secret
}

// newReading returns a reader with the rights of the kubeconfig. It reads the namespaces in asked, separated by commas,
// all for "". The namespace own takes the place of "all" if the user may not list all.
func newReading(config *rest.Config, asked, own string) (*reading, error) {
	// The server limits the rate, and a page shows warnings of dry runs only.
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	// The second line of defence for C1: a write that a page sends by mistake never leaves the program.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	objects, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	r := &reading{config: config, objects: objects, api: objects.KubizoneV1alpha1(), namespaces: strings.Split(asked, ","),
		own: strings.Split(own, ",")[0]}
	if r.status, err = overview.NewReader(config, r.namespaces, r.own); err != nil {
		return nil, err
	}
	r.status.MaxObjects = overviewMost
	return r, nil
}

type readOnly struct{ next http.RoundTripper }

func (t readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	reviews := request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/namereviews")
	if !reads && !reviews && request.URL.Query().Get("dryRun") != metav1.DryRunAll {
		return nil, fmt.Errorf("the console writes nothing: %s %s was not sent", request.Method, request.URL.Path)
	}
	return t.next.RoundTrip(request)
}

func (r *reading) scope() []string {
	if r.namespaces[0] == metav1.NamespaceAll && r.own != "" {
		return []string{metav1.NamespaceAll, r.own}
	}
	return r.namespaces
}

// readEntries reads at most maxEntries entries of a zone. The server ends long searches early, so readEntries repeats
// the request with the continue token, for about searchTime.
func (r *reading) readEntries(ctx context.Context, zone types.NamespacedName, maxEntries int, parameters map[string]string) (
	*v1alpha1.ZoneEntries, error) {
	found, next := &v1alpha1.ZoneEntries{}, parameters["continue"]
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	// The first request may take longer than searchTime.
	for requestCtx := ctx; ; requestCtx = limited {
		request := r.api.RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("entries").
			Param("limit", strconv.Itoa(maxEntries-len(found.Entries)))
		for name, value := range parameters {
			if value != "" && name != "continue" {
				request.Param(name, value)
			}
		}
		if next != "" {
			request.Param("continue", next)
		}
		var page v1alpha1.ZoneEntries
		if err := request.Do(requestCtx).Into(&page); err != nil {
			// The browser is still there, and searchTime alone has ended this request.
			if requestCtx == limited && limited.Err() != nil && ctx.Err() == nil {
				return found, nil // searchTime is over
			}
			return nil, err
		}
		page.Entries = append(found.Entries, page.Entries...)
		found, next = &page, page.Metadata.Continue
		if next == "" || len(found.Entries) >= maxEntries || limited.Err() != nil {
			return found, nil
		}
		wait(limited, searchPause)
	}
}

// readSourced reads entries with the Records that they come from. Without the right to see these sources (S7.14),
// sourced is false, and the entries have none. It changes parameters.
func (r *reading) readSourced(ctx context.Context, zone types.NamespacedName, maxEntries int, parameters map[string]string) (
	*v1alpha1.ZoneEntries, bool, error) {
	parameters["sources"] = "true"
	list, err := r.readEntries(ctx, zone, maxEntries, parameters)
	if !apierrors.IsForbidden(err) {
		return list, true, err
	}
	delete(parameters, "sources")
	list, err = r.readEntries(ctx, zone, maxEntries, parameters)
	return list, false, err
}

var errAbsent = errors.New("not found")

// lack is a missing right or, with a Reason, another error of a read.
type lack struct{ Verb, Resource, Namespace, Reason string }

// Error names no object if a right is missing.
func (l *lack) Error() string {
	if l.Reason != "" {
		return fmt.Sprintf("%s could not be read: %s", l.Resource, l.Reason)
	}
	where := "all namespaces"
	if l.Namespace != "" {
		where = "namespace " + l.Namespace
	}
	if strings.Contains(l.Resource, "dnsclasses") {
		where = "the cluster"
	}
	return fmt.Sprintf("you lack the right to %s %s in %s", l.Verb, l.Resource, where)
}

// Ask returns the kubectl command that shows the right, "" for another error than a missing right.
func (l *lack) Ask() string {
	if l.Reason != "" {
		return ""
	}
	resource, sub, _ := strings.Cut(l.Resource, "/")
	command := "kubectl auth can-i " + l.Verb + " " + resource + ".kubi.zone"
	if sub != "" {
		command += " --subresource=" + sub
	}
	if l.Namespace != "" {
		return command + " -n " + l.Namespace
	}
	return command + " -A"
}

func lackOf(err error, verb, resource, namespace string) *lack {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &lack{Verb: verb, Resource: resource, Namespace: namespace}
	}
	return &lack{Verb: verb, Resource: resource, Namespace: namespace, Reason: cmp.Or(err.Error(), "unknown")}
}
