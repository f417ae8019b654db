// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/test/must"
)

// Names are handled in turns, one of each namespace. A namespace with a thousand names therefore delays the few names
// of another by little (E2).
func TestOrderFairly_sharesByNamespace(t *testing.T) {
	many := func(namespace string, count int) string { return strings.Repeat(namespace, count) }
	for _, c := range []struct {
		all, begins string
		share       int
	}{
		{"", "", 0},
		{"aaabbc", "abcaba", 6},
		{many("a", 1000), "aaa", 1000}, // no other namespace waits
		{many("a", 1000) + "b", "abaa", 65},
		{many("a", 1000) + many("b", 200) + many("c", 200), "abcabc", 600},
	} {
		all := strings.Split(c.all, "")
		if c.all == "" {
			all = nil
		}
		share := orderFairly(all, func(one string) string { return one })
		if ordered := strings.Join(all, ""); share != c.share || !strings.HasPrefix(ordered, c.begins) || len(ordered) != len(c.all) {
			t.Errorf("%.20s: share %d, %.20s", c.all, share, ordered)
		}
	}
}

// A dry run after an answer writes its Event while the next request learns the user of external-dns. The race detector
// judges. The command for the administrator names the user as soon as the list that found the namespace knew it.
func TestCheckNamespace_whileTheNextRequestLists(t *testing.T) {
	reviews := 0
	api := &rest.Config{Host: "http://api.test", Transport: inMemory(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces"):
			_, _ = io.WriteString(w, `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"team"}}]}`)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") && reviews > 0:
			_, _ = io.WriteString(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1",
				"status":{"userInfo":{"username":"alice"}}}`)
		default:
			reviews += strings.Count(r.URL.Path, "/selfsubjectreviews")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden"}`)
		}
	})}
	config := &Config{Mapping: externaldns.Mapping{Owner: "default"}, Records: api, Local: api}
	p := must.Get(config.newProvider())(t)
	before := must.Get(p.readExisting(t.Context()))(t)
	var dryRun sync.WaitGroup
	dryRun.Go(func() {
		if err := p.checkNamespace(before, "team"); err == nil || !strings.HasSuffix(err.Error(), "--user=USER") {
			t.Error(err)
		}
	})
	before.readAt = time.Time{}
	after := must.Get(p.readExisting(t.Context()))(t)
	dryRun.Wait()
	if err := p.checkNamespace(after, "team"); err == nil || !strings.HasSuffix(err.Error(), "--user=alice") {
		t.Error(err)
	}
}
