// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/test/must"
)

// A Record in a Zone of the same plan is judged by the rules of this Zone and the other objects of the plan, and the
// plan's refusals are those of the apply.
func TestPlan_judgesRecordsInItsOwnZones_S4_1(t *testing.T) {
	s := startServer(t)
	const zones = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: a, name: none}
spec: {domainName: none.test., delegations: []}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: a, name: some}
spec: {domainName: some.test., delegations: [{namespace: a, records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Delegation
metadata: {namespace: a, name: b}
spec: {zoneRef: {name: some}, namespaces: [b], records: [{pattern: "*.apps"}]}
`
	record := func(namespace, name, spec string) string {
		return "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: " + namespace + ", name: " + name +
			"}\nspec: {" + spec + "}\n"
	}
	const end = " (plan: nothing is kept)\n"
	www := record("a", "www", "zoneRef: {name: none}, domainName: www, type: A, rdata: 192.0.2.1")
	records := www + record("a", "host", "domainName: host.some.test., type: A, rdata: 192.0.2.1") +
		record("a", "alias", "zoneRef: {name: some}, domainName: host, type: CNAME, rdata: www") +
		record("b", "app", "domainName: x.apps.some.test., type: A, rdata: 192.0.2.1") +
		record("b", "other", "domainName: other.some.test., type: A, rdata: 192.0.2.1")
	path := writeFile(t, "all.yaml", zones+records)
	planned := s.runPlan("", "-f", path)
	if !errors.Is(planned.failed, importer.ErrRefused) || !strings.HasSuffix(planned.out, "5 written, 0 unchanged, 3 refused"+end) {
		t.Errorf("%v:\n%s", planned.failed, planned.out)
	}
	must.Say(t, planned.out, "+ host.some.test. A 192.0.2.1 (record a/host; after: Zone a/some)\n",
		"+ x.apps.some.test. A 192.0.2.1 (record b/app; after: Zone a/some)\n",
		"refused: "+path+": record a/www: ", "refused: "+path+": record a/alias: ", "CNAME is not allowed beside",
		"refused: "+path+": record b/other: ")
	s.applyFile(writeFile(t, "zones.yaml", zones))
	again := s.runPlan("", "-f", path)
	if !errors.Is(again.failed, importer.ErrRefused) || !strings.HasSuffix(again.out, "3 written, 3 unchanged, 2 refused"+end) {
		t.Errorf("the server decides otherwise: %v:\n%s", again.failed, again.out)
	}
	// A changed rule of a Zone that is there may lift a refusal, which the server says only after the change.
	wider := strings.ReplaceAll(zones, "delegations: []", `delegations: [{namespace: a, records: [{pattern: "*"}]}]`)
	later := s.runPlan("", "-f", writeFile(t, "wider.yaml", wider+www))
	if !errors.Is(later.failed, importer.ErrChanges) || !strings.HasSuffix(later.out, "1 written, 2 unchanged, 1 decided later"+end) ||
		!strings.Contains(later.out, "zone none.test. (a/none): 0 added, 1 changed, 0 removed, 1 decided later; classes: ") ||
		!strings.Contains(later.out, "+ www.none.test. A 192.0.2.1 (record a/www; after: Zone a/none)\n") {
		t.Errorf("%v:\n%s", later.failed, later.out)
	}
}

// The plan of a zone file whose Zone it makes names the lines that the import refuses, and keeps nothing (M4).
func TestPlan_judgesAFileWithItsNewZone(t *testing.T) {
	s := startServer(t)
	path := writeFile(t, "t.test.zone", fullOf("a A 192.0.2.2\nb CNAME a\nb TXT x\n"))
	planned := s.runPlan("", path, "--zone", "a/t", "--create-zone")
	done := s.runImport("", path, "--zone", "a/t", "--create-zone")
	counts, _, _ := strings.Cut(planned.out[strings.LastIndex(strings.TrimSpace(planned.out), "\n")+1:], " (plan")
	if counts+"\n" != done.out || !strings.Contains(done.out, "1 refused") || !strings.Contains(planned.out, "b.t.test. TXT: ") {
		t.Errorf("planned %s\ndone %s", planned.out, done.out)
	}
}

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
