// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func bearing(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/zones", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// statusOf is the status of the answer to an error.
func statusOf(err error) int {
	var told *problem
	if !errors.As(err, &told) {
		return 0
	}
	return told.status
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestIdentify_byTokenFile: each line is a token, a new file takes effect at once, and an empty one lets no request in.
func TestIdentify_byTokenFile(t *testing.T) {
	path := writeFile(t, "first-token-of-the-file\nsecond-token-of-the-file\n")
	auth := &Authentication{TokenFile: path}
	for token, want := range map[string]int{
		"first-token-of-the-file": 0, "second-token-of-the-file": 0, "": 401, "first-token-of-the-fil": 401, "first-token-of-the-file\nsecond-token-of-the-file": 401, "other": 401,
	} {
		if _, err := auth.Identify(bearing(token)); statusOf(err) != want || (want == 0) != (err == nil) {
			t.Errorf("%q: %v, want %d", token, err, want)
		}
	}
	for _, text := range []string{"", "short"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.Identify(bearing(text)); err == nil {
			t.Errorf("with the file %q a request was let in", text)
		}
	}
	if _, err := (&Authentication{}).Identify(bearing("x")); statusOf(err) != 401 {
		t.Errorf("with no way to authenticate: %v", err)
	}
}

// TestIdentify_byCertificate: a verified certificate with a name of the list is enough, any other is not.
func TestIdentify_byCertificate(t *testing.T) {
	auth := &Authentication{Certificates: []string{"fleet.example"}}
	with := func(verified bool, common string, names ...string) *http.Request {
		r := bearing("")
		certificate := &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: names}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
		if verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{certificate}}
		}
		return r
	}
	if client, err := auth.Identify(with(true, "", "a", "fleet.example")); err != nil || client != "certificate fleet.example" {
		t.Errorf("%q, %v", client, err)
	}
	if _, err := auth.Identify(with(true, "fleet.example")); err != nil {
		t.Error(err)
	}
	for _, r := range []*http.Request{with(false, "fleet.example"), with(true, "other"), with(true, "")} {
		if _, err := auth.Identify(r); statusOf(err) != 401 {
			t.Errorf("%v", err)
		}
	}
}

// TestIdentify_byTokenReview: a token needs the audience and a user of the list; answers are kept for a while, and a
// Kubernetes that does not answer is 503, not a refusal.
func TestIdentify_byTokenReview(t *testing.T) {
	const user = "system:serviceaccount:kubizone:controller"
	var asked atomic.Int32
	kube := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review struct {
			Kind string
			Spec struct {
				Token     string
				Audiences []string
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Kind != "TokenReview" || len(review.Spec.Audiences) != 1 || review.Spec.Audiences[0] != "bindcar" {
			t.Errorf("review: %+v, %v", review, err)
		}
		if r.Header.Get("Authorization") != "Bearer own" || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(map[string]string{
			"good":        `{"status":{"authenticated":true,"audiences":["bindcar"],"user":{"username":"` + user + `"}}}`,
			"other":       `{"status":{"authenticated":true,"audiences":["bindcar"],"user":{"username":"system:serviceaccount:a:b"}}}`,
			"no audience": `{"status":{"authenticated":true,"user":{"username":"` + user + `"}}}`,
			"for kube":    `{"status":{"authenticated":true,"audiences":["kube"],"user":{"username":"` + user + `"}}}`,
			"refused":     `{"status":{"authenticated":false,"audiences":["bindcar"],"user":{"username":"` + user + `"}}}`,
			"garbage":     `nothing`,
		}[review.Spec.Token]))
	}))
	defer kube.Close()
	now := time.Now()
	own := writeFile(t, "own\n")
	auth := &Authentication{Review: &TokenReview{Server: kube.URL + "/", TokenFile: own, Audience: "bindcar", Users: []string{user}, Client: kube.Client(), Now: func() time.Time { return now }}}
	for token, want := range map[string]int{"good": 0, "other": 401, "no audience": 401, "for kube": 401, "refused": 401, "garbage": 503} {
		client, err := auth.Identify(bearing(token))
		if statusOf(err) != want || want == 0 && (err != nil || client != user) {
			t.Errorf("%s: %q, %v, want %d", token, client, err, want)
		}
	}
	asked.Store(0)
	for range 3 {
		_, _ = auth.Identify(bearing("good"))
		_, _ = auth.Identify(bearing("refused"))
	}
	if asked.Load() != 0 {
		t.Errorf("%d reviews of tokens that were reviewed just now", asked.Load())
	}
	now = now.Add(refusedTime)
	_, _ = auth.Identify(bearing("good"))
	_, _ = auth.Identify(bearing("refused"))
	now = now.Add(takenTime)
	_, _ = auth.Identify(bearing("good"))
	if asked.Load() != 2 {
		t.Errorf("%d reviews after their time, want 2", asked.Load())
	}
	if err := os.WriteFile(own, []byte("expired"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.Identify(bearing("new")); statusOf(err) != 503 || strings.Contains(err.Error(), "403") {
		t.Errorf("an agent without rights: %v", err)
	}
}

// TestIdentify_reviewsFewUnknownTokens: a client that invents tokens has few of them reviewed, and neither other
// addresses nor tokens that were taken before wait for it.
func TestIdentify_reviewsFewUnknownTokens(t *testing.T) {
	var asked atomic.Int32
	kube := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review struct{ Spec struct{ Token string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"status":{"authenticated":%t,"audiences":["bindcar"],"user":{"username":"u"}}}`, review.Spec.Token == "good")
	}))
	defer kube.Close()
	now := time.Now()
	auth := &Authentication{Review: &TokenReview{Server: kube.URL, TokenFile: writeFile(t, "own"), Audience: "bindcar", Users: []string{"u"}, Client: kube.Client(), Now: func() time.Time { return now }}}
	identify := func(remote, token string) error {
		r := bearing(token)
		r.RemoteAddr = remote
		_, err := auth.Identify(r)
		return err
	}
	if err := identify("192.0.2.1:1", "good"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxReviews {
		if err := identify("192.0.2.1:2", fmt.Sprint("invented ", i)); statusOf(err) != 401 && statusOf(err) != 429 {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n > unknownBurst {
		t.Errorf("%d reviews for the tokens of one address, want %d at most", n, unknownBurst)
	}
	if err := identify("192.0.2.2:1", "another"); statusOf(err) != 401 {
		t.Errorf("another address: %v", err)
	}
	for i := range maxReviews + 1 { // as from as many addresses
		auth.Review.keepReview(sha256.Sum256([]byte(fmt.Sprint(i))), review{until: now.Add(refusedTime)})
	}
	now = now.Add(takenTime)
	for auth.Review.unknown.reserveRequest("192.0.2.1:3", now) == 0 {
	}
	if err := identify("192.0.2.1:4", "good"); err != nil {
		t.Errorf("a token that was taken before: %v", err)
	}
}
