// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/test/must"
)

func TestIsPublic(t *testing.T) {
	for _, server := range []string{"192.0.2.1:53", "8.8.8.8:5353", "[2001:db8::1]:53", "[2a00::1]:53"} {
		if !isPublic(server) {
			t.Errorf("%s is not public", server)
		}
	}
	for _, server := range []string{"127.0.0.1:53", "10.0.0.1:53", "172.16.0.1:53", "192.168.1.1:53", "169.254.169.254:53", "0.0.0.0:53",
		"0.1.2.3:53", "100.100.100.200:53", "224.0.0.251:5353", "255.255.255.255:53", "240.0.0.1:53", "198.18.0.1:53", "192.0.0.1:53",
		"[::1]:53", "[::]:53", "[::ffff:127.0.0.1]:53", "[::ffff:8.8.8.8]:53", "[::7f00:1]:53", "[fe80::1%eth0]:53", "[fd00:ec2::254]:53",
		"[fec0::1]:53", "168.63.129.16:53", "[ff02::fb]:53", "[64:ff9b::7f00:1]:53", "[2002:7f00:1::]:53", "[2001:0:7f00:1::]:53",
		"localhost:53",
		"ns.example.org:53", "", "8.8.8.8"} {
		if isPublic(server) {
			t.Errorf("%q is public", server)
		}
	}
}

// serveObjects answers by the ends of paths.
func serveObjects(objects map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for end, object := range objects {
			if strings.HasSuffix(r.URL.Path, end) {
				_ = json.NewEncoder(w).Encode(object)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// W3: a tenant's zone has its reader send nothing into the reader's network, and a class lists its servers anywhere.
func TestAsk_sendsNothingIntoAPrivateNetwork_W3(t *testing.T) {
	const chosen, listed = "10.0.0.1", "127.0.0.1:5300"
	zone, class := goodFacts().Zone.Object.DeepCopy(), &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}}
	zone.Namespace, zone.Name, zone.UID, zone.Status.FQDN = "team", "zone", "u", "example.org."
	zone.Status.Serial, zone.Status.SettledSerial = 9, 9
	zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{chosen}},
		{Name: "ns2", Addresses: []string{"169.254.169.254"}}}
	class.Spec.Transfer = &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: listed}}}
	delivery := v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "d"}, Spec: v1alpha1.DeliverySpec{
		Zone: v1alpha1.DeliveredZone{Name: "zone", UID: "u"}, ClassRef: v1alpha1.DNSClassReference{Name: "public"}}}
	// The resolver's answers are the tenant's: the parent's server is a host of the reader's network.
	files := map[string]string{"127.0.0.53:53": strings.ReplaceAll(resolver, "192.0.2.10", "192.168.0.1"), listed: "example.org." + soa}
	for _, one := range []struct {
		public     bool
		deliveries []v1alpha1.Delivery
		want       []string
	}{
		{true, nil, nil},
		{true, []v1alpha1.Delivery{delivery}, []string{listed}},
		{false, nil, []string{"10.0.0.1:53", "169.254.169.254:53", "192.168.0.1:53"}},
	} {
		server := httptest.NewServer(serveObjects(map[string]any{"/zones/zone": zone, "/dnsclasses/public": class,
			"/entries": &v1alpha1.ZoneEntries{}, "/deliveries": &v1alpha1.DeliveryList{Items: one.deliveries}}))
		t.Cleanup(server.Close)
		client := must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t)
		var mu sync.Mutex
		var asked []string
		answer := answerFrom(t, files)
		ask := func(ctx context.Context, q verify.Question) (*verify.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			if !q.Recursive {
				asked = append(asked, q.Server)
			}
			return answer(ctx, q)
		}
		chain := must.Get(Ask(t.Context(), Clients{API: client, Ask: ask, Public: one.public},
			Question{Text: "zone/zone", Namespace: "team", Resolver: "127.0.0.53:53"}))(t)
		slices.Sort(asked)
		if asked = slices.Compact(asked); !slices.Equal(asked, one.want) {
			t.Errorf("public %t, %d classes: asked %q, want %q", one.public, len(one.deliveries), asked, one.want)
		}
		for _, l := range chain.Paths[0].Links {
			if one.public && (l.Kind == KindParent || l.Kind == KindServer && len(one.deliveries) == 0) &&
				(l.State != NotAsked || !strings.Contains(l.Text, "not asked: ") ||
					!strings.Contains(l.Text, "kubectl kubizone why asks it")) {
				t.Errorf("%+v", l)
			}
		}
	}
}

// The first zone of a newcomer has name servers as in the pages, at addresses for documentation. No server is asked
// there, and no parent, and the chain of the zone does not fail.
func TestAsk_asksNoServerOfAnExample(t *testing.T) {
	zone := goodFacts().Zone.Object.DeepCopy()
	zone.Namespace, zone.Name, zone.UID = "team", "zone", "u"
	for addresses, want := range map[string]string{
		"192.0.2.53": "", "2001:db8::53 198.51.100.1 203.0.113.1": "", "192.0.3.53": "192.0.3.53:53",
	} {
		zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: strings.Fields(addresses)}}
		server := httptest.NewServer(serveObjects(map[string]any{"/zones/zone": zone, "/entries": &v1alpha1.ZoneEntries{},
			"/deliveries": &v1alpha1.DeliveryList{}}))
		t.Cleanup(server.Close)
		var mu sync.Mutex
		asked := ""
		answer := answerFrom(t, map[string]string{"127.0.0.53:53": resolver})
		chain := must.Get(Ask(t.Context(), Clients{API: must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t),
			Ask: func(ctx context.Context, q verify.Question) (*verify.Answer, error) {
				mu.Lock()
				defer mu.Unlock()
				if !q.Recursive && !strings.HasPrefix(q.Server, "192.0.2.10:") {
					asked = q.Server
				}
				return answer(ctx, q)
			}}, Question{Text: "zone/zone", Namespace: "team", Resolver: "127.0.0.53:53"}))(t)
		if asked != want || want == "" && chain.State != OK {
			t.Errorf("%s: asked %q, want %q: %+v", addresses, asked, want, chain.First)
		}
		for _, l := range chain.Paths[0].Links {
			if want == "" && (l.Kind == KindServer || l.Kind == KindParent) && !strings.Contains(l.Text, "for documentation") {
				t.Errorf("%s: %+v", addresses, l)
			}
		}
	}
}
