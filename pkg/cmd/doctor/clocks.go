// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"maps"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// kubeAPIServer is the reference clock: it verifies the certificates.
const kubeAPIServer = "kube-apiserver"

var proxiedPod = regexp.MustCompile(`/pods/https:([^:/]+):[^/]*/proxy/`)

// clocks is safe for concurrent use.
type clocks struct {
	sync.Mutex
	ahead map[string]time.Duration // relative to this machine
}

func newClocks() *clocks { return &clocks{ahead: map[string]time.Duration{}} }

// note compares the date of an answer, in whole seconds, with the middle of the request.
func (c *clocks) note(from string, answer *http.Response, asked, answered time.Time) {
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	c.ahead[from] = date.Add(time.Second / 2).Sub(asked.Add(answered.Sub(asked) / 2)).Round(time.Second)
}

func (c *clocks) list() map[string]time.Duration {
	c.Lock()
	defer c.Unlock()
	return maps.Clone(c.ahead)
}

func (c *clocks) watch(next http.RoundTripper) http.RoundTripper { return &watchedTransport{next, c} }

type watchedTransport struct {
	next   http.RoundTripper
	clocks *clocks
}

func (w *watchedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := time.Now()
	answer, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if pod := proxiedPod.FindStringSubmatch(request.URL.Path); pod != nil {
		w.clocks.note("pod "+pod[1], answer, asked, time.Now())
	} else if request.URL.Path == "/version" {
		w.clocks.note(kubeAPIServer, answer, asked, time.Now())
	}
	return answer, nil
}
