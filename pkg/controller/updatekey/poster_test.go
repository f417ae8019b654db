// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	api "kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/update"
	"kubi.zone/kubizone/test/must"
)

// The API server is told the id of a message. A message that it cannot take is REFUSED, since to send it again would
// not help; SERVFAIL is that of one of which the outcome is not known, or that may pass later.
func TestPoster_answers(t *testing.T) {
	var code int
	var got api.UpdateRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Succeed(t, json.NewDecoder(r.Body).Decode(&got))
		w.Header().Set("Content-Type", "application/json")
		if code != http.StatusCreated {
			w.WriteHeader(code)
			failed := apierrors.NewGenericServerResponse(code, "post", api.Resource("updatekeys"), "x", "", 0, true)
			must.Succeed(t, json.NewEncoder(w).Encode(failed.Status()))
			return
		}
		got.Status.RCode = "YXDOMAIN"
		w.WriteHeader(code)
		must.Succeed(t, json.NewEncoder(w).Encode(&got))
	}))
	defer server.Close()
	p := &Poster{}
	p.Connect(must.Get(v1alpha1.NewForConfig(&rest.Config{Host: server.URL}))(t).RESTClient())
	key := &primary.UpdateKey{ID: "team/acme"}
	m := &update.Message{Zone: name.MustParse("example.org."), ID: "an-id", Updates: []update.RR{
		{Name: name.MustParse("www.example.org."), Type: rdata.A, Class: update.ClassIN, TTL: 60, Data: "192.0.2.1"}}}
	for answer, want := range map[int]update.RCode{http.StatusCreated: update.YXDomain,
		http.StatusRequestEntityTooLarge: update.Refused, http.StatusInternalServerError: update.ServFail,
		http.StatusTooManyRequests: update.ServFail, http.StatusGatewayTimeout: update.ServFail,
		http.StatusUnauthorized: update.ServFail} {
		code = answer
		if rcode := update.RCode(p.Update(t.Context(), key, m, netip.MustParseAddr("192.0.2.7"))); rcode != want {
			t.Errorf("after %d: %s, want %s", answer, rcode, want)
		}
		if got.Spec.ID != "an-id" || len(got.Spec.Updates) != 1 || got.Spec.From != "192.0.2.7" {
			t.Errorf("posted %+v", got.Spec)
		}
	}
	if told := p.takeOutcomes()["team/acme"].refusal; told == nil || !strings.Contains(told.Message, "send several messages") {
		t.Errorf("the owner is told %+v", told)
	}
}
