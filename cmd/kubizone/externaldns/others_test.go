// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/test/must"
)

// sharedCluster is an API server with Services. Rules of a zone admit the namespace victim alone.
type sharedCluster struct {
	services []string // NAMESPACE NAME HOST ADDRESS [CONTROLLER]

	mu     sync.Mutex
	lists  int      // of Services in all namespaces
	events []string // OBJECT: NOTE
}

func (c *sharedCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	render := func(text string) map[string]any {
		of := strings.Fields(text + " dns-controller")
		annotations := map[string]any{annotationPrefixes[len(of[1])%2] + "hostname": of[2],
			annotationPrefixes[len(of[0])%2] + annotationController: of[4],
			"note": "noted.example.org 203.0.113.6"}
		return map[string]any{"kind": "Service", "apiVersion": "v1", "metadata": map[string]any{"namespace": of[0], "name": of[1],
			"annotations": annotations}, "spec": map[string]any{"type": "LoadBalancer", "clusterIP": "10.96.0.7"},
			"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{
				map[string]any{"ip": of[3]}}}}}
	}
	path := r.URL.Path
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/events"):
		var event struct {
			Note      string
			Regarding struct{ Namespace, Name string }
		}
		_ = json.NewDecoder(r.Body).Decode(&event)
		c.events = append(c.events, event.Regarding.Namespace+"/"+event.Regarding.Name+": "+event.Note)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/namespaces/victim/records"):
		_, _ = io.WriteString(w, `{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","status":{"zoneRef":{"name":"z"}}}`)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden",
			"message":"no rule"}`)
	case strings.HasSuffix(path, "/records"):
		_, _ = io.WriteString(w, `{"kind":"RecordList","apiVersion":"kubi.zone/v1alpha1","items":[]}`)
	case path == "/api/v1/services":
		c.lists++
		list := map[string]any{"kind": "ServiceList", "apiVersion": "v1"}
		var items []any
		for _, text := range c.services {
			items = append(items, render(text))
		}
		list["items"] = items
		_ = json.NewEncoder(w).Encode(list)
	default:
		for _, text := range c.services {
			if of := strings.Fields(text); strings.HasSuffix(path, "/namespaces/"+of[0]+"/services/"+of[1]) {
				_ = json.NewEncoder(w).Encode(render(text))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,"reason":"NotFound"}`)
	}
}

// external-dns names the first of the Services that want a name, here one of a namespace without any right. The Service
// whose namespace has a rule gets the name, in the same cycle, with its own targets alone. The named one gets an Event.
func TestAdjust_findsTheObjectThatIsNotNamed(t *testing.T) {
	const mallory, victim = "a-mallory x shop.example.org 203.0.113.6", "victim shop Shop.example.org,www.example.org 192.0.2.1"
	const admitted = `"targets":["192.0.2.1"]`
	for what, c := range map[string]struct {
		services []string
		targets  string
		more     string // of the endpoint
		want     string
	}{
		"joined targets": {[]string{mallory, victim}, "192.0.2.1,203.0.113.6", "", admitted},
		"equal targets":  {[]string{"a-mallory x shop.example.org 192.0.2.1", victim}, "192.0.2.1", "", admitted},
		"a property that is refused": {[]string{mallory, victim}, "192.0.2.1,203.0.113.6",
			`,"providerSpecific":[{"name":"aws/x"}]`, admitted},
		"one of many":         {append(manyServices(200), mallory, victim), "192.0.2.1,203.0.113.6", "", admitted},
		"no other":            {[]string{mallory}, "203.0.113.6", "", "[]"},
		"another name":        {[]string{mallory, "victim shop shop2.example.org 192.0.2.1"}, "203.0.113.6", "", "[]"},
		"none of the targets": {[]string{mallory, "victim shop shop.example.org 192.0.2.9"}, "192.0.2.1,203.0.113.6", "", "[]"},
		"an address of the object that is no target": {[]string{mallory, victim}, `192.0.2.1,10.96.0.7,203.0.113.6`, "", admitted},
		"no target but such addresses":               {[]string{mallory, victim}, `10.96.0.7,203.0.113.6`, "", "[]"},
		"another external-dns' object":               {[]string{mallory, victim + " inner"}, "192.0.2.1,203.0.113.6", "", "[]"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &sharedCluster{services: c.services}
				serving := serveInMemory(t, api.ServeHTTP)
				endpoint := fmt.Sprintf(`[{"dnsName":"shop.example.org","recordType":"A","recordTTL":7,"targets":["%s"],
					"labels":{"resource":"service/a-mallory/x"}%s}]`, strings.ReplaceAll(c.targets, ",", `","`), c.more)
				for range 3 {
					answer := serveRequest(t, serving, "POST", "/adjustendpoints", endpoint).Body.String()
					synctest.Wait()
					if !strings.Contains(answer, c.want) || strings.Contains(answer, "10.96.0.7") ||
						c.want == admitted && !strings.Contains(answer, "service/victim/shop") ||
						strings.Contains(answer, "203.0.113.6") || strings.Contains(answer, "recordTTL") {
						t.Errorf("%s, want %s", answer, c.want)
					}
				}
				api.mu.Lock()
				defer api.mu.Unlock()
				if events := strings.Join(api.events, "|"); !strings.Contains(events, "a-mallory/x: shop.example.org A: ") {
					t.Errorf("Events %q", events)
				}
				if api.lists != 1 {
					t.Errorf("%d lists of all Services in three cycles", api.lists)
				}
			})
		})
	}
}

func manyServices(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("a-mallory m%d shop.example.org 203.0.113.6", i))
	}
	return all
}

// A tenant that asks for new names in each cycle, all refused, causes one list of the objects a minute.
func TestAdjust_searchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &sharedCluster{services: []string{"a-mallory x shop.example.org 203.0.113.6"}}
		serving := serveInMemory(t, api.ServeHTTP)
		for i := range 60 {
			e := contract.Endpoint{DNSName: fmt.Sprintf("h%d.example.org", i), RecordType: "A", Targets: []string{"203.0.113.6"},
				Labels: map[string]string{contract.LabelResource: "service/a-mallory/x"}}
			serveRequest(t, serving, "POST", "/adjustendpoints", string(must.Get(json.Marshal([]contract.Endpoint{e}))(t)))
			time.Sleep(5 * time.Second)
		}
		if api.lists > 5 {
			t.Errorf("%d lists in five minutes", api.lists)
		}
	})
}

// A name in an annotation of another meaning, and a search that is off, give no object a name.
func TestAdjust_searchTakesNoOtherText(t *testing.T) {
	for host, search := range map[string]bool{"noted": true, "shop": false} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &sharedCluster{services: []string{"a-mallory x shop.example.org 203.0.113.6",
				"victim shop shop.example.org 192.0.2.1"}}
			api := &rest.Config{Host: "http://api.test", Transport: inMemory(cluster.ServeHTTP)}
			config := &Config{Mapping: externaldns.Mapping{Owner: "default"}, Search: search, Records: api, Local: api}
			endpoint := fmt.Sprintf(`[{"dnsName":"%s.example.org","recordType":"A","targets":["192.0.2.1","203.0.113.6"],
				"labels":{"resource":"service/a-mallory/x"}}]`, host)
			answer := serveRequest(t, newHandler(t.Context(), must.Get(config.newProvider())(t)), "POST", "/adjustendpoints", endpoint)
			synctest.Wait()
			if text := answer.Body.String(); strings.Contains(text, "targets") || cluster.lists > 0 != search {
				t.Errorf("%s: %s after %d lists", host, text, cluster.lists)
			}
		})
	}
}

// A search that admits an object serves the cycles of ten minutes, and another search after a minute delays no answer.
func TestAdjust_searchLasts(t *testing.T) {
	for address, wantLists := range map[string]int{"192.0.2.1": 1, "192.0.2.9": 2} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &sharedCluster{services: []string{"a-mallory x shop.example.org 203.0.113.6",
				"victim shop shop.example.org " + address}}
			serving := serveInMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/v1/services" {
					time.Sleep(time.Second)
				}
				cluster.ServeHTTP(w, r)
			})
			for cycle, wantWait := range []time.Duration{time.Second, 0} {
				began := time.Now()
				answer := serveRequest(t, serving, "POST", "/adjustendpoints", `[{"dnsName":"shop.example.org","recordType":"A",
					"targets":["192.0.2.1","203.0.113.6"],"labels":{"resource":"service/a-mallory/x"}}]`).Body.String()
				if waited := time.Since(began); waited != wantWait || strings.Contains(answer, "victim") != (address == "192.0.2.1") {
					t.Errorf("%s, cycle %d: %s after %s", address, cycle, answer, waited)
				}
				time.Sleep(refusedTime + 2*time.Second)
			}
			if cluster.lists != wantLists {
				t.Errorf("%s: %d lists", address, cluster.lists)
			}
		})
	}
}
