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

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/test/must"
)

// The primary posts an update message with its id to the API server and translates the answer. A message that can never
// succeed is answered REFUSED. SERVFAIL means an error that may pass, or that the outcome is unknown, so the client may
// try again.
func TestPoster_answers(t *testing.T) {
	var code int
	var got v1alpha1.UpdateRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Succeed(t, json.NewDecoder(r.Body).Decode(&got))
		w.Header().Set("Content-Type", "application/json")
		if code != http.StatusCreated {
			w.WriteHeader(code)
			failed := apierrors.NewGenericServerResponse(code, "post", v1alpha1.Resource("updatekeys"), "x", "", 0, true)
			must.Succeed(t, json.NewEncoder(w).Encode(failed.Status()))
			return
		}
		got.Status.RCode = "YXDOMAIN"
		w.WriteHeader(code)
		must.Succeed(t, json.NewEncoder(w).Encode(&got))
	}))
	defer server.Close()
	p := &Poster{}
	p.Connect(must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t).KubizoneV1alpha1().RESTClient())
	key := &updates.Key{ID: "team/acme"}
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
	reported := p.takeOutcomes(logr.Discard())["team/acme"].refusal
	if reported == nil || !strings.Contains(reported.Message, "send several messages") {
		t.Errorf("the owner is told %+v", reported)
	}
}

// A tenant's clients may send any number of messages (attack 107).
func TestPoster_logsALineForAKey(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "broken") {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		rcode := update.Refused
		if strings.Contains(r.URL.Path, "asks") {
			rcode = update.NXRRset
		}
		must.Succeed(t, json.NewEncoder(w).Encode(&v1alpha1.UpdateRequest{Status: v1alpha1.UpdateRequestStatus{RCode: rcode.String(),
			Message: strings.Repeat("w", 900)}}))
	}))
	defer api.Close()
	p := &Poster{}
	var lines []string
	take := func() map[string]outcome {
		lines = nil
		return p.takeOutcomes(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1}))
	}
	send := func(id string) uint16 {
		m := &update.Message{Zone: must.Get(name.Parse("example.org."))(t)}
		return p.Update(t.Context(), &updates.Key{ID: id}, m, netip.MustParseAddr("192.0.2.1"))
	}
	if rcode := send("a/early"); rcode != uint16(update.ServFail) {
		t.Errorf("before there is an API: RCODE %d", rcode)
	}
	client := must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1}))(t)
	p.Connect(client.KubizoneV1alpha1().RESTClient())
	for range 20 {
		for id, want := range map[string]update.RCode{"a/refused": update.Refused, "b/broken": update.ServFail, "c/asks": update.NXRRset} {
			if rcode := send(id); rcode != uint16(want) {
				t.Fatalf("%s: RCODE %d, want %d", id, rcode, want)
			}
		}
	}
	outcomes := take()
	all := strings.Join(lines, "\n")
	must.Say(t, all, `"Updates refused" "updatekey"="a/refused" "messages"=20 "rcode"="REFUSED" "why"="www`,
		`"updatekey"="b/broken" "messages"=20 "err"="`, `"updatekey"="a/early" "messages"=1`)
	if len(lines) != 3 || outcomes["a/refused"].refusal == nil || outcomes["a/refused"].refused != 20 {
		t.Errorf("%d lines, %+v:\n%s", len(lines), outcomes, all)
	}
	if take(); len(lines) > 0 {
		t.Errorf("logged again: %q", lines)
	}
}
