// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

type recorder struct {
	mu    sync.Mutex
	calls [][]protocol.RRset
	held  map[string]protocol.RRset
	fail  error
}

func keyOf(n name.Name, t rdata.Type) string { return n.String() + " " + t.String() }

func (r *recorder) Apply(_ context.Context, _ name.Name, sets []protocol.RRset) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, sets)
	results := make([]error, len(sets))
	for i, set := range sets {
		if results[i] = r.fail; r.fail == nil {
			r.held[keyOf(set.Name, set.Type)] = set
		}
	}
	return results
}

func (r *recorder) Read(_ context.Context, _, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[keyOf(owner, t)], r.fail
}

func (r *recorder) Health(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail
}

type fixture struct {
	*testing.T
	backend *recorder
	server  *httptest.Server
	secrets [][]byte
	now     time.Time
	log     *bytes.Buffer
	nonce   int
}

func startServer(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{T: t, backend: &recorder{held: map[string]protocol.RRset{}}, secrets: [][]byte{[]byte("the secret")}, now: time.Date(2025, 12, 30, 10, 0, 0, 0, time.UTC), log: new(bytes.Buffer)}
	config := Config{
		Backend: f.backend, Algorithm: protocol.SHA256, Now: func() time.Time { return f.now },
		Secrets: func() ([][]byte, error) { return f.secrets, nil },
		Logger:  slog.New(slog.NewTextHandler(f.log, nil)),
	}
	if change != nil {
		change(&config)
	}
	handler := must.Get(New(config))(t)
	f.server = httptest.NewServer(handler)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fixture) signRequest(method, path, body string) *http.Request {
	f.Helper()
	request := must.Get(http.NewRequest(method, f.server.URL+path, strings.NewReader(body)))(f)
	f.nonce++
	signed := protocol.Signed{Method: method, Path: path, Timestamp: protocol.Timestamp(f.now), Nonce: fmt.Sprintf("%064x", f.nonce), Body: []byte(body)}
	request.Header.Set(protocol.HeaderTimestamp, signed.Timestamp)
	request.Header.Set(protocol.HeaderNonce, signed.Nonce)
	request.Header.Set(protocol.HeaderSignature, signed.Signature(protocol.SHA256, []byte("the secret")))
	return request
}

func (f *fixture) sendRequest(request *http.Request) (int, string, protocol.Response) {
	f.Helper()
	answer := must.Get(http.DefaultClient.Do(request))(f)
	defer answer.Body.Close()
	var body bytes.Buffer
	must.Get(body.ReadFrom(answer.Body))(f)
	var response protocol.Response
	json.Unmarshal(body.Bytes(), &response) // some answers are outside the protocol
	return answer.StatusCode, body.String(), response
}

func (f *fixture) expectAnswer(what string, request *http.Request, status int, code string) {
	f.Helper()
	got, body, response := f.sendRequest(request)
	gotCode := ""
	if response.Error != nil {
		gotCode = response.Error.Code
	}
	if got != status || gotCode != code || response.Success == nil || *response.Success != (code == "") {
		f.Errorf("%s: %d %s, expected %d %s", what, got, body, status, code)
	}
}

const upsert = `{"record":{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.2","192.0.2.1"],"ttl":600},"operation":"upsert"}`

func TestServer_letsInOnlyWhoSigned(t *testing.T) {
	f := startServer(t, nil)
	f.expectAnswer("a good request", f.signRequest("POST", "/records", upsert), 200, "")
	for what, spoil := range map[string]func(*http.Request){
		"no signature":      func(r *http.Request) { r.Header.Del(protocol.HeaderSignature) },
		"no nonce":          func(r *http.Request) { r.Header.Del(protocol.HeaderNonce) },
		"no timestamp":      func(r *http.Request) { r.Header.Del(protocol.HeaderTimestamp) },
		"another nonce":     func(r *http.Request) { r.Header.Set(protocol.HeaderNonce, strings.Repeat("0", 64)) },
		"another timestamp": func(r *http.Request) { r.Header.Set(protocol.HeaderTimestamp, "2025-12-30T10:00:01Z") },
		"another method":    func(r *http.Request) { r.Method = "PUT" },
		"another path":      func(r *http.Request) { r.URL.Path = "/records/" },
		"an escape":         func(r *http.Request) { r.URL.RawPath, r.URL.Path = "/record%73", "/records" },
		"no hex":            func(r *http.Request) { r.Header.Set(protocol.HeaderSignature, "zz") },
		"half a signature": func(r *http.Request) {
			r.Header.Set(protocol.HeaderSignature, r.Header.Get(protocol.HeaderSignature)[:32])
		},
		"a short nonce": func(r *http.Request) { r.Header.Set(protocol.HeaderNonce, "1") },
	} {
		request := f.signRequest("POST", "/records", upsert)
		spoil(request)
		f.expectAnswer(what, request, 401, protocol.CodeAuthFailed)
	}
	request := f.signRequest("POST", "/records", upsert)
	request.Body = http.NoBody
	request.ContentLength = 0
	f.expectAnswer("another body", request, 401, protocol.CodeAuthFailed)
	for _, path := range []string{"/health", "/records/batch", "/records/A/example.com/www", "/nowhere"} {
		request := must.Get(http.NewRequest("GET", f.server.URL+path, nil))(t)
		f.expectAnswer("unsigned "+path, request, 401, protocol.CodeAuthFailed)
	}
	if len(f.backend.calls) != 1 {
		t.Errorf("the backend was asked %d times", len(f.backend.calls))
	}
	f.secrets = [][]byte{[]byte("the next secret"), []byte("the secret")}
	f.expectAnswer("while secrets change", f.signRequest("GET", "/records/A/example.com/www", ""), 200, "")
	f.secrets = [][]byte{nil}
	f.expectAnswer("an empty secret", f.signRequest("GET", "/health", ""), 500, protocol.CodeServerError)
	if strings.Contains(f.log.String(), "the secret") || strings.Contains(f.log.String(), "the next secret") {
		t.Error("a secret is in the log")
	}
}

func TestServer_windowIsFiveMinutesEitherWay(t *testing.T) {
	f := startServer(t, nil)
	begin := f.now
	f.now = begin.Add(time.Hour)
	for _, c := range []struct {
		off  time.Duration
		code string
	}{{-5 * time.Minute, ""}, {-5*time.Minute - time.Second, protocol.CodeTimestampStale}, {5 * time.Minute, ""}, {5*time.Minute + time.Second, protocol.CodeTimestampStale}} {
		server := f.now
		f.now = server.Add(c.off)
		request := f.signRequest("GET", "/records/A/example.com/www", "")
		f.now = server
		if c.code == "" {
			f.expectAnswer(c.off.String(), request, 404, protocol.CodeRecordNotFound)
		} else {
			f.expectAnswer(c.off.String(), request, 401, c.code)
		}
	}
}

// A restart forgets nonces, so older signatures are refused.
func TestServer_takesNothingFromBeforeItsStart(t *testing.T) {
	f := startServer(t, nil)
	begin := f.now
	f.now = begin.Add(-time.Second)
	before := f.signRequest("POST", "/records", upsert)
	f.now = begin
	f.expectAnswer("signed a second before the start", before, 401, protocol.CodeTimestampStale)
	f.expectAnswer("signed in the second of the start", f.signRequest("POST", "/records", upsert), 200, "")
}

func TestServer_takesANonceOnce(t *testing.T) {
	f := startServer(t, nil)
	request := f.signRequest("GET", "/records/A/example.com/www", "")
	again := request.Clone(context.Background())
	f.expectAnswer("first", request, 404, protocol.CodeRecordNotFound)
	f.expectAnswer("again", again, 401, protocol.CodeNonceReused)
	// As long as the timestamp is valid.
	f.now = f.now.Add(5 * time.Minute)
	f.expectAnswer("five minutes later", again.Clone(context.Background()), 401, protocol.CodeNonceReused)
	f.now = f.now.Add(time.Second)
	f.expectAnswer("later", again.Clone(context.Background()), 401, protocol.CodeTimestampStale)
	// A bad signature uses up no nonce.
	good := f.signRequest("GET", "/records/A/example.com/www", "")
	bad := good.Clone(context.Background())
	bad.Header.Set(protocol.HeaderSignature, strings.Repeat("0", 64))
	f.expectAnswer("bad signature", bad, 401, protocol.CodeAuthFailed)
	f.expectAnswer("good signature", good, 404, protocol.CodeRecordNotFound)
}

func TestServer_remembersNoMoreNoncesThanItMay(t *testing.T) {
	f := startServer(t, nil)
	f.server.Config.Handler.(*handler).nonces.maxEntries = 3
	first := f.signRequest("GET", "/records/A/example.com/www", "")
	replay := first.Clone(context.Background())
	f.expectAnswer("1", first, 404, protocol.CodeRecordNotFound)
	for i := 2; i <= 3; i++ {
		f.expectAnswer(fmt.Sprint(i), f.signRequest("GET", "/records/A/example.com/www", ""), 404, protocol.CodeRecordNotFound)
	}
	f.expectAnswer("4", f.signRequest("GET", "/records/A/example.com/www", ""), 429, protocol.CodeRateLimited)
	f.expectAnswer("a replay while it is full", replay, 401, protocol.CodeNonceReused)
	f.now = f.now.Add(5*time.Minute + time.Second)
	f.expectAnswer("when they are stale", f.signRequest("GET", "/records/A/example.com/www", ""), 404, protocol.CodeRecordNotFound)
}

func TestServer_speaksTheProtocol(t *testing.T) {
	f := startServer(t, func(c *Config) { c.BasePath = "/dns/v1" })
	status, body, _ := f.sendRequest(f.signRequest("POST", "/dns/v1/records", upsert))
	if status != 200 || body != `{"success":true,"record":{"type":"A","domain":"example.com","subdomain":"www","fqdn":"www.example.com","values":["192.0.2.1","192.0.2.2"],"ttl":600},"message":"the record is as asked for"}` {
		t.Errorf("%d %s", status, body)
	}
	status, body, _ = f.sendRequest(f.signRequest("GET", "/dns/v1/records/A/example.com/www", ""))
	if status != 200 || body != `{"success":true,"record":{"type":"A","domain":"example.com","subdomain":"www","fqdn":"www.example.com","values":["192.0.2.1","192.0.2.2"],"ttl":600}}` {
		t.Errorf("%d %s", status, body)
	}
	for range 2 {
		f.expectAnswer("delete", f.signRequest("DELETE", "/dns/v1/records/A/example.com/www", ""), 200, "")
	}
	f.expectAnswer("get after it", f.signRequest("GET", "/dns/v1/records/A/example.com/www", ""), 404, protocol.CodeRecordNotFound)
	status, body, _ = f.sendRequest(f.signRequest("GET", "/dns/v1/health", ""))
	if want := `{"status":"healthy","message":"records are taken","timestamp":"2025-12-30T10:00:00Z","features":["batch","value-metadata","presentation"]}`; status != 200 || body != want {
		t.Errorf("%d %s", status, body)
	}
	for what, c := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"no JSON":            {"POST", "/dns/v1/records", "x", 400, protocol.CodeInvalidRecord},
		"two of JSON":        {"POST", "/dns/v1/records", upsert + "{}", 400, protocol.CodeInvalidRecord},
		"no operation":       {"POST", "/dns/v1/records", strings.Replace(upsert, "upsert", "", 1), 400, protocol.CodeInvalidRecord},
		"a bad value":        {"POST", "/dns/v1/records", strings.Replace(upsert, "192.0.2.1", "x", 1), 400, protocol.CodeInvalidValue},
		"a bad zone":         {"DELETE", "/dns/v1/records/A/example..com/www", "", 400, protocol.CodeInvalidDomain},
		"a path with dots":   {"DELETE", "/dns/v1/records/A/%2e%2e/www", "", 400, protocol.CodeInvalidDomain},
		"too few segments":   {"DELETE", "/dns/v1/records/A/example.com", "", 400, protocol.CodeInvalidRecord},
		"a long body":        {"POST", "/dns/v1/records", strings.Repeat("x", protocol.MaxBody+1), 413, protocol.CodeInvalidRecord},
		"an empty batch":     {"POST", "/dns/v1/records/batch", `{"operations":[]}`, 400, protocol.CodeInvalidRecord},
		"a batch of another": {"POST", "/dns/v1/records/batch", upsert, 400, protocol.CodeInvalidRecord},
	} {
		f.expectAnswer(what, f.signRequest(c.method, c.path, c.body), c.status, c.code)
	}
	// Answers outside the protocol: a client must not read "no such record" from them.
	for what, c := range map[string]struct {
		method, path string
		status       int
	}{
		"outside the base path": {"DELETE", "/records/A/example.com/www", 404},
		"no path of ours":       {"DELETE", "/dns/v1/zones", 404},
		"no method of ours":     {"PUT", "/dns/v1/records", 405},
		"delete health":         {"DELETE", "/dns/v1/health", 405},
	} {
		if status, body, response := f.sendRequest(f.signRequest(c.method, c.path, "")); status != c.status || response.Success != nil {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	f.backend.fail = errors.New("the password of the backend is hunter2")
	for _, request := range []*http.Request{f.signRequest("POST", "/dns/v1/records", upsert),
		f.signRequest("GET", "/dns/v1/records/A/example.com/www", ""), f.signRequest("GET", "/dns/v1/health", "")} {
		if status, body, _ := f.sendRequest(request); status < 500 || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %d %s", request.URL.Path, status, body)
		}
	}
	if !strings.Contains(f.log.String(), "hunter2") {
		t.Error("the log does not say what failed")
	}
}

func TestServer_carriesOutABatchItemByItem(t *testing.T) {
	f := startServer(t, nil)
	body := `{"operations":[
		{"record":{"type":"A","domain":"example.com","subdomain":"a","values":["192.0.2.1"]},"operation":"upsert"},
		{"record":{"type":"A","domain":"example.com","subdomain":"b","values":["nonsense"]},"operation":"upsert"},
		{"record":{"type":"A","domain":"example.com","subdomain":"a"},"operation":"delete"},
		{"record":{"type":"A","domain":"example.org","subdomain":"c","values":["192.0.2.3"]},"operation":"upsert"},
		{"record":{"type":"A","domain":"example.org","subdomain":"d"},"operation":"drop"}]}`
	status, text, _ := f.sendRequest(f.signRequest("POST", "/records/batch", body))
	var response protocol.BatchResponse
	if err := json.Unmarshal([]byte(text), &response); err != nil || status != 200 || len(response.Results) != 5 || *response.Success {
		t.Fatalf("%d %s %v", status, text, err)
	}
	for i, want := range []int{200, 400, 200, 200, 400} {
		if result := response.Results[i]; result.Status != want || *result.Success != (want == 200) {
			t.Errorf("item %d: %+v, expected %d", i, result, want)
		}
	}
	if len(f.backend.calls) != 2 || len(f.backend.calls[0]) != 2 || len(f.backend.calls[0][1].Data) != 0 || len(f.backend.calls[1]) != 1 {
		t.Errorf("the backend got %+v", f.backend.calls)
	}
	var many protocol.Batch
	for range protocol.MaxBatch + 1 {
		many.Operations = append(many.Operations, protocol.Request{Operation: protocol.Delete})
	}
	long := must.Get(protocol.Marshal(many))(t)
	f.expectAnswer("a long batch", f.signRequest("POST", "/records/batch", string(long)), 400, protocol.CodeInvalidRecord)
}

func TestNew_reportsAllFaults(t *testing.T) {
	_, err := New(Config{Algorithm: "MD5", BasePath: "dns/"})
	must.Say(t, err, "MD5", "base path", "backend")
}

// Attack 79: 70 connections without a body delay no signed request.
func TestServer_heldBodiesHoldUpNobody(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		f := startServer(t, nil)
		head := "POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n"
		if sealed {
			head += fmt.Sprintf("%s: %s\r\n%s: %032x\r\n%s: %064x\r\n", protocol.HeaderTimestamp, protocol.Timestamp(f.now), protocol.HeaderNonce, 7, protocol.HeaderSignature, 7)
		}
		refused := 0
		var conns []net.Conn
		for i := range 70 {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%5))}}
			conn := must.Get(d.Dial("tcp", f.server.Listener.Addr().String()))(t)
			t.Cleanup(func() { conn.Close() })
			must.Get(conn.Write([]byte(head + "\r\n")))(t)
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			if sealed {
				break
			}
			conn.SetReadDeadline(time.Now().Add(time.Minute))
			if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && answer.StatusCode == http.StatusUnauthorized {
				refused++
			}
		}
		if !sealed && refused != len(conns) {
			t.Errorf("%d of %d without a seal are refused at once", refused, len(conns))
		}
		began := time.Now()
		if status, body, _ := f.sendRequest(f.signRequest("GET", "/health", "")); status != http.StatusOK {
			t.Errorf("sealed %v: health: %d %s", sealed, status, body)
		}
		status, _, _ := f.sendRequest(f.signRequest("POST", "/records", upsert))
		t.Logf("sealed %v: POST %d; both after %s", sealed, status, time.Since(began))
		if status == http.StatusUnauthorized || time.Since(began) > 10*time.Second {
			t.Errorf("sealed %v: a signed request has to wait %s, and is answered %d", sealed, time.Since(began), status)
		}
	}
}

func TestServer_countsABatchBeforeItDecodes(t *testing.T) {
	f := startServer(t, nil)
	body := `{"operations":[` + strings.Repeat("{},", 330_000) + `{}],"operations":[{}]}`
	request := f.signRequest("POST", "/records/batch", body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if status, answer, _ := f.sendRequest(request); status != http.StatusOK && status != http.StatusBadRequest {
		t.Errorf("%d %s", status, answer)
	}
	runtime.ReadMemStats(&after)
	if elapsed := (after.TotalAlloc - before.TotalAlloc) >> 20; elapsed > 150 {
		t.Errorf("a body of %d octets takes %d MB", len(body), elapsed)
	} else {
		t.Logf("%d MB", elapsed)
	}
}
