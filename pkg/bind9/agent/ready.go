// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"net/http"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// readyAge is how long the result of one look at named is answered: the path is open to all, and must cost named
// nothing.
const readyAge = time.Second

// readiness is the last look at named.
type readiness struct {
	mu     sync.Mutex
	looked time.Time
	last   protocol.Ready
	// loading is guarded by mu too.
	loading loading
}

// serveReady answers 503 unless all checks pass (A3).
func (a *Agent) serveReady(job *work) (int, any, error) {
	ready := a.lookReady(job.request.Context())
	if !ready.Ready {
		return http.StatusServiceUnavailable, ready, nil
	}
	return http.StatusOK, ready, nil
}

func (a *Agent) lookReady(ctx context.Context) protocol.Ready {
	a.ready.mu.Lock()
	defer a.ready.mu.Unlock()
	if now := a.config.Now(); a.ready.looked.IsZero() || now.Sub(a.ready.looked) >= readyAge || now.Before(a.ready.looked) {
		// A prober that has gone leaves its result to the next one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		a.ready.last = protocol.Ready{Ready: true}
		note := func(what string, err error) {
			result := "ok"
			if err != nil {
				a.config.Logger.Warn("not ready", "check", what, "err", err)
				result, a.ready.last.Ready = "error", false
			}
			a.ready.last.Checks = append(a.ready.last.Checks, what+": "+result)
		}
		note("zone_dir", a.files.checkWritable())
		status, err := a.runCommand(ctx, "status")
		note("rndc", err)
		_, err = a.queryRRset(ctx, name.Root, rdata.SOA)
		note("dns", err)
		if a.ready.last.Ready {
			note("zones", a.checkZones(ctx, status))
		}
		if a.config.ConfigDir != "" {
			a.ready.last.Checks = append(a.ready.last.Checks, "config: "+a.loaded.check())
			// One that named has loaded serves on while the next one is refused: a wrong file that all servers get at
			// once must not take all of them away.
			a.ready.last.Ready = a.ready.last.Ready && a.loaded.hash() != ""
		}
		a.ready.looked = a.config.Now()
	}
	return a.ready.last
}
