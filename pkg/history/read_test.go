// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// A tenant sees the user of each own step, however a caller counts steps to end the reading.
func TestRead_knowsEveryOwnStep(t *testing.T) {
	steps := func(by string) (all []v1alpha1.HistoryStep) {
		for n := int64(5); n > 0; n-- {
			all = append(all, v1alpha1.HistoryStep{FQDN: "example.org.", From: n - 1, Serial: n, ContentGeneration: n, By: by})
		}
		return all
	}
	served := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("limit") != "5":
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(r.URL.Path, "/records/"):
			served++
			_ = json.NewEncoder(w).Encode(&v1alpha1.RecordChanges{History: steps("alice"), Metadata: v1alpha1.ZoneViewMeta{Continue: "x"}})
		case r.URL.Query().Get("sources") == "true":
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		default:
			_ = json.NewEncoder(w).Encode(&v1alpha1.ZoneChanges{FQDN: "example.org.", History: steps("")})
		}
	}))
	defer api.Close()
	client := must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL}))(t).KubizoneV1alpha1()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "zone"},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org."}}
	read := 0
	past := must.Get((&Reader{Client: client, Page: 5}).Read(t.Context(), Subject{Zone: zone, Namespace: "team"},
		func(*v1alpha1.HistoryStep) bool { read++; return read == 3 }))(t)
	if len(past.Steps) != 3 || !past.Masked || served != 1 {
		t.Fatalf("%d steps, masked %t, own pages %d", len(past.Steps), past.Masked, served)
	}
	for _, x := range past.Steps {
		if x.By != "alice" {
			t.Errorf("serial %d by %q", x.Serial, x.By)
		}
	}
}
