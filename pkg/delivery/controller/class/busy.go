// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// A status write counts in the budget of its namespace, so the answer may be 429. client-go would then sleep and block
// the worker, but the queue can retry.

// WithoutWaiting copies config for a client that does not retry status writes after a 429.
func WithoutWaiting(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return answering{next} })
	return out
}

type answering struct{ http.RoundTripper }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests && r.Method == http.MethodPatch &&
		strings.HasSuffix(r.URL.Path, "/status") {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper returns the transport whose idle connections client-go closes.
func (a answering) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }
