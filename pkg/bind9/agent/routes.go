// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

type route struct {
	method, path string
	open         bool // without authentication
	serve        func(a *Agent, job *work) (status int, answer any, err error)
}

const zonePath = protocol.Base + "/zones/{name}"

var routes = []route{
	{http.MethodGet, protocol.Base + "/health", true, (*Agent).serveHealth},
	{http.MethodGet, protocol.Base + "/ready", true, (*Agent).serveReady},
	{http.MethodGet, protocol.Base + "/server/status", false, (*Agent).serveStatus},
	{http.MethodGet, protocol.Base + "/server/members", false, (*Agent).serveMembers},
	{http.MethodGet, protocol.Base + "/zones", false, (*Agent).listZones},
	{http.MethodPost, protocol.Base + "/zones", false, (*Agent).createZone},
	{http.MethodDelete, zonePath, false, (*Agent).deleteZone},
	{http.MethodPatch, zonePath, false, (*Agent).modifyZone},
	{http.MethodGet, zonePath + "/status", false, (*Agent).showZoneStatus},
	{http.MethodPost, zonePath + "/notify", false, zoneCommand("notify", "notified")},
	{http.MethodPost, zonePath + "/retransfer", false, zoneCommand("retransfer", "transferred anew")},
	{http.MethodGet, zonePath + "/ds", false, (*Agent).showDS},
	{http.MethodPost, zonePath + "/dnssec/checkds", false, (*Agent).checkDS},
}

func (a *Agent) serveHealth(*work) (int, any, error) {
	return http.StatusOK, protocol.Health{Status: "healthy", Version: a.config.Version, Agent: "kubizone", ConfigHash: a.loaded.hash()}, nil
}

func (a *Agent) serveStatus(job *work) (int, any, error) {
	text, err := a.runCommand(job.request.Context(), "status")
	return http.StatusOK, protocol.ServerStatus{Status: text}, err
}

func New(config Config) *Agent {
	a := &Agent{
		config: config, files: zoneFiles{dir: config.ZoneDir}, mux: http.NewServeMux(),
		slots: make(chan struct{}, maxRequests), waiting: slotTime, limiter: newLimiter(maxRate, maxBurst),
		openLimiter: newLimiter(maxRate, maxBurst),
	}
	for _, route := range routes {
		a.mux.HandleFunc(route.method+" "+route.path, func(w http.ResponseWriter, r *http.Request) { a.serveRoute(w, r, route) })
	}
	return a
}

func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// serveRoute answers a request and logs it: failures of the agent as warnings, changes at level Info.
func (a *Agent) serveRoute(w http.ResponseWriter, r *http.Request, route route) {
	status, answer, err := a.handleRequest(w, r, route)
	if err != nil {
		status, answer = describeProblem(w, err)
	}
	sendJSON(w, status, answer)
	level := slog.LevelDebug
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case route.method != http.MethodGet:
		level = slog.LevelInfo
	}
	if answer := (*problem)(nil); errors.As(err, &answer) && answer.cause != nil {
		err = answer.cause
	}
	a.config.Logger.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.EscapedPath(), "client", r.RemoteAddr,
		"status", status, "err", err)
}

// handleRequest applies the limits of A6 in turn, then calls the route's function. A result with status 0 has an error.
func (a *Agent) handleRequest(w http.ResponseWriter, r *http.Request, route route) (status int, answer any, err error) {
	// 1. The rate of the address, before any work. Probes have their own.
	limiter := a.limiter
	if route.open {
		limiter = a.openLimiter
	}

	if wait := limiter.reserveRequest(r.RemoteAddr, a.config.Now()); wait > 0 {
		return 0, nil, busy(wait, "more requests than %d a second from this address; wait as Retry-After says", limiter.rate)
	}

	if route.open {
		return route.serve(a, &work{request: r})
	}

	// 2. Token, name and body.
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	if err := a.config.Authenticate(r); err != nil {
		return 0, nil, err
	}

	job := &work{request: r.WithContext(ctx)}
	if text := r.PathValue("name"); text != "" {
		if job.zone, err = parseZoneName("zone name in the path", text); err != nil {
			return 0, nil, err
		}
	}
	if job.body, err = readBody(w, r); err != nil {
		return 0, nil, err
	}

	// 3. A slot: commands queue here, with an end, and not at named's control channel.
	wait := time.NewTimer(a.waiting)
	defer wait.Stop()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-wait.C:
		return 0, nil, busy(retryTime, "%d requests are under way; wait as Retry-After says", maxRequests)
	case <-ctx.Done():
		return 0, nil, busy(retryTime, "the request waited until its time was over")
	}
	return route.serve(a, job)
}

// readBody reads at most maxBody octets. A zone with more records is written by dynamic update afterwards.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, refuse(http.StatusRequestEntityTooLarge, "body: longer than %d octets; write further records by dynamic update",
			maxBody)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "body: it was cut off")
	}
	return body, nil
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

const maxAddresses = 4096

// limiter limits the request rate of each address, of IPv6 by /64.
type limiter struct {
	rate, burst int

	mu        sync.Mutex
	addresses map[string]*rate.Limiter
}

func newLimiter(perSecond, burst int) *limiter {
	return &limiter{rate: perSecond, burst: burst, addresses: map[string]*rate.Limiter{}}
}

// reserveRequest returns 0 if the address may send a request now, and otherwise the time to wait. A refused request
// does not count.
func (l *limiter) reserveRequest(remote string, now time.Time) time.Duration {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}

	// A client with an IPv6 /64 has enough addresses to evade a limit for each.
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		host = ip.Mask(net.CIDRMask(64, 128)).String()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.addresses[host]
	if one == nil {
		if len(l.addresses) >= maxAddresses {
			// The table is full: forget the addresses idle long enough for a full burst.
			for address, other := range l.addresses {
				if other.TokensAt(now) >= float64(l.burst) {
					delete(l.addresses, address)
				}
			}
		}
		if len(l.addresses) >= maxAddresses {
			// All 4096 are busy. A newcomer waits, rather than the table growing.
			return time.Second
		}
		one = rate.NewLimiter(rate.Limit(l.rate), l.burst)
		l.addresses[host] = one
	}

	reservation := one.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
