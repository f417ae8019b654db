// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/test/must"
)

// If a user may not read the entries of a zone, the plan still shows the entries that follow from the Zone object
// itself, and names the missing right. Any other error makes the plan fail.
func TestAddEntries_withoutTheRightToReadThem(t *testing.T) {
	refusal := apierrors.NewForbidden(v1alpha1.Resource("zones"), "org", nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(refusal.ErrStatus.Code))
		must.Succeed(t, json.NewEncoder(w).Encode(refusal.ErrStatus))
	}))
	defer server.Close()
	client := must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t).KubizoneV1alpha1().RESTClient()
	ttl := int32(600)
	before := &v1alpha1.Zone{Spec: v1alpha1.ZoneSpec{NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org."}}
	before.Namespace, before.Name = "dns", "org"
	after := before.DeepCopy()
	after.Spec.TTL = &ttl
	write := &load.Change{Zone: "dns/org", ZoneBefore: before, ZoneAfter: after}
	r := New()
	must.Succeed(t, r.addEntries(t.Context(), client, write))
	lines := strings.Join(linesOf(r.byName["dns/org"].Changes), "\n") + "\n"
	for _, want := range []string{" SOA", " NS", "ns1.example.org. A"} {
		want += ": ttl 600 instead of 360 (zone dns/org)\n"
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}
	if notes := strings.Join(linesOf(r.Notes), "\n"); !strings.Contains(notes, "warning: zone dns/org: ") ||
		!strings.Contains(notes, "zones/entries in namespace dns") {
		t.Errorf("%q does not name the right", notes)
	}
	refusal = apierrors.NewNotFound(v1alpha1.Resource("zones"), "org")
	if err := New().addEntries(t.Context(), client, write); !apierrors.IsNotFound(err) {
		t.Errorf("%v, not what failed", err)
	}
}

// Every class that a zone may leave is named, also if default classes are unreadable.
func TestCompleteZone_namesTheClassesThatItLeaves(t *testing.T) {
	refs := func(names ...string) (all []v1alpha1.DNSClassReference) {
		for _, one := range names {
			all = append(all, v1alpha1.DNSClassReference{Name: one})
		}
		return all
	}
	class := func(name string, of *v1alpha1.NamespaceSelection) v1alpha1.DNSClass {
		annotations := map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
		return v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
			Spec: v1alpha1.DNSClassSpec{Namespaces: of}}
	}
	const byLabels = "labels (where the labels of the namespace are those of its selector)"
	const unread = "the default classes, which may not be read: a ClusterRoleBinding to kubizone-class-viewer shows them"
	for _, one := range []struct {
		what          string
		before, after []v1alpha1.DNSClassReference
		unreadable    bool
		want          []string
	}{
		{"none", refs("a", "b"), refs("b", "a", "c"), false, nil},
		{"one", refs("a", "b"), refs("b", "c"), false, []string{"a"}},
		{"for the default", refs("a"), nil, false, []string{"a"}},
		{"the same as default", refs("sure"), nil, false, nil},
		{"perhaps the same", refs("labels"), nil, false, []string{"labels"}},
		{"the default", nil, refs("a"), false, []string{"sure", byLabels}},
		{"for an unreadable default", refs("a"), nil, true, []string{"a"}},
		{"an unreadable default", nil, refs("a"), true, []string{unread}},
		{"no change", nil, nil, true, nil},
	} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org"},
			Spec: v1alpha1.ZoneSpec{DNSClassRefs: one.before}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			refusal := apierrors.NewForbidden(v1alpha1.Resource("dnsclasses"), "", nil)
			var answer any = zone
			switch {
			case !strings.HasSuffix(r.URL.Path, "/dnsclasses"):
			case one.unreadable:
				w.WriteHeader(http.StatusForbidden)
				answer = refusal.ErrStatus
			default:
				labels := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
				answer = v1alpha1.DNSClassList{Items: []v1alpha1.DNSClass{
					class("sure", &v1alpha1.NamespaceSelection{Names: []string{"dns"}}),
					class("other", &v1alpha1.NamespaceSelection{Names: []string{"team"}}),
					class("labels", &v1alpha1.NamespaceSelection{Selector: labels})}}
			}
			must.Succeed(t, json.NewEncoder(w).Encode(answer))
		}))
		after := zone.DeepCopy()
		after.Spec.DNSClassRefs = one.after
		z := &ZonePlan{Zone: "dns/org", write: &load.Change{ZoneBefore: zone, ZoneAfter: after}}
		must.Succeed(t, New().completeZone(t.Context(), must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t), z))
		if server.Close(); !slices.Equal(z.Left, one.want) {
			t.Errorf("%s: leaves %q, want %q", one.what, z.Left, one.want)
		}
	}
}
