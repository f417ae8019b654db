// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package masterfile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
)

// Attack 91: a request for a file name or another zone touches only the zone's file, and there only the named record.
func TestBackend_namesAreNoPaths(t *testing.T) {
	path := zoneAt(t, before)
	dir := filepath.Dir(path)
	beside := filepath.Join(dir, "other.zone")
	must.Succeed(t, os.WriteFile(beside, []byte(before), 0o600))
	handler := must.Get(server.New(server.Config{
		Backend: backendOf(t, path, nil), Algorithm: protocol.SHA256, Secrets: func() ([][]byte, error) {
			return [][]byte{[]byte("secret")},
				nil
		},
	}))(t)
	asked := 0
	send := func(method, at, body string) int {
		request := httptest.NewRequest(method, "http://x/", strings.NewReader(body))

		request.URL.Path = must.Get(url.PathUnescape(at))(t)
		request.URL.RawPath = at
		asked++
		signed := protocol.Signed{Method: method, Path: request.URL.EscapedPath(), Timestamp: protocol.Timestamp(time.Now()),
			Nonce: fmt.Sprintf("%032d", asked), Body: []byte(body)}
		request.Header.Set(protocol.HeaderTimestamp, signed.Timestamp)
		request.Header.Set(protocol.HeaderNonce, signed.Nonce)
		request.Header.Set(protocol.HeaderSignature, signed.Signature(protocol.SHA256, []byte("secret")))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	ttl := int64(300)
	upsert := func(domain, subdomain string) string {
		text := must.Get(json.Marshal(protocol.Request{Operation: protocol.Upsert, Record: protocol.Record{Type: "TXT", Domain: domain,
			Subdomain: subdomain, Values: []string{"x"}, TTL: &ttl}}))(t)
		return string(text)
	}
	for _, odd := range []string{
		"../other.zone", "../../etc/passwd", "/etc/passwd", beside, "other.zone", "example.org/../other.zone", "example.org\x00", "a\x00b",
		"a\nb", "..", ".", "$INCLUDE " + beside, "$ORIGIN", "-o", "--help", ";", "\"", "(", "\\000", "%2e%2e",
	} {
		if status := send(http.MethodPost, protocol.RecordsPath, upsert(odd, "www")); status != http.StatusBadRequest {
			t.Errorf("zone %q: %d", odd, status)
		}
		taken := send(http.MethodPost, protocol.RecordsPath, upsert("example.org", odd)) == http.StatusOK
		if plain := !strings.ContainsAny(odd, "\x00\n$;\"(\\% ") && !strings.Contains(odd, "..") && odd != "."; taken && !plain {
			t.Errorf("record %q is taken", odd)
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			for _, at := range []string{"/TXT/" + protocol.Segment(odd) + "/www", "/TXT/example.org/" + protocol.Segment(odd),
				"/" + protocol.Segment(odd) + "/example.org/www"} {
				if status := send(method, protocol.RecordsPath+at, ""); status >= 500 || status == http.StatusUnauthorized {
					t.Errorf("%s %s: %d", method, at, status)
				}
			}
		}
	}
	c, err := parseContent(example, []byte(readFile(t, path)))
	if was, _ := parseContent(example, []byte(before)); err != nil || !slices.Equal(c.entries, was.entries) {
		t.Errorf("the zone has %v, %v", c.entries, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 || readFile(t, beside) != before {
		t.Errorf("files %v, %v", files, err)
	}
}
