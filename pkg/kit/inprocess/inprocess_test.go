// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

type contextKey struct{}

// Handler and sender see the same as over a connection.
func TestTransport_isAsAConnection(t *testing.T) {
	seen := make(chan string, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must.Get(io.ReadAll(r.Body))(t)
		seen <- r.Method + " " + r.RequestURI + " " + r.Host + " " + r.Header.Get("Authorization") + " " + string(body)
		r.Header.Del("Authorization") // as authentication does
		if r.Context().Value(contextKey{}) != nil {
			t.Error("the handler sees a value of its sender's context")
		}
		switch r.URL.Path {
		case "/panic":
			panic(http.ErrAbortHandler)
		case "/empty":
			return
		}
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short ")
		_, _ = io.WriteString(w, "and stout")
	})
	connected := httptest.NewServer(handler)
	defer connected.Close()
	ctx := context.WithValue(t.Context(), contextKey{}, "v")
	ask := func(client *http.Client, path string, body io.Reader) string {
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, connected.URL+path+"?q=1", body))(t)
		request.Header.Set("Authorization", "Bearer x")
		response, err := client.Do(request)
		if request.Header.Get("Authorization") == "" {
			t.Error("the request of the sender is changed")
		}
		if err != nil {
			return "error"
		}
		defer response.Body.Close()
		return response.Header.Get("X-Answer") + response.Status + string(must.Get(io.ReadAll(response.Body))(t))
	}
	for _, path := range []string{"/", "/empty", "/panic"} {
		for _, body := range []string{"", "in"} {
			want := ask(connected.Client(), path, strings.NewReader(body))
			wantSeen := <-seen
			got := ask(&http.Client{Transport: Transport{handler}}, path, strings.NewReader(body))
			if gotSeen := <-seen; got != want || gotSeen != wantSeen {
				t.Errorf("%s with %q: %q, want %q; the handler saw %s, want %s", path, body, got, want, gotSeen, wantSeen)
			}
		}
	}
}

func TestTransport_endsWithTheContext(t *testing.T) {
	why := errors.New("the client has left")
	ctx, leave := context.WithCancelCause(t.Context())
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://here/", nil))(t)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leave(why)
		<-r.Context().Done()
		if got := context.Cause(r.Context()); got != why {
			t.Errorf("ended by %v, want %v", got, why)
		}
	})
	must.Get(Transport{handler}.RoundTrip(request))(t).Body.Close()
}
