// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

// New connections go round the backends with a passing probe. A backend that fails keeps open connections.
// Without a ready backend, a client is refused.
func TestBalancer_followsTheProbes(t *testing.T) {
	balancer := must.Get(StartBalancer())(t)
	defer balancer.Close()
	type backend struct {
		*httptest.Server
		ready chan bool // holds a single value: whether the probe passes
	}
	start := func(name string) backend {
		b := backend{ready: make(chan bool, 1)}
		b.ready <- true
		b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ready := <-b.ready
			b.ready <- ready
			if r.URL.Path == "/readyz" && !ready {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			io.WriteString(w, name)
		}))
		t.Cleanup(b.Close)
		return b
	}
	one, two := start("one"), start("two")
	address := func(b backend) netip.AddrPort { return b.Listener.Addr().(*net.TCPAddr).AddrPort() }
	fresh := func() *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	}
	ask := func(c *http.Client) string {
		answer, err := c.Get("https://" + balancer.Addr.String() + "/")
		if err != nil {
			return "refused"
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return string(body)
	}
	settle := func(ready int) {
		t.Helper()
		for begin := time.Now(); balancer.Ready() != ready; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > startTimeout {
				t.Fatalf("%d backends are ready, want %d", balancer.Ready(), ready)
			}
		}
	}
	if got := ask(fresh()); got != "refused" {
		t.Errorf("without backends: %s", got)
	}
	balancer.Set(address(one), address(two))
	settle(2)
	held := fresh()
	first := ask(held)
	if second := ask(fresh()); second == first || second == "refused" {
		t.Errorf("two connections went to %s and %s", first, second)
	}
	leaving := map[string]backend{"one": one, "two": two}[first]
	<-leaving.ready
	leaving.ready <- false
	settle(1)
	for range 3 {
		if got := ask(fresh()); got == first || got == "refused" {
			t.Errorf("a new connection went to %s, whose probe fails", got)
		}
	}
	if got := ask(held); got != first {
		t.Errorf("the connection that was there: %s, want %s", got, first)
	}
	balancer.Set()
	settle(0)
	if got := ask(fresh()); got != "refused" {
		t.Errorf("without backends again: %s", got)
	}
}
