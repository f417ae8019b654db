// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/test/must"
)

// Without the right to read entries, a plan shows the Zone's own entries and the missing right. Any other error fails
// the plan.
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
	r := newReport()
	must.Succeed(t, r.addEntries(t.Context(), client, write))
	lines := listLines(r.byName["dns/org"].Changes)
	for _, want := range []string{" SOA", " NS", "ns1.example.org. A"} {
		want += ": ttl 600 instead of 360 (zone dns/org)\n"
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}
	if notes := listLines(r.Notes); !strings.Contains(notes, "warning: zone dns/org: ") ||
		!strings.Contains(notes, "zones/entries in namespace dns") {
		t.Errorf("%q does not name the right", notes)
	}
	refusal = apierrors.NewNotFound(v1alpha1.Resource("zones"), "org")
	if err := newReport().addEntries(t.Context(), client, write); !apierrors.IsNotFound(err) {
		t.Errorf("%v, not what failed", err)
	}
}
