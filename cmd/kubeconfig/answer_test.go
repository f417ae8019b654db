// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/test/must"
)

// K3: a read of a silent API ends at the limit, later reads sooner, until a read is answered. Writes and watches have
// the server's time.
func TestAnswers_boundReads(t *testing.T) {
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			select {
			case <-silent:
			case <-r.Context().Done():
			}
		case "/slow":
			time.Sleep(400 * time.Millisecond)
		}
		_, _ = io.WriteString(w, strings.Repeat("answer", 1<<16))
	}))
	defer server.Close()
	defer close(silent)
	client := &http.Client{Transport: &answers{RoundTripper: http.DefaultTransport,
		timeouts: timeouts{note: 100 * time.Millisecond, limit: 300 * time.Millisecond, failedLimit: 50 * time.Millisecond}}}
	ask := func(method, path string) (time.Duration, error) {
		request := must.Get(http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody))(t)
		begin := time.Now()
		answer, err := client.Do(request)
		if err != nil {
			return time.Since(begin), err
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || len(text) != 6<<16 {
			t.Errorf("%s %s: %d octets, %v", method, path, len(text), err)
		}
		return time.Since(begin), nil
	}
	expect := func(method, path string, least time.Duration, want string) {
		t.Helper()
		took, err := ask(method, path)
		if took < least || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: after %s %v, want %q after %s", method, path, took, err, want, least)
		}
	}
	expect("GET", "/", 0, "")
	expect("GET", "/silent", 300*time.Millisecond, "the API has not answered for 300ms")
	expect("GET", "/silent", 50*time.Millisecond, "the API has not answered for 50ms")
	expect("POST", "/slow", 400*time.Millisecond, "")
	expect("GET", "/slow?watch=true", 400*time.Millisecond, "")
	expect("GET", "/", 0, "")
	expect("GET", "/silent", 300*time.Millisecond, "the API has not answered for 300ms")
	_, err := ask("GET", "/silent")
	if text := Explain(fmt.Errorf("zone x: %w", err)).Error(); !strings.HasSuffix(text, "; kubectl kubizone doctor finds the cause") {
		t.Error(text)
	}
	if text := Explain(apierrors.NewServiceUnavailable("none")).Error(); !strings.HasSuffix(text, nextStep) {
		t.Error(text)
	}
	for _, other := range []error{errors.New("no zone"), apierrors.NewTimeoutError("etcd", 5), context.DeadlineExceeded} {
		if text := Explain(other).Error(); text != other.Error() {
			t.Error(text)
		}
	}
}

// K3: one line, while the command still waits.
func TestAnswers_reportOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	web := &http.Client{Transport: &answers{RoundTripper: http.DefaultTransport,
		timeouts: timeouts{note: 10 * time.Millisecond, limit: 200 * time.Millisecond, failedLimit: 200 * time.Millisecond}}}
	p := program.New(&cobra.Command{Use: "test"})
	p.Root.AddCommand(&cobra.Command{Use: "read", RunE: func(command *cobra.Command, _ []string) (err error) {
		for range 2 {
			request := must.Get(http.NewRequestWithContext(command.Context(), http.MethodGet, server.URL, http.NoBody))(t)
			if _, err = web.Do(request); err == nil {
				t.Error("an answer")
			}
		}
		return err
	}})
	p.Explain = Explain
	var out, stderr strings.Builder
	code := p.Main([]string{"read"}, &out, &stderr)
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if code != 2 || len(lines) != 2 || lines[0] != "the API has not answered yet; "+nextStep ||
		!strings.HasSuffix(lines[1], "; "+nextStep) {
		t.Errorf("exit code %d: %q", code, lines)
	}
}
