// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// A search over all zones returns each entry once: in pages that a request and a stuck zone do not delay for long, and
// with the rights that the user lacks.
func TestLoadSearch_findsEachEntryOnce(t *testing.T) {
	const lacking = "you lack the right to get zones/entries in namespace"
	for _, one := range []struct {
		what         string
		zones, each  int
		took         time.Duration // of a request
		refused      string        // a part of requests
		masked       bool
		found, pages int
		lacks        string
	}{
		{what: "a few", zones: 3, each: 2, took: time.Millisecond, found: 6, pages: 1},
		{what: "pages", zones: 3, each: 150, took: time.Millisecond, found: 450, pages: 3},
		{what: "whole pages", zones: 2, each: pageEntries, took: time.Millisecond, found: 2 * pageEntries, pages: 2},
		{what: "slow zones", zones: 30, each: 1, took: time.Second, found: 30, pages: 6},
		{what: "no hit", zones: 3, took: time.Millisecond, pages: 1},
		{what: "an unreadable zone", zones: 3, each: 1, took: time.Millisecond, refused: "/ns1/zones/", found: 2, pages: 1,
			lacks: lacking + " ns1"},
		{what: "hidden Records", zones: 3, each: 1, took: time.Millisecond, refused: "sources", masked: true, found: 3, pages: 1},
		{what: "the zones of a namespace", zones: 3, each: 1, took: time.Millisecond, refused: "v1alpha1/zones", found: 1, pages: 1,
			lacks: "you lack the right to list zones in all namespaces"},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				time.Sleep(one.took)
				w.Header().Set("Content-Type", "application/json")
				path := strings.TrimPrefix(r.URL.Path, "/apis/kubi.zone/v1alpha1")
				if one.refused != "" && strings.Contains(r.URL.String(), one.refused) {
					w.WriteHeader(http.StatusForbidden)
					_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
						Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
					return
				}
				if !strings.HasSuffix(path, "/entries") {
					list := &v1alpha1.ZoneList{}
					for i := range one.zones {
						zone := v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("ns", i), Name: "zone"}}
						zone.Status.FQDN, zone.Status.Serial = fmt.Sprintf("z%d.example.", one.zones-i), 1
						if strings.HasPrefix(path, "/zones") || strings.HasPrefix(path, "/namespaces/"+zone.Namespace+"/") {
							list.Items = append(list.Items, zone)
						}
					}
					_ = json.NewEncoder(w).Encode(list)
					return
				}
				var from, limit int
				_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
				must.Get(fmt.Sscan(r.URL.Query().Get("limit"), &limit))(t)
				answer := &v1alpha1.ZoneEntries{}
				for ; from < one.each && len(answer.Entries) < limit; from++ {
					answer.Entries = append(answer.Entries, v1alpha1.Entry{FQDN: fmt.Sprintf("%d.%s", from, path)})
				}
				if from < one.each {
					answer.Metadata.Continue = fmt.Sprint(from)
				}
				_ = json.NewEncoder(w).Encode(answer)
			})
			r := must.Get(newReading(&rest.Config{Host: "http://api", Transport: handled{api}}, "", "ns0"))(t)
			found, pages, lacks := map[string]int{}, 0, ""
			for at := "/zones/search?search=www"; at != "" && pages < 100; pages++ {
				began := time.Now()
				page := must.Get(loadSearch(r, httptest.NewRequest(http.MethodGet, at, nil)))(t).(*searchPage)
				if took := time.Since(began); took > 2*searchTime || len(page.Found) > pageEntries {
					t.Errorf("%s: %d entries after %s", one.what, len(page.Found), took)
				}
				for _, e := range page.Found {
					found[e.FQDN]++
					if !strings.Contains(e.FQDN, "/"+e.Zone.Namespace+"/") {
						t.Errorf("%s: entry %s of zone %s", one.what, e.FQDN, e.Zone.key)
					}
				}
				for _, l := range page.Lacks {
					lacks += l.Error()
				}
				if page.Sources == one.masked {
					t.Errorf("%s: with Records: %t", one.what, page.Sources)
				}
				at = page.Next
			}
			if len(found) != one.found || pages != one.pages || lacks != one.lacks {
				t.Errorf("%s: %d entries on %d pages, want %d on %d; %s", one.what, len(found), pages, one.found, one.pages, lacks)
			}
			for fqdn, times := range found {
				if times != 1 {
					t.Errorf("%s: %s %d times", one.what, fqdn, times)
				}
			}
		})
	}
}

// The search page shows hostile input as plain text. If the input is an address or a name, it also suggests the command
// that finds its Records.
func TestSearch_isAPage(t *testing.T) {
	b := startConsole(t)
	for asked, want := range map[string]string{"": "", hostile: "", "www": "", "192.0.2.0/24": "kubectl kubizone who 192.0.2.0/24",
		"www.example.org": "kubectl kubizone who www.example.org"} {
		response, text := b.sendRequest(http.MethodGet, b.door.base+"/zones/search?search="+url.QueryEscape(asked), "", nil)
		b.expectTame("search "+asked, response, text)
		if got := cutBetween(text, `<p class="next"><span class="type"><code>`, "</code>"); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
		if found := strings.Contains(text, "1 entry"); found != (asked != "") {
			t.Errorf("%q:\n%s", asked, text)
		}
	}
}
