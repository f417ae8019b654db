// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/why"
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

// The page suggests a kubectl command for the terminal. The command always names the console's namespace, because the
// user's shell may have another. If the question itself is refused, no command is suggested.
func TestLoadName_offersACommandThatWorks(t *testing.T) {
	b := startConsole(t)
	for query, want := range map[string]string{"text=record": "kubectl kubizone why record -n team",
		"text=record&namespace=other": "kubectl kubizone why record -n other", "text=record&type=A": "", "text=192.0.2.0/24": "",
		"text=none": ""} {
		text := b.readPage("/name?" + query)
		if got := cutBetween(text, `<p class="next"><span class="type"><code>`, "</code>"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// The last change has user and way as far as the user of the console may see them. A missing right is named.
func TestLoadName_readsTheLastChange(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "zone", UID: "u"},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7}}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "www"}, Status: v1alpha1.RecordStatus{
		FQDN: "www.example.org.", ZoneRef: &v1alpha1.AdoptingZone{Namespace: "other", Name: "zone", UID: "u"}}}
	alice := v1alpha1.HistoryStep{Serial: 7, Way: v1alpha1.WayRequest, By: "alice", FieldManager: "kubectl-edit"}
	masked := v1alpha1.HistoryStep{Serial: 7, Way: v1alpha1.WayUpdateKey, AnotherNamespace: true}
	for _, one := range []struct {
		text    string
		steps   []v1alpha1.HistoryStep
		refused []string // resources, with ?sources for the users of all namespaces
		want    string
	}{
		{"record/www", []v1alpha1.HistoryStep{alice}, nil, "alice (kubectl-edit) Request 7"},
		{"zone/zone", []v1alpha1.HistoryStep{alice}, nil, "alice (kubectl-edit) Request 7"},
		{"zone/zone", []v1alpha1.HistoryStep{masked}, []string{"zones?sources"}, "another namespace UpdateKey 7"},
		{"record/www", nil, nil, "none"},
		{"record/www", nil, []string{"records"}, "you lack the right to get records/changes in namespace other"},
		{"zone/zone", nil, []string{"zones?sources", "zones"}, "you lack the right to get zones/changes in namespace other"},
	} {
		api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			path := strings.TrimPrefix(r.URL.Path, "/apis/kubi.zone/v1alpha1/namespaces/other/")
			resource, _, _ := strings.Cut(path, "/")
			if r.URL.Query().Get("sources") == "true" {
				resource += "?sources"
			}
			object := map[string]any{"zones/zone": zone, "records/www": record, "deliveries": &v1alpha1.DeliveryList{},
				"zones/zone/entries":  &v1alpha1.ZoneEntries{},
				"records/www/changes": &v1alpha1.RecordChanges{History: one.steps},
				"zones/zone/changes":  &v1alpha1.ZoneChanges{History: one.steps}}[path]
			switch {
			case strings.HasSuffix(path, "/changes") && slices.Contains(one.refused, resource):
				w.WriteHeader(http.StatusForbidden)
				object = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
					Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
			case object == nil:
				http.NotFound(w, r)
				return
			}
			_ = json.NewEncoder(w).Encode(object)
		})
		r := must.Get(newReading(&rest.Config{Host: "http://api", Transport: handled{api}}, "", "team"))(t)
		request := httptest.NewRequest(http.MethodGet, "/name?namespace=other&text="+one.text, nil)
		page := must.Get(loadName(r, request))(t).(*namePage)
		if page.Chain == nil || len(page.Paths) != 1 {
			t.Fatalf("%s: %s", one.text, page.Problem)
		}
		path, got := page.Paths[0], "none"
		switch {
		case path.Lack != nil:
			got = path.Lack.Error()
		case path.Last != nil:
			got = fmt.Sprintf("%s %s %d", path.Last.User(), path.Last.Way, path.Last.Serial)
		}
		if got != one.want || path.Zone != "other/zone" || page.Commands[0] != "kubectl kubizone why "+one.text+" -n other" {
			t.Errorf("%s: %s, want %s; zone %s; %s", one.text, got, one.want, path.Zone, page.Commands)
		}
	}
}
