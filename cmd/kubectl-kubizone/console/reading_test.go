// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// handled answers requests by a handler, without a network.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// The console may read several namespaces (`-n team-a,team-b`), but its forms and commands need a single one. They use
// the first of the list, or that of the kubeconfig's context.
func TestNewReading_hasOneNamespace(t *testing.T) {
	for _, asked := range []string{"", "team-a", "team-a,team-b"} {
		own := cmp.Or(asked, "context")
		want, _, _ := strings.Cut(own, ",")
		if r := must.Get(newReading(&rest.Config{Host: "http://api"}, asked, own))(t); r.own != want {
			t.Errorf("-n %q: %s, want %s", asked, r.own, want)
		}
	}
}

// A search that finds little returns it after seconds, with a link to go on.
func TestFillEntries_returnsWhatASearchHasFound(t *testing.T) {
	for _, one := range []struct {
		what               string
		took               time.Duration // of a request
		hits, every, batch int           // a hit, or batch of them, in each of so many requests
		stuck              int           // the request that does not end
		want               int
		searching          bool
	}{
		{what: "a page", took: time.Millisecond, hits: 1000, every: 1, batch: 50, want: pageEntries},
		{what: "many requests", took: 10 * time.Millisecond, hits: 1000, every: 1, want: 84, searching: true},
		{what: "an end", took: time.Millisecond, hits: 3, every: 1, want: 3},
		{what: "slow", took: time.Second, hits: 1000, every: 2, want: 2, searching: true},
		{what: "nothing in time", took: time.Second, hits: 1000, every: 1000, want: 0, searching: true},
		{what: "a first request that is slow", took: 2 * searchTime, hits: 1000, every: 1, want: 1, searching: true},
		{what: "a server that stops", took: time.Millisecond, hits: 1000, every: 1, stuck: 8, want: 7, searching: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				time.Sleep(one.took)
				if requests == one.stuck {
					<-r.Context().Done()
				}
				at, _ := strconv.Atoi(r.URL.Query().Get("continue"))
				answer := &v1alpha1.ZoneEntries{Serial: 7}
				if at++; at%one.every == 0 {
					answer.Entries = make([]v1alpha1.Entry, max(1, one.batch))
				}
				if answer.Metadata.Continue = fmt.Sprint(at); at == one.hits*one.every {
					answer.Metadata.Continue = ""
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(answer)
			})
			r := must.Get(newReading(&rest.Config{Host: "http://api", Transport: handled{api}}, "", "team"))(t)
			p := &zonePage{Zone: &v1alpha1.Zone{Status: v1alpha1.ZoneStatus{Serial: 7}}}
			p.Zone.Namespace, p.Zone.Name = "team", "zone"
			began := time.Now()
			fillEntries(t.Context(), r, p, map[string][]string{"search": {"x"}})
			got, took := p.Entries, time.Since(began)
			if got.Lack != nil || len(got.Entries) != one.want || got.Searching != one.searching || took > 2*searchTime+time.Second {
				t.Errorf("%s: %d entries after %s, searching %t, %v", one.what, len(got.Entries), took, got.Searching, got.Lack)
			}
			if n := len(got.Entries); one.searching && !strings.Contains(got.Next, fmt.Sprintf("continue=%d", n*one.every)) &&
				one.every == 1 || requests > pageEntries {
				t.Errorf("%s: goes on by %s after %d requests", one.what, got.Next, requests)
			}
		})
	}
}
