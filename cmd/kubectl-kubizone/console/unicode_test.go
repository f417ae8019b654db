// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/url"
	"strings"
	"testing"
)

// A name with A-labels is found as a person types it, and its U-labels are beside it: escaped, and isolated from the
// text around (bdi), because another name may look the same and letters may run from right to left.
func TestUnicodeNames_standBesideALabels_S1_2(t *testing.T) {
	b := startConsole(t)
	b.api.fqdn = "xn--bcher-kva.xn--4dbrk0ce.test."
	const beside = `xn--bcher-kva.xn--4dbrk0ce.test.</a> <bdi class="quiet name">bücher.ישראל.test.</bdi>`
	for path, want := range map[string]string{
		"/zones": beside, "/zones?name=" + url.QueryEscape("Büch"): beside, "/zones?name=buch": "0 of 1 zone",
		"/zones?name=" + url.QueryEscape("ישרא"): beside, "/zones/team/zone": beside, "/zones/search?search=x": beside, "/": beside,
		"/records": beside, "/records?name=" + url.QueryEscape("bücher"): beside, "/records?name=buch": "0 Records",
	} {
		if text := b.readPage(path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, text)
		}
	}
	b.api.fqdn = "xn--<script>alert(1)</script>-kva.test."
	for _, path := range []string{"/zones", "/records", "/zones/team/zone"} {
		response, text := b.sendRequest("GET", b.door.base+path, "", nil)
		b.expectTame(path, response, text)
	}
}
