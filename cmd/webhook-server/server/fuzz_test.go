// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

var fuzzNow = time.Date(2025, 12, 30, 10, 0, 0, 0, time.UTC)

func fuzzServer(f *testing.F, backend Backend) http.Handler {
	return must.Get(New(Config{
		Backend: backend, Algorithm: protocol.SHA256, Now: func() time.Time { return fuzzNow },
		Secrets: func() ([][]byte, error) { return [][]byte{[]byte("the secret")}, nil },
	}))(f)
}

// untouched fails at any request.
type untouched struct{ t *testing.T }

func (u *untouched) Apply(context.Context, name.Name, []protocol.RRset) []error {
	u.t.Error("asked to change something")
	return nil
}

func (u *untouched) Read(context.Context, name.Name, name.Name, rdata.Type) (protocol.RRset, error) {
	u.t.Error("asked to read something")
	return protocol.RRset{}, nil
}

func (u *untouched) Health(context.Context) error {
	u.t.Error("asked for its health")
	return nil
}

// Without a valid signature the answer says only so.
func FuzzServer_headers(f *testing.F) {
	f.Add("2025-12-30T10:00:00Z", strings.Repeat("a", 64), strings.Repeat("0", 64), "/health")
	f.Add("2025-12-30T10:00:00+25:00", "", "zz", "/records/A/example.com/www")
	f.Add("9999999999999-12-30T10:00:00Z", "\x00", "0", "/%2e%2e/health")
	backend := new(untouched)
	server := fuzzServer(f, backend)
	f.Fuzz(func(t *testing.T, stamp, nonce, signature, path string) {
		backend.t = t
		request := httptest.NewRequest(http.MethodGet, "/health", nil)
		request.URL.RawPath, request.URL.Path = path, path
		for header, value := range map[string]string{protocol.HeaderTimestamp: stamp, protocol.HeaderNonce: nonce, protocol.HeaderSignature: signature} {
			request.Header[http.CanonicalHeaderKey(header)] = []string{value}
		}
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		var response protocol.Response
		if err := json.Unmarshal(answer.Body.Bytes(), &response); err != nil || answer.Code != http.StatusUnauthorized || response.Success == nil || *response.Success || response.Error == nil {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
	})
}

// judge accepts only DNS data in the zone.
type judge struct {
	t    *testing.T
	sets []protocol.RRset
}

func (j *judge) Apply(_ context.Context, zone name.Name, sets []protocol.RRset) []error {
	for _, set := range sets {
		if set.Zone != zone || !zone.Encloses(set.Name) || set.Type.CheckRecord() != nil {
			j.t.Errorf("given %+v in %s", set, zone)
		}
		for _, data := range set.Data {
			value, err := rdata.Parse(set.Type, data)
			if err == nil {
				_, err = value.Pack(zone)
			}
			if err != nil || strings.ContainsAny(data, "\n\r\x00") {
				j.t.Errorf("given %q for %s: %v", data, set.Type, err)
			}
		}
	}
	j.sets = append(j.sets, sets...)
	return make([]error, len(sets))
}

func (j *judge) Read(_ context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	if !zone.Encloses(owner) {
		j.t.Errorf("asked for %s in %s", owner, zone)
	}
	return protocol.RRset{Zone: zone, Name: owner, Type: t}, nil
}

func (*judge) Health(context.Context) error { return nil }

// FuzzServer_messages (attacks 26, 60): a signed message gets an answer in the protocol or none, and passes only DNS
// data to the back end.
func FuzzServer_messages(f *testing.F) {
	f.Add(http.MethodPost, "/records", upsert)
	f.Add(http.MethodPost, "/records/batch", `{"operations":[`+upsert+`,{"record":{"type":"TXT","domain":"a.example","subdomain":"@"},"operation":"delete"}]}`)
	f.Add(http.MethodDelete, "/records/A/example.com/..%2f..", "")
	f.Add(http.MethodGet, "/records/MX/example.com/@", "")
	f.Add(http.MethodPost, "/records", `{"record":{"type":"TXT","domain":"example.com","subdomain":"a\nb","values":["x\"\n$INCLUDE /etc/passwd"]},"operation":"upsert"}`)
	f.Add(http.MethodPost, "/records", `{"record":{"type":"MX","domain":"example.com","subdomain":"@","values":["mx.example"],"metadata":[{"priority":1}]},"operation":"upsert"}{}`)
	backend := new(judge)
	server := fuzzServer(f, backend)
	nonce := 0
	f.Fuzz(func(t *testing.T, method, path, body string) {
		backend.t = t
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		request.Method, request.URL.Path, request.URL.RawPath = method, path, path
		nonce++
		signed := protocol.Signed{Method: method, Path: request.URL.EscapedPath(), Timestamp: protocol.Timestamp(fuzzNow), Nonce: strings.Repeat("x", 16+nonce%100) + time.Duration(nonce).String(), Body: []byte(body)}
		request.Header.Set(protocol.HeaderTimestamp, signed.Timestamp)
		request.Header.Set(protocol.HeaderNonce, signed.Nonce)
		request.Header.Set(protocol.HeaderSignature, signed.Signature(protocol.SHA256, []byte("the secret")))
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		if answer.Header().Get("Content-Type") != "application/json" {
			if answer.Code != http.StatusNotFound && answer.Code != http.StatusMethodNotAllowed {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			return
		}
		if !json.Valid(answer.Body.Bytes()) || answer.Code >= 500 || answer.Code == http.StatusUnauthorized {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
	})
}
