// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/why"
	"kubi.zone/kubizone/test/must"
)

// A click sends nothing to an address of the viewer's network that a tenant's instance has, and asks there for a class.
func TestLoadName_asksNoTenantsServerInThisNetwork(t *testing.T) {
	for _, listed := range []bool{false, true} {
		server := must.Get(net.ListenPacket("udp4", "127.0.0.1:0"))(t)
		defer server.Close()
		address := server.LocalAddr().String()
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "zone", UID: "u"},
			Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7}}
		delivery := v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "d"},
			Spec: v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: "zone", UID: "u"},
				ClassRef: v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "own"}},
			Status: v1alpha1.DeliveryStatus{Servers: []v1alpha1.DeliveryServer{{Name: "team/ns"}}}}
		if listed {
			delivery.Spec.ClassRef = v1alpha1.DNSClassReference{Name: "public"}
		}
		objects := map[string]any{"/zones/zone": zone, "/deliveries": &v1alpha1.DeliveryList{Items: []v1alpha1.Delivery{delivery}},
			"/entries": &v1alpha1.ZoneEntries{}, "/bind9instances/ns": &bind9.Bind9Instance{Spec: bind9.Bind9InstanceSpec{
				External: &bind9.ExternalServer{Address: address}}},
			"/dnsclasses/public": &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{
				Secondaries: []v1alpha1.Secondary{{Address: address}}}}}}
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for end, object := range objects {
				if strings.HasSuffix(r.URL.Path, end) {
					_ = json.NewEncoder(w).Encode(object)
					return
				}
			}
			http.NotFound(w, r)
		}))
		defer api.Close()
		r := must.Get(newReading(&rest.Config{Host: api.URL}, "", "team"))(t)
		page := must.Get(loadName(r, httptest.NewRequest(http.MethodGet, "/name?text=zone/zone", nil)))(t).(*namePage)
		if page.Chain == nil {
			t.Fatal(page.Problem)
		}
		must.Succeed(t, server.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		if _, _, err := server.ReadFrom(make([]byte, 1<<10)); (err == nil) != listed {
			t.Errorf("listed by a class: %t, and reading a question: %v", listed, err)
		}
		for _, l := range page.Chain.Paths[0].Links {
			if l.Kind == why.KindServer && !listed && !strings.Contains(l.Text, "kubectl kubizone why asks it") {
				t.Errorf("%+v", l)
			}
		}
	}
}
