// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// startWebhook NAME SECRET LOG serves the webhook protocol of docs/webhook.md, without our code, and stores the port in
// the variable. The file SECRET has the key of valid signatures; accepted requests go to the file LOG, as lines of
// method, path and body. Records named locked are refused.
func startWebhook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: webhook NAME SECRET LOG")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	log, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	server := &http.Server{Handler: &hook{secret: []byte(ts.ReadFile(args[1])), log: log, nonces: map[string]bool{}, records: map[string]bool{}}, ReadHeaderTimeout: waitTimeout}
	go server.Serve(listener)
	ts.Defer(func() { server.Close(); log.Close() })
}

type hook struct {
	secret []byte

	mu              sync.Mutex
	log             io.Writer
	nonces, records map[string]bool
}

func (h *hook) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	stamp, nonce := request.Header.Get("X-DNS-Timestamp"), request.Header.Get("X-DNS-Nonce")
	parts := []string{request.Method, request.RequestURI, stamp, nonce}
	if len(body) > 0 {
		parts = append(parts, string(body))
	}
	mac := hmac.New(sha256.New, h.secret)
	io.WriteString(mac, strings.Join(parts, "\n"))
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil || time.Since(at).Abs() > 5*time.Minute || h.nonces[nonce] || hex.EncodeToString(mac.Sum(nil)) != request.Header.Get("X-DNS-Signature") {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"success":false,"error":{"code":"AUTH_FAILED","message":"no","details":{}}}`)
		return
	}
	h.nonces[nonce] = true
	fmt.Fprintf(h.log, "%s %s %s\n", request.Method, request.RequestURI, body)
	switch {
	case request.RequestURI == "/health":
		io.WriteString(w, `{"status":"healthy","message":"ok","timestamp":"2025-12-30T10:00:00Z"}`)
	case request.Method == http.MethodPost && strings.Contains(string(body), `"subdomain":"locked"`):
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"success":false,"error":{"code":"INVALID_VALUE","message":"line 7 is locked by bob","details":{}}}`)
	case request.Method == http.MethodPost && request.RequestURI == "/records":
		io.WriteString(w, `{"success":true,"message":"made"}`)
	case request.Method == http.MethodDelete && strings.HasPrefix(request.RequestURI, "/records/"):
		w.WriteHeader(http.StatusNotFound) // allowed, whether or not a record existed
		io.WriteString(w, `{"success":false,"error":{"code":"RECORD_NOT_FOUND","message":"none","details":{}}}`)
	default:
		http.NotFound(w, request)
	}
}

// writeManifests INFO FILE writes the blocks of docs/migration-webhook.md marked "yaml INFO".
func writeManifests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: manifests INFO FILE")
	}
	text, err := os.ReadFile(ts.Getenv("EXAMPLES") + "/../../docs/migration-webhook.md")
	ts.Check(err)
	var found []string
	for _, block := range regexp.MustCompile("(?ms)^```yaml "+regexp.QuoteMeta(args[0])+"\n(.*?)^```$").FindAllSubmatch(text, -1) {
		found = append(found, string(block[1]))
	}
	if len(found) == 0 {
		ts.Fatalf("docs/migration-webhook.md has no block of %q", "yaml "+args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(found, "---\n")), 0o600))
}
