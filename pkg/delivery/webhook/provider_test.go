// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

var example = name.MustParse("example.com.")

type seen struct {
	method, uri string
	header      http.Header
	body        string
}

type peer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

func (p *peer) listRequests() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *peer) describeRequests() []string {
	var asked []string
	for _, s := range p.listRequests() {
		asked = append(asked, s.method+" "+s.uri)
	}
	return asked
}

func startPeer(t *testing.T, answer http.HandlerFunc) *peer {
	t.Helper()
	p := new(peer)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, seen{request.Method, request.RequestURI, request.Header, string(body)})
		p.mu.Unlock()
		request.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, request)
	}))
	t.Cleanup(p.Close)
	return p
}

func answerWith(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); io.WriteString(w, body) }
}

const done = `{"success":true,"message":"ok"}`

func connectProvider(t *testing.T, server string, change func(*webhook.Config)) *webhook.Provider {
	t.Helper()
	config := webhook.Config{
		Server: server, AllowLocalAddresses: true, Timeout: 5 * time.Second,
		HMAC: &webhook.HMAC{Algorithm: protocol.SHA256, Secret: []byte(secret)},
	}
	if change != nil {
		change(&config)
	}
	provider := must.Get(webhook.New(config))(t)
	t.Cleanup(func() { provider.Close() })
	return provider
}

func makeRRset(owner string, t rdata.Type, data ...string) delivery.RRset {
	n, err := name.ParseIn(owner, example)
	if err != nil {
		panic(err)
	}
	return delivery.RRset{Name: n, Type: t, TTL: 300, Data: data}
}

func planOf(sets ...delivery.RRset) delivery.Plan {
	plan := delivery.Plan{Zone: example, Serial: 2, Since: 1, All: slices.Values(sets), CallTimeout: 5 * time.Second}
	for _, s := range sets {
		plan.Changes = append(plan.Changes, delivery.Change{Before: delivery.RRset{Name: s.Name, Type: s.Type}, After: s})
	}
	return plan
}

func passFence(context.Context) error { return nil }

func asError(t *testing.T, err error) *delivery.Error {
	t.Helper()
	var failure *delivery.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *delivery.Error", err)
	}
	return failure
}

// The signature covers the request as sent, with a fresh nonce.
func TestProvider_signsWhatItSends(t *testing.T) {
	server := startPeer(t, answerWith(200, done))
	provider := connectProvider(t, server.URL+"/a%20b/", nil)
	plan := planOf(makeRRset("www", rdata.A, "192.0.2.1"))
	plan.Changes = append(plan.Changes, delivery.Change{Before: makeRRset("*.x/y", rdata.TXT, `"t"`),
		After: delivery.RRset{Name: makeRRset("*.x/y", rdata.TXT).Name, Type: rdata.TXT}})
	must.Get(provider.Deliver(t.Context(), plan, passFence))(t)
	if want := []string{"GET /a%20b/health", "POST /a%20b/records", "DELETE /a%20b/records/TXT/example.com/*.x%2Fy"}; !slices.Equal(
		server.describeRequests(), want) {
		t.Fatalf("%q, expected %q", server.describeRequests(), want)
	}
	nonces := map[string]bool{}
	for _, s := range server.listRequests() {
		nonce := s.header.Get(protocol.HeaderNonce)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(nonce) || nonces[nonce] {
			t.Errorf("nonce %q", nonce)
		}
		nonces[nonce] = true
		stamp := s.header.Get(protocol.HeaderTimestamp)
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`).MatchString(stamp) {
			t.Errorf("timestamp %q", stamp)
		}
		signed := protocol.Signed{Method: s.method, Path: s.uri, Timestamp: stamp, Nonce: nonce, Body: []byte(s.body)}
		if got, want := s.header.Get(protocol.HeaderSignature), signed.Signature(protocol.SHA256, []byte(secret)); got != want {
			t.Errorf("%s: signature %q, expected %q", s.uri, got, want)
		}
	}
	if want := `{"record":{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1"],"ttl":300},"operation":"upsert"}`; server.listRequests()[1].body != want {
		t.Errorf("body %s", server.listRequests()[1].body)
	}
}

func TestProvider_readsAnswers(t *testing.T) {
	refusal := func(code string) string {
		return fmt.Sprintf(`{"success":false,"error":{"code":%q,"message":"FOREIGN %s","details":{}}}`, code, secret)
	}
	for what, c := range map[string]struct {
		status     int
		body       string
		header     string
		reason     delivery.Reason
		code       string
		failed     bool // in Failed; delivery of the rest continues
		permanent  bool
		wholeClass bool
		retry      time.Duration
	}{
		"success":                 {status: 200, body: done},
		"created":                 {status: 201, body: done},
		"success of nothing":      {status: 200, body: `{}`, reason: delivery.ReasonServerError, code: "200"},
		"success in HTML":         {status: 200, body: `<html>FOREIGN</html>`, reason: delivery.ReasonServerError, code: "200"},
		"success without a body":  {status: 204, reason: delivery.ReasonServerError, code: "204"},
		"no success with 200":     {status: 200, body: refusal("SERVER_ERROR"), reason: delivery.ReasonServerError, code: "SERVER_ERROR", failed: true},
		"a code of its own":       {status: 500, body: refusal("FOREIGN code"), reason: delivery.ReasonServerError, code: "500", failed: true},
		"a server error":          {status: 500, body: refusal("SERVER_ERROR"), reason: delivery.ReasonServerError, code: "SERVER_ERROR", failed: true},
		"a gateway's error":       {status: 502, body: "FOREIGN bad gateway", reason: delivery.ReasonServerError, code: "502"},
		"unavailable for a while": {status: 503, body: "FOREIGN", header: "30", reason: delivery.ReasonServerError, code: "503", retry: 30 * time.Second},
		"an invalid record":       {status: 400, body: refusal("INVALID_RECORD"), reason: delivery.ReasonValidationFailed, code: "INVALID_RECORD", failed: true, permanent: true},
		"an invalid value":        {status: 400, body: refusal("INVALID_VALUE"), reason: delivery.ReasonValidationFailed, code: "INVALID_VALUE", failed: true, permanent: true},
		"an invalid domain":       {status: 400, body: refusal("INVALID_DOMAIN"), reason: delivery.ReasonValidationFailed, code: "INVALID_DOMAIN", failed: true, permanent: true},
		"a bad request":           {status: 400, body: "FOREIGN", reason: delivery.ReasonValidationFailed, code: "400", failed: true, permanent: true},
		"a conflict":              {status: 409, body: refusal("INVALID_RECORD"), reason: delivery.ReasonConflict, code: "INVALID_RECORD", failed: true},
		"no such zone":            {status: 404, body: refusal("RECORD_NOT_FOUND"), reason: delivery.ReasonZoneNotFound, code: "RECORD_NOT_FOUND", failed: true},
		"no zone, and an error":   {status: 404, body: refusal("SERVER_ERROR"), reason: delivery.ReasonServerError, code: "SERVER_ERROR", failed: true},
		"a domain without a zone": {status: 404, body: refusal("INVALID_DOMAIN"), reason: delivery.ReasonZoneNotFound,
			code: "INVALID_DOMAIN", failed: true},
		"wrong, and to be awaited": {status: 401, body: refusal("AUTH_FAILED"), header: "1",
			reason: delivery.ReasonAuthenticationFailed, code: "AUTH_FAILED", wholeClass: true},
		"no such page":             {status: 404, body: "FOREIGN", reason: delivery.ReasonServerError, code: "404"},
		"not let in":               {status: 401, body: refusal("AUTH_FAILED"), reason: delivery.ReasonAuthenticationFailed, code: "AUTH_FAILED", wholeClass: true},
		"not let in by a proxy":    {status: 401, body: "FOREIGN", reason: delivery.ReasonAuthenticationFailed, code: "401", wholeClass: true},
		"forbidden":                {status: 403, body: "FOREIGN", reason: delivery.ReasonAuthenticationFailed, code: "403", wholeClass: true},
		"a clock that is wrong":    {status: 401, body: refusal("TIMESTAMP_STALE"), reason: delivery.ReasonAuthenticationFailed, code: "TIMESTAMP_STALE", wholeClass: true},
		"rate limited":             {status: 429, body: refusal("RATE_LIMITED"), header: "7", reason: delivery.ReasonRateLimited, code: "RATE_LIMITED", wholeClass: true, retry: 7 * time.Second},
		"rate limited by a proxy":  {status: 429, body: "FOREIGN", header: "7", reason: delivery.ReasonRateLimited, code: "429", wholeClass: true, retry: 7 * time.Second},
		"rate limited with a 200":  {status: 200, body: refusal("RATE_LIMITED"), reason: delivery.ReasonRateLimited, code: "RATE_LIMITED", wholeClass: true},
		"rate limited for years":   {status: 429, body: refusal("RATE_LIMITED"), header: "999999999", reason: delivery.ReasonRateLimited, code: "RATE_LIMITED", wholeClass: true, retry: time.Hour},
		"a Retry-After of letters": {status: 429, body: refusal("RATE_LIMITED"), header: "soon", reason: delivery.ReasonRateLimited, code: "RATE_LIMITED", wholeClass: true},
		"a quota":                  {status: 429, body: refusal("QUOTA_EXCEEDED"), reason: delivery.ReasonQuotaExceeded, code: "QUOTA_EXCEEDED", failed: true, retry: 10 * time.Minute},
		"a redirect":               {status: 302, body: "FOREIGN", reason: delivery.ReasonInvalidConfiguration, code: "302", wholeClass: true},
		"too long an answer":       {status: 200, body: `{"success":true,"message":"` + strings.Repeat("x", protocol.MaxBody) + `"}`, reason: delivery.ReasonServerError, code: "200"},
	} {
		t.Run(what, func(t *testing.T) {
			server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				answerWith(c.status, c.body)(w, request)
			})
			report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(makeRRset("www", rdata.A, "192.0.2.1")),
				passFence)
			var failure *delivery.Error
			switch {
			case c.reason == "":
				if err != nil || report.Confirmed != 2 || len(report.Failed) > 0 {
					t.Fatalf("%+v, %v", report, err)
				}
				return
			case c.failed:
				if err != nil || report.Confirmed != 2 || len(report.Failed) != 1 {
					t.Fatalf("%+v, %v", report, err)
				}
				failure = report.Failed[0].Err
			default:
				failure = asError(t, err)
				if report.Confirmed != 0 || len(report.Failed) != 0 {
					t.Errorf("%+v", report)
				}
			}
			if failure.Reason != c.reason || failure.Code != c.code || failure.Permanent != c.permanent || failure.WholeClass != c.wholeClass || failure.RetryAfter != c.retry {
				t.Errorf("%+v", failure)
			}
			if text := failure.Error(); strings.Contains(text, "FOREIGN") || strings.Contains(text, secret) || failure.Message == "" {
				t.Errorf("the message repeats what the server wrote, or is empty: %s", text)
			}
			if failure.Err != nil && strings.Contains(failure.Err.Error(), secret) || strings.Contains(failure.Detail, secret) {
				t.Errorf("the secret would be logged: %v, %s", failure.Err, failure.Detail)
			}
			if isProtocol := strings.HasPrefix(c.body, `{"success":false`); isProtocol && !strings.HasPrefix(failure.Detail, "FOREIGN") || !isProtocol && failure.Detail != "" {
				t.Errorf("said %q", failure.Detail)
			}
		})
	}
}

func TestProvider_signsAgainOnceWhenANonceWasSeen(t *testing.T) {
	for _, reused := range []int{1, 2} {
		left := reused
		server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
			if left--; left >= 0 {
				answerWith(401, `{"success":false,"error":{"code":"NONCE_REUSED","message":""}}`)(w, request)
				return
			}
			answerWith(200, done)(w, request)
		})
		fences := 0
		report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(makeRRset("www", rdata.A, "192.0.2.1")),
			func(context.Context) error { fences++; return nil })
		requests := server.listRequests()
		if len(requests) != 2 || fences != 2 || requests[0].header.Get(protocol.HeaderNonce) == requests[1].header.Get(protocol.HeaderNonce) {
			t.Errorf("%d requests, %d fences", len(requests), fences)
		}
		if reused == 1 && (err != nil || report.Confirmed != 2) {
			t.Errorf("%+v, %v", report, err)
		}
		if reused == 2 && asError(t, err).Reason != delivery.ReasonAuthenticationFailed {
			t.Errorf("%v", err)
		}
	}
}

func TestProvider_deletesAreDoneWhenNothingIsThere(t *testing.T) {
	gone := delivery.Plan{Zone: example, Serial: 2, Since: 1, Changes: []delivery.Change{{Before: makeRRset("www", rdata.A, "192.0.2.1"),
		After: makeRRset("www", rdata.A)}}}
	for what, c := range map[string]struct {
		status int
		body   string
		done   bool
	}{
		"deleted":                {200, done, true},
		"not there":              {404, `{"success":false,"error":{"code":"RECORD_NOT_FOUND","message":""}}`, true},
		"not there, and success": {404, `{"success":true}`, true},
		"no such page":           {404, "404 page not found", false},
		"an error of its own":    {404, `{"success":false,"error":{"code":"SERVER_ERROR","message":""}}`, false},
		"some JSON":              {404, `{"error":"not found"}`, false},
	} {
		server := startPeer(t, answerWith(c.status, c.body))
		report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), gone, passFence)
		if (err == nil && report.Confirmed == 2 && len(report.Failed) == 0) != c.done {
			t.Errorf("%s: %+v, %v", what, report, err)
		}
		want := []string{"DELETE /records/A/example.com/www"}
		if !c.done && !strings.Contains(c.body, "SERVER_ERROR") {
			want = append(want, "GET /health") // is the server or the record at fault?
		}
		if !slices.Equal(server.describeRequests(), want) {
			t.Errorf("%s: %q", what, server.describeRequests())
		}
	}
}

// The provider proves itself by a token and a certificate, and only to a server with a trusted certificate.
func TestProvider_provesItselfOverTLS(t *testing.T) {
	var token, from string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		token, from = request.Header.Get("Authorization"), request.TLS.PeerCertificates[0].Subject.String()
		io.WriteString(w, `{"status":"healthy"}`)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	withProofs := func(c *webhook.Config) {
		// The server accepts any client certificate, so its own pair serves.
		c.BearerToken, c.ClientCertificate = "tok\n", &server.TLS.Certificates[0]
	}
	provider := connectProvider(t, server.URL, func(c *webhook.Config) {
		withProofs(c)
		c.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	})
	if err := provider.Health(t.Context()); err != nil || token != "Bearer tok" || from == "" {
		t.Errorf("%v, %q, %q", err, token, from)
	}
	token = ""
	failure := asError(t, connectProvider(t, server.URL, withProofs).Health(t.Context()))
	if failure.Reason != delivery.ReasonServerUnreachable || !strings.Contains(failure.Message, "caBundle") || token != "" {
		t.Errorf("a server with an untrusted certificate: %v, token %q", failure, token)
	}
}

// A server's URL that could read a file, carry credentials or leave its path is refused, and the message does not show
// a password. All faults of a configuration are reported together (attacks 51 and 53).
func TestNew_refusesServersThatCannotBe(t *testing.T) {
	for server, want := range map[string]string{
		"":                                "http://",
		"file:///etc/passwd":              "http://",
		"unix:///run/docker.sock":         "http://",
		"dns.example":                     "http://",
		"http://":                         "host",
		"http://user:PASSWORD@dns.test":   "user",
		"http://dns.test/?x=1":            "query",
		"http://dns.test/#x":              "fragment",
		"http://dns.test/a/../b":          "segments",
		"http://dns.test/%2e%2e/b":        "segments",
		"http://us er:PASSWORD@dns.test/": "URL",
	} {
		_, err := webhook.New(webhook.Config{Server: server})
		if failure := asError(t, err); failure.Reason != delivery.ReasonInvalidConfiguration || !failure.Permanent || !strings.Contains(failure.Message, want) || strings.Contains(failure.Message, "PASSWORD") {
			t.Errorf("%s: %v", server, failure)
		}
	}
	_, err := webhook.New(webhook.Config{Server: "http://dns.test", BearerToken: "t t", CABundle: []byte("x"), HMAC: &webhook.HMAC{Algorithm: "MD5"}, Timeout: -1})
	failure := asError(t, err)
	must.Say(t, failure.Message, "bearerTokenFrom: needs an https URL", "bearerTokenFrom: the token has octets", "tls.caBundle",
		"MD5", "hmacAuth: the secret is empty", "timeoutSeconds")
}

// Unless the class permits local addresses, the provider does not connect to any, in any spelling and behind any host
// name. The error names the address and the permitting option (attack 51).
func TestProvider_connectsToNoLocalAddress(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "[::ffff:a9fe:a9fe]", "0.0.0.0", "2130706433", "0x7f000001", "127.1"} {
		provider := connectProvider(t, "http://"+host+port, func(c *webhook.Config) { c.AllowLocalAddresses = false })
		failure := asError(t, provider.Health(t.Context()))
		// Equally safe: the resolver rejects the odd spelling.
		odd := !strings.ContainsAny(host, "[:") && strings.Count(host, ".") != 3 && host != "localhost"
		if !(failure.Reason == delivery.ReasonInvalidConfiguration && strings.Contains(failure.Message, "allowLocalAddresses")) && !(odd && failure.Reason == delivery.ReasonServerUnreachable) {
			t.Errorf("%s: %v", host, failure)
		}
	}
	if asked {
		t.Error("a local address was asked")
	}
}

// Attack 52: endless, compressed and foreign answers.
func TestProvider_survivesWhatServersSend(t *testing.T) {
	var zeros [1 << 16]byte
	for i := range zeros {
		zeros[i] = '0'
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		reason delivery.Reason
	}{
		"an endless body": {func(w http.ResponseWriter, r *http.Request) {
			for block := bytes.Repeat([]byte(" "), 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, delivery.ReasonServerError},
		"a body that drips": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		}, delivery.ReasonServerUnreachable},
		"a gzip bomb": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, `{"status":"healthy","message":"`)
			for range 2 << 20 / len(zeros) {
				z.Write(zeros[:])
			}
			io.WriteString(z, `"}`)
			z.Close()
		}, delivery.ReasonServerError},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, delivery.ReasonServerUnreachable},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				io.WriteString(conn, "FOREIGN-2.0-text\r\n\r\n")
				conn.Close()
			}
		}, delivery.ReasonServerUnreachable},
		"endless headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("FOREIGN", 1<<16))
		}, delivery.ReasonServerUnreachable},
	} {
		server := startPeer(t, c.answer)
		began := time.Now()
		failure := asError(t, connectProvider(t, server.URL, func(c *webhook.Config) { c.Timeout = time.Second }).Health(t.Context()))
		if elapsed := time.Since(began); elapsed > 20*time.Second || failure.Reason != c.reason ||
			strings.Contains(failure.Error(), "FOREIGN") {
			t.Errorf("%s: %v after %s", what, failure, elapsed)
		}
		server.CloseClientConnections()
	}
}

func TestProvider_healthSaysWhatIsWrong(t *testing.T) {
	for what, c := range map[string]struct {
		status int
		body   string
		reason delivery.Reason
	}{
		"healthy":            {200, `{"status":"healthy"}`, ""},
		"unhealthy":          {503, `{"status":"unhealthy","message":"FOREIGN"}`, delivery.ReasonServerError},
		"unhealthy, and 200": {200, `{"status":"unhealthy"}`, delivery.ReasonServerError},
		"healthy, and 500":   {500, `{"status":"healthy"}`, delivery.ReasonServerError},
		"no JSON":            {200, `ok`, delivery.ReasonServerError},
		"JSON of another":    {200, `{"success":true}`, delivery.ReasonServerError},
		"not let in":         {401, `{"success":false,"error":{"code":"AUTH_FAILED"}}`, delivery.ReasonAuthenticationFailed},
	} {
		err := connectProvider(t, startPeer(t, answerWith(c.status, c.body)).URL, nil).Health(t.Context())
		if c.reason == "" && err == nil {
			continue
		}
		if failure := asError(t, err); failure.Reason != c.reason || strings.Contains(failure.Error(), "FOREIGN") || strings.Contains(c.body, "FOREIGN") && failure.Detail != "unhealthy: FOREIGN" {
			t.Errorf("%s: %v", what, failure)
		}
	}
}
