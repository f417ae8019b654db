// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// A status write counts in the budget of its namespace (S9.2), so it may be 429. Client-go
// would wait in the call and repeat it, up to ten times, and the worker with it: one tenant
// without budget would hold up all others' status. So the call ends at once, and its zone is
// tried again after the time that the server said.

// WithoutWaiting is the configuration for a client of whose status writes 429 is an answer
// like any other.
func WithoutWaiting(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return answering{next} })
	return out
}

type answering struct{ http.RoundTripper }

// RoundTrip takes away the header that client-go waits by. How long to wait stands in the Status, too.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests && r.Method == http.MethodPatch &&
		strings.HasSuffix(r.URL.Path, "/status") {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper is what client-go closes idle connections of.
func (a answering) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }
