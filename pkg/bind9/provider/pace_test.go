// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/test/must"
)

// Without a limit countingAgent is Kubizone's agent, else a bindcar 0.7.
type countingAgent struct {
	limit *rate.Limiter
	mu    sync.Mutex
	asked []time.Time
}

func (a *countingAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/api/v1/health" && a.limit == nil:
		fmt.Fprint(w, `{"status":"ok","agent":"kubizone"}`)
	case r.URL.Path == "/api/v1/health":
		fmt.Fprint(w, `{"status":"ok","version":"0.7.3"}`)
	case a.limit != nil && !a.limit.Allow():
		w.WriteHeader(http.StatusTooManyRequests)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	default:
		a.mu.Lock()
		a.asked = append(a.asked, time.Now())
		a.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"success":true}`)
	}
}

// A slow bindcar in the class delays no request to twenty other instances.
func TestDeliver_besideABindcarOfOneRequestASecond(t *testing.T) {
	w := beginWorld(t)
	dns := w.startServer(t, "empty", "kubizone", freePort(t)) // shared by all, without a zone
	w.openClass(t, dns.Addr)
	const others, zones = 20, 12
	agents := make([]*countingAgent, others+1)
	instances := make([]Instance, others+1)
	for i := range agents {
		agents[i] = &countingAgent{}
		if i == others {
			agents[i].limit = rate.NewLimiter(1, 1)
		}
		server := httptest.NewServer(agents[i])
		t.Cleanup(server.Close)
		agent := must.Get(client.New(server.URL, nil))(t)
		instances[i] = Instance{Name: fmt.Sprintf("dns/ns-%d", i), DNS: dns.Addr, Key: w.readKey(), Agent: agent}
	}
	// measure returns the times until the last of the other instances was asked.
	measure := func(run string, of []Instance) (waits []time.Duration) {
		p := w.makeProvider(t, byAgents, func() []Instance { return of })
		for n := range zones {
			plan := planOf(fmt.Sprintf("%s-%d", run, n), fmt.Sprintf("%s-%d.example.", run, n), 1)
			plan.CallTimeout = time.Millisecond // skip the wait for DNS answers
			began := time.Now()
			must.Get(p.Deliver(t.Context(), plan, passFence))(t)
			last := time.Duration(0)
			for _, agent := range agents[:others] {
				agent.mu.Lock()
				if len(agent.asked) == 0 || agent.asked[len(agent.asked)-1].Before(began) {
					t.Errorf("%s: an agent was not asked", plan.Zone)
				} else {
					last = max(last, agent.asked[len(agent.asked)-1].Sub(began))
				}
				agent.mu.Unlock()
			}
			waits = append(waits, last)
		}
		slices.Sort(waits)
		return waits
	}
	measure("warm", instances[:others])
	without, with := measure("without", instances[:others]), measure("with", instances)
	t.Logf("until the last of %d others is asked: median %s and at most %s without it, %s and %s with it", others, without[zones/2], without[zones-1], with[zones/2], with[zones-1])
	if with[zones/2] > without[zones/2]+agentTime/2 {
		t.Errorf("the others wait for it: %s, and %s without it", with[zones/2], without[zones/2])
	}
}
