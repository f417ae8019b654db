// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

// The Warnings of a response stay below the size from which k8s.io/apiserver cuts each to 256 characters, whatever
// their number. The last one counts those that are left out, and names the only reason, if they have one.
func TestBoundWarnings_countsThoseThatDoNotFit(t *testing.T) {
	long := strings.Repeat("ü", 300)
	type given struct{ reason, text string }
	several := func(n int, reason string) (all []given) {
		for i := range n {
			all = append(all, given{reason, fmt.Sprint(long, reason, i)})
		}
		return all
	}
	ofItems := func(n int, text string) (all []given) {
		for i := range n {
			all = append(all, given{"", refusal.OfItem(i, fmt.Sprint("a", i), text)})
		}
		return all
	}
	for _, test := range []struct {
		what       string
		given      []given
		want       int
		last, from string
	}{
		{"one", several(1, ""), 1, "", ""},
		{"one twice", append(several(1, ""), several(1, "")...), 1, "", ""},
		{"those that fit", several(11, ""), 11, "", ""},
		{"forty", several(40, v1alpha1.WarningAbsentHost), 11, "and 29 more", v1alpha1.WarningAbsentHost},
		{"forty twice", append(several(40, v1alpha1.WarningAbsentHost), several(40, v1alpha1.WarningAbsentHost)...), 11, "and 29 more",
			v1alpha1.WarningAbsentHost},
		{"two reasons", append(several(13, v1alpha1.WarningAbsentHost), several(1, v1alpha1.WarningUnnamedGlue)...), 11, "and 3 more",
			v1alpha1.WarningAbsentHost + "+" + v1alpha1.WarningUnnamedGlue},
		{"one without a reason", append(several(13, v1alpha1.WarningAbsentHost), several(1, "")...), 11, "and 3 more", "-"},
		{"a text of each item, and a worse one of the last", append(ofItems(100, "S5.14: spec.ttl: 1s is short"),
			given{"", refusal.OfItem(99, "a99", "S5.1: no dot")}), 2, "", ""},
		{"texts of each item, whose numbers find no room", slices.Concat(ofItems(100, long), ofItems(100, long+"1"),
			ofItems(100, long+"2"), ofItems(100, long+"3"), ofItems(100, long+"4"), ofItems(100, long+"5"),
			ofItems(100, long+"6"), ofItems(2, long+"7")), 6,
			"and 142 more, of items 60 61 ", "-"},
		{"no UTF-8, and nothing", []given{{"", "\xff"}, {"", ""}}, 0, "", ""},
	} {
		response := httptest.NewRecorder()
		boundWarnings(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for _, one := range test.given {
				warning.AddWarning(r.Context(), one.reason, one.text)
			}
		})).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
		parsed, errs := utilnet.ParseWarningHeaders(response.Header().Values("Warning"))
		runes := 0
		for _, one := range parsed {
			runes += utf8.RuneCountInString(one.Text)
		}
		n := len(parsed)
		if test.last != "" {
			if n--; n < 0 || !strings.HasPrefix(parsed[n].Text, test.last) || parsed[n].Agent != test.from {
				t.Errorf("%s: last of %v is not %q of %q", test.what, parsed, test.last, test.from)
			}
		}
		if n != test.want || len(errs) > 0 || runes > 4096 {
			t.Errorf("%s: %d Warnings of %d characters, %v; want %d", test.what, n, runes, errs, test.want)
		}
	}
}
