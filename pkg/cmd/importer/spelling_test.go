// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd/importer"
)

// Another spelling of a Record's data changes no content of the zone, and no serial. So a plan has a note of it, and
// the exit code of a plan without a change.
func TestPlan_keepsSpellingApartFromChanges_S6_7(t *testing.T) {
	s := startServer(t)
	s.makeZone("platform", "example-org", makeSpec())
	data := []struct{ rrtype, before, after string }{
		{"AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"MX", "10 Mail.example.net.", "10 mail.example.net."},
		{"TXT", "a", `"a"`},
		{"SRV", "0 5 0443 sip.example.net.", "0 5 443 sip.example.net."},
		{"HTTPS", `1 . port=8443 alpn="h2"`, `1 . alpn="h2" port=8443`},
		{"CNAME", "WWW.example.net.", "www.example.net."},
		{"CAA", `0 ISSUE "ca.example.net"`, `0 issue "ca.example.net"`},
	}
	manifest := func(pick func(i int) string) string {
		var all strings.Builder
		for i, d := range data {
			fmt.Fprintf(&all, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: platform, name: r%d}\n"+
				"spec:\n  zoneRef: {name: example-org}\n  domainName: n%d\n  type: %s\n  rdata: '%s'\n", i, i, d.rrtype, pick(i))
		}
		return all.String()
	}
	s.applyFile(writeFile(t, "before.yaml", manifest(func(i int) string { return data[i].before })))
	serial := s.getZone("platform", "example-org").Status.Serial
	path := writeFile(t, "after.yaml", manifest(func(i int) string { return data[i].after }))

	planned := s.runPlan("", "-f", path)
	if planned.failed != nil || !strings.HasSuffix(planned.out, "0 written, 7 unchanged (plan: nothing is kept)\n") {
		t.Errorf("%v:\n%s", planned.failed, planned.out)
	}
	for i, d := range data {
		want := fmt.Sprintf("spelling: record platform/r%d: n%d.example.org. %s: with %s, without %s\n", i, i, d.rrtype, d.after, d.before)
		if !strings.Contains(planned.out, want) {
			t.Errorf("the plan lacks %q", want)
		}
	}
	// One change among the spellings is one change.
	mixed := s.runPlan("", "-f", writeFile(t, "mixed.yaml", strings.Replace(manifest(func(i int) string { return data[i].after }),
		"rdata: '2001:db8::1'", "values: ['2001:db8::1', '2001:db8::2']", 1)))
	if !errors.Is(mixed.failed, importer.ErrChanges) || !strings.Contains(mixed.out, "0 added, 1 changed, 0 removed") ||
		!strings.Contains(mixed.out, "~ n0.example.org. AAAA: with 2001:db8::2 (record platform/r0)\n") {
		t.Errorf("%v:\n%s", mixed.failed, mixed.out)
	}
	s.applyFile(path)
	if zone := s.getZone("platform", "example-org"); zone.Status.Serial != serial {
		t.Errorf("the apply raised the serial from %d to %d", serial, zone.Status.Serial)
	}
}
