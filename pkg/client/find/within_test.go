// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// server answers as an API server with zones of two pages of entries each.
type server struct {
	zones     int
	forbidden string // a part of the paths that are refused
	mu        sync.Mutex
	asked     []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.String())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(object any) { _ = json.NewEncoder(w).Encode(object) }
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{Kind: name, APIVersion: "kubi.zone/v1alpha1"}
	}
	record := func(name, rrtype, data string) v1alpha1.Record {
		return v1alpha1.Record{TypeMeta: kind("Record"), ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
			Spec: v1alpha1.RecordSpec{Type: rrtype, RData: data}}
	}
	switch path := r.URL.Path; {
	case s.forbidden != "" && strings.Contains(path, s.forbidden):
		w.WriteHeader(http.StatusForbidden)
		answer(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	case strings.HasSuffix(path, "/zones"):
		list := v1alpha1.ZoneList{TypeMeta: kind("ZoneList")}
		for i := range s.zones {
			list.Items = append(list.Items, v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: fmt.Sprint("z", i)},
				Status: v1alpha1.ZoneStatus{Serial: 1}})
		}
		answer(list)
	case strings.HasSuffix(path, "/entries"):
		page := v1alpha1.ZoneEntries{TypeMeta: kind("ZoneEntries"), Entries: []v1alpha1.Entry{{Sources: []v1alpha1.RecordReference{
			{Namespace: "team", Name: "within"}, {Namespace: "team", Name: "outside"}, {Namespace: "team", Name: "gone"}}}}}
		if r.URL.Query().Get("continue") == "" {
			page.Metadata.Continue, page.Entries = "more", nil
		}
		answer(page)
	case strings.HasSuffix(path, "/records/within"):
		answer(record("within", "A", "192.0.2.7"))
	case strings.HasSuffix(path, "/records/outside"):
		answer(record("outside", "A", "198.51.100.7"))
	case strings.HasSuffix(path, "/records"):
		list := v1alpha1.RecordList{TypeMeta: kind("RecordList"), Items: []v1alpha1.Record{record("waiting", "a", "192.0.2.9")}}
		if !strings.Contains(r.URL.Query().Get("fieldSelector"), "status.adopted=False") {
			list.Items = append(list.Items, record("within", "A", "192.0.2.7"), record("outside", "A", "198.51.100.7"))
		}
		answer(list)
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// F1, F2
func TestWithin_asksTheZonesThatItMayRead(t *testing.T) {
	for _, one := range []struct {
		what   string
		server *server
		want   string
		listed bool // all Records were listed
	}{
		{"few zones", &server{zones: 2}, "within waiting", false},
		{"a user without the entries", &server{zones: 2, forbidden: "/entries"}, "waiting within", true},
		{"a user without the zones", &server{forbidden: "/v1alpha1/zones"}, "waiting within", true},
		{"many zones", &server{zones: maxZones + 1}, "waiting within", true},
	} {
		api := httptest.NewServer(one.server)
		s := &Search{API: must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1}))(t).KubizoneV1alpha1(), Namespace: "team",
			Everywhere: true}
		found := must.Get(s.Within(t.Context(), netip.MustParsePrefix("192.0.2.0/24")))(t)
		api.Close()
		var names []string
		for i := range found {
			names = append(names, found[i].Name)
		}
		if got := strings.Join(names, " "); got != one.want {
			t.Errorf("%s: found %s, want %s", one.what, got, one.want)
		}
		listed := false
		for _, asked := range one.server.asked {
			listed = listed || strings.Contains(asked, "/records?") && !strings.Contains(asked, "adopted")
		}
		if listed != one.listed {
			t.Errorf("%s: asked %q", one.what, one.server.asked)
		}
	}
}
