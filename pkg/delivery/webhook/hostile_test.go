// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// A server that answers with a redirect could have the provider send its signature and token to another server. The
// provider follows no redirect, wherever it points (attack 52).
func TestProvider_followsNoRedirect(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for _, location := range []string{other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1),
		"//" + other.Listener.Addr().String() + "/x", "/elsewhere", "http://169.254.169.254/latest", "file:///etc/passwd"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			var requests, elsewhere atomic.Int32
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if strings.HasPrefix(r.URL.Path, "/elsewhere") {
					elsewhere.Add(1)
				}
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			}))
			provider := connectProvider(t, server.URL, func(c *webhook.Config) {
				c.BearerToken = "t0ken"
				c.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			})
			plan := planOf(makeRRset("www", rdata.A, "192.0.2.1"))
			_, delivered := provider.Deliver(t.Context(), plan, passFence)
			_, withdrawn := provider.Remove(t.Context(), plan, passFence)
			_, verified := provider.Verify(t.Context(), plan)
			for what, err := range map[string]error{"health": provider.Health(t.Context()), "deliver": delivered, "withdraw": withdrawn,
				"verify": verified} {
				if failure := asError(t, err); failure.Reason != delivery.ReasonInvalidConfiguration ||
					!strings.Contains(failure.Message, "redirect") || strings.Contains(failure.Error(), "t0ken") {
					t.Errorf("%s: %d to %q: %v", what, status, location, failure)
				}
			}
			if asked.Load()+elsewhere.Load() != 0 || requests.Load() == 0 {
				t.Errorf("%d to %q: followed", status, location)
			}
			server.Close()
		}
	}
}

func TestProvider_verifyTakesNoOtherRecord(t *testing.T) {
	for what, answer := range map[string]string{
		"another name":   `"type":"A","domain":"example.com","subdomain":"mail"`,
		"another zone":   `"type":"A","domain":"example.org","subdomain":"www"`,
		"the zone":       `"type":"A","domain":"example.com","subdomain":"@"`,
		"another type":   `"type":"TXT","domain":"example.com","subdomain":"www"`,
		"no name at all": `"type":"A"`,
	} {
		server := startPeer(t, answerWith(200, `{"success":true,"record":{`+answer+`,"values":["192.0.2.1"],"ttl":300}}`))
		drift, err := connectProvider(t, server.URL, nil).Verify(t.Context(), planOf(makeRRset("www", rdata.A, "192.0.2.1")))
		if err != nil || len(drift.Differing) != 1 {
			t.Errorf("%s: %+v, %v; want that it differs", what, drift, err)
		}
	}
}
