// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/traces"
)

// Client is safe for concurrent use.
type Client struct {
	url  string
	http http.Client

	slot chan struct{} // full during a request, or a sequence of requests

	// Guarded by slot.
	dialect       dialect
	dialectReadAt time.Time
	pace          *rate.Limiter
	pausedUntil   time.Time
}

const (
	requestTime, maxAnswer = 30 * time.Second, 1 << 20
	// maxList is the limit for the list of zones, 250,000 usual names.
	maxList = 8 << 20
	// maxWait bounds the waits for slot and rate, and exceeds the interval of the slowest dialect.
	maxWait = 1500 * time.Millisecond
	// pauseTime follows a 429 without Retry-After.
	pauseTime = 2 * time.Second
	// dialectAge is the lifetime of the known dialect, because another server may get the address.
	dialectAge = time.Minute
)

// New returns a client of the agent at a URL without a path, such as "https://192.0.2.1:8443", and sends nothing. The
// transport adds the credentials; nil means http.DefaultTransport.
func New(address string, transport http.RoundTripper) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || !isServerURL(parsed) {
		return nil, fmt.Errorf("URL of an agent %q: must be https://HOST:PORT, or http", address)
	}
	keepRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{url: strings.TrimSuffix(address, "/"), http: http.Client{Transport: transport, CheckRedirect: keepRedirect},
		slot: make(chan struct{}, 1), dialect: slowest, pace: rate.NewLimiter(slowest.rate, slowest.burst)}, nil
}

func isServerURL(u *url.URL) bool {
	isHTTP := u.Scheme == "https" || u.Scheme == "http"
	hasPath := u.Path != "" && u.Path != "/"
	return isHTTP && u.Host != "" && !hasPath && u.RawQuery == "" && u.User == nil
}

type Error struct {
	Status      int
	Message     string
	RetryAfter  time.Duration
	Unsupported bool
	Err         error // the cause, for the log
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Err }

func unsupported(format string, arguments ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, arguments...), Unsupported: true}
}

// Fence is called before each request with changes. An error prevents the request.
type Fence func(ctx context.Context) error

// Ensure creates a missing zone, or updates an existing zone's addresses and policy. A bindcar keeps an existing zone.
func (c *Client) Ensure(ctx context.Context, zone name.Name, asked protocol.CreateZone, fence Fence) error {
	leave, speaks, err := c.acquireSlot(ctx)
	if err != nil {
		return err
	}
	defer leave()
	body, err := speaks.translateZone(zone, asked)
	if err != nil {
		return err
	}

	// 1. A bindcar would overwrite the file of an existing zone, so ask directly before the creation (C2).
	path := zonePath(zone)
	if !speaks.agent {
		switch there, err := c.hasZone(ctx, path); {
		case err != nil, there:
			return err
		}
	}

	// 2. Create the zone. Kubizone's agent answers 200 for an equal zone.
	if err := fence(ctx); err != nil {
		return err
	}

	err = c.sendRequest(ctx, http.MethodPost, zonesPath, body, nil)
	if statusOf(err) != http.StatusConflict {
		return err
	}

	if !speaks.agent {
		return nil
	}

	// 3. The agent has the zone with another configuration: change the address lists and the policy.
	config := body.ZoneConfig
	// An empty list removes a clause. nil would keep also-notify of a server that has left the class.
	change := protocol.ModifyZone{AlsoNotify: orEmpty(config.AlsoNotify), AllowTransfer: orEmpty(config.AllowTransfer)}
	if body.ZoneType == protocol.Secondary {
		change.Primaries = &config.Primaries
	}
	if config.DNSSECPolicy != "" {
		change.DNSSECPolicy = &config.DNSSECPolicy
	}

	if err := fence(ctx); err != nil {
		return err
	}
	if err := c.sendRequest(ctx, http.MethodPatch, path, change, nil); err != nil {
		return err
	}
	// 4. Compare again. A difference that PATCH cannot change, such as primary or secondary, stays a 409.
	return c.sendRequest(ctx, http.MethodPost, zonesPath, body, nil)
}

const zonesPath = "/zones"

// The root's dot would be the directory itself.
func zonePath(zone name.Name) string {
	if zone == name.Root {
		return "/zones/%2E"
	}
	return "/zones/" + url.PathEscape(showName(zone))
}

func orEmpty(list []string) *[]string {
	if list == nil {
		list = []string{}
	}
	return &list
}

// Remove deletes a zone with its files at the server. A missing zone is no error, and the fence is then not asked.
func (c *Client) Remove(ctx context.Context, zone name.Name, fence Fence) error {
	leave, speaks, err := c.acquireSlot(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// A bindcar can never have made _tcp.example.org.
	if !speaks.agent && !bindcarName.MatchString(showName(zone)) {
		return nil
	}
	path := zonePath(zone)
	if there, err := c.hasZone(ctx, path); err != nil || !there {
		return err
	}
	if err := fence(ctx); err != nil {
		return err
	}
	switch err := c.sendRequest(ctx, http.MethodDelete, path, nil, nil); statusOf(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusInternalServerError:
		// bindcar 0.7 answers 500 both for a missing zone and for a failed removal.
		if there, again := c.hasZone(ctx, path); again == nil && !there {
			return nil
		}
		return err
	default:
		return err
	}
}

func (c *Client) Retransfer(ctx context.Context, zone name.Name, fence Fence) error {
	leave, _, err := c.acquireSlot(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := fence(ctx); err != nil {
		return err
	}
	return c.sendRequest(ctx, http.MethodPost, zonePath(zone)+"/retransfer", nil, nil)
}

func (c *Client) Health(ctx context.Context) error {
	leave, _, err := c.acquireSlot(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return c.sendRequest(ctx, http.MethodGet, "/server/status", nil, nil)
}

func statusOf(err error) int {
	var answered *Error
	if !errors.As(err, &answered) {
		return 0
	}
	return answered.Status
}

// hasZone reports whether the server has a zone, by its status. It returns an error if the server does not say so.
func (c *Client) hasZone(ctx context.Context, path string) (bool, error) {
	err := c.sendRequest(ctx, http.MethodGet, path+"/status", nil, nil)
	switch statusOf(err) {
	case http.StatusNotFound:
		return false, nil
	case http.StatusInternalServerError:
		// bindcar answers 500 for a secondary before its first transfer. If named answers at all, the zone exists.
		if c.sendRequest(ctx, http.MethodGet, "/server/status", nil, nil) == nil {
			return true, nil
		}
	}
	return err == nil, err
}

// acquireSlot waits for the turn of this request, at most maxWait, and returns the server's dialect. The caller must
// call leave, except after an error. Until then the caller alone may send requests (C1).
func (c *Client) acquireSlot(ctx context.Context) (leave func(), speaks dialect, err error) {
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case c.slot <- struct{}{}:
	case <-waiting.Done():
		return nil, dialect{}, &Error{Message: c.url + " is still at work on earlier requests", RetryAfter: pauseTime,
			Err: context.Cause(waiting)}
	}
	// The address may belong to another agent by now, with another rate.
	if time.Since(c.dialectReadAt) > dialectAge {
		err = c.askDialect(ctx)
	}
	if leave = func() { <-c.slot }; err != nil {
		leave()
	}
	return leave, c.dialect, err
}

// askDialect reads kind and version of the agent from /health. The caller holds the slot. A changed dialect begins with
// a full burst.
func (c *Client) askDialect(ctx context.Context) error {
	var health protocol.Health
	if err := c.sendRequest(ctx, http.MethodGet, "/health", nil, &health); err != nil {
		return err
	}
	read, err := readDialect(health)
	if err != nil {
		return unsupported("%s: %v", c.url, err)
	}
	if c.dialect != read {
		c.pace = rate.NewLimiter(read.rate, read.burst)
	}
	c.dialect, c.dialectReadAt = read, time.Now()
	return nil
}

// waitPace fails at once if the wait would exceed maxWait or ctx.
func (c *Client) waitPace(ctx context.Context) error {
	now := time.Now()

	// The longer of both waits counts: the server's Retry-After, and the rate of the dialect.
	wait := c.pausedUntil.Sub(now)
	reservation := c.pace.ReserveN(now, 1)
	wait = max(wait, reservation.DelayFrom(now))
	end, ends := ctx.Deadline()
	switch {
	// The caller has a queue for retries, and would only block a worker here.
	case wait > maxWait || ends && now.Add(wait).After(end):
		reservation.CancelAt(now)
		return &Error{Message: fmt.Sprintf("%s takes no more requests for now", c.url), RetryAfter: wait}
	case wait <= 0:
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &Error{Message: fmt.Sprintf("%s takes no more requests for now", c.url), RetryAfter: pauseTime,
			Err: context.Cause(ctx)}
	}
}

// /health does not count for the rate.
func (c *Client) sendRequest(ctx context.Context, method, path string, body, into any) error {
	if path != "/health" {
		if err := c.waitPace(ctx); err != nil {
			return err
		}
	}

	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()

	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(encoded)
	}

	request, err := http.NewRequestWithContext(ctx, method, c.url+protocol.Base+path, sent)
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}

	span := traces.Call(ctx, request)
	response, err := c.http.Do(request)
	traces.End(span, err != nil, "no answer")
	if err != nil {
		return &Error{Message: c.url + ": no answer", Err: err}
	}
	defer response.Body.Close()

	// The list of zones is the only answer whose length grows with the server.
	limit := int64(maxAnswer)
	if path == zonesPath {
		limit = maxList
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		return &Error{Message: c.url + ": the answer was cut off", Err: err}
	}

	if response.StatusCode/100 == 2 {
		// A web server of another kind has the address, or the answer was longer than the limit.
		if into != nil && json.Unmarshal(text, into) != nil {
			return &Error{Message: c.url + " does not answer like an agent or a bindcar"}
		}
		return nil
	}
	return c.readRefusal(method, path, response)
}

// readRefusal drops the server's text, which is untrusted.
func (c *Client) readRefusal(method, path string, response *http.Response) error {
	refusal := &Error{Status: response.StatusCode, Message: fmt.Sprintf("%s answers %s %s%s with %d; its log says why", c.url,
		method, protocol.Base, path, response.StatusCode)}
	switch after, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); {
	// A hostile server could name a year, so at most ten minutes count.
	case err == nil:
		refusal.RetryAfter = min(max(time.Duration(after)*time.Second, time.Second), 10*time.Minute)
	case response.StatusCode == http.StatusTooManyRequests:
		refusal.RetryAfter = pauseTime
	}
	// Every caller waits, since the server limits the client and not the zone.
	if refusal.RetryAfter > 0 {
		c.pausedUntil = time.Now().Add(refusal.RetryAfter)
	}
	return refusal
}
