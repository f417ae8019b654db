// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
)

// L1, L2: each object has the server's errors and warnings; an error does not stop the command.
func TestLint_judgesEachObject(t *testing.T) {
	head := "apiVersion: kubi.zone/v1alpha1\n"
	record := func(name, spec string) string {
		return head + "kind: Record\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n---\n"
	}
	zone := func(name, spec string) string {
		return head + "kind: Zone\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n---\n"
	}
	for _, test := range []struct{ what, text, want string }{
		{"good", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: A, rdata: 192.0.2.1}\n",
			"1 objects judged: 0 refused, 0 warnings; 0 of other kinds passed over"},
		{"address", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: CNAME, rdata: 192.0.2.1}\n",
			"error: F: record www: spec.rdata: Invalid value: \"192.0.2.1\": 192.0.2.1 is an address, and CNAME names a host: use type A"},
		{"a field that is none", head + "kind: Record\nmetadata: {name: www}\nspec: {domainname: www.example.org.}\n",
			`error: F: record www: strict decoding error: spec.domainname: unknown field; did you mean domainName?`},
		{"a bare no", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: TXT, rdata: no}\n",
			`error: F: record www: spec.rdata: got bool false; want a string: put it into quotes`},
		{"an unknown kind", head + "kind: Recrod\nmetadata: {name: www}\n", "error: F: recrod www: " +
			"kubi.zone/v1alpha1 has no kind Recrod; did you mean Record? kubectl api-resources --api-group=kubi.zone lists the kinds\n" +
			"1 objects judged: 1 refused, 0 warnings; 0 of other kinds passed over"},
		{"an unknown version", "apiVersion: kubi.zone/v1\nkind: Record\nmetadata: {name: www}\n", "error: F: record www: apiVersion " +
			"kubi.zone/v1 is unknown: the version is v1alpha1; write apiVersion: kubi.zone/v1alpha1"},
		{"a kind of others, and one that lint does not judge", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n---\n" +
			"apiVersion: bind9.kubi.zone/v1alpha1\nkind: Bind9Cluster\nmetadata: {name: x}\n",
			"0 objects judged: 0 refused, 0 warnings; 2 of other kinds passed over"},
		{"a host without its dot", head + "kind: Record\nmetadata: {name: x}\n" +
			"spec: {domainName: x.example.org., type: CNAME, rdata: www.example.com}\n", `F: record x: S5.1: CNAME at x.example.org. ` +
			`names a host: "www.example.com" has no trailing dot, so it means www.example.com.example.org.; write`},
		{"a host of the files", head + "kind: Record\nmetadata: {name: x}\n" +
			"spec: {domainName: x.example.org., type: CNAME, rdata: a.b}\n---\n" +
			head + "kind: Record\nmetadata: {name: a}\nspec: {domainName: a.b.example.org., type: A, rdata: 192.0.2.1}\n",
			"2 objects judged: 0 refused, 0 warnings"},
		{"a pattern that repeats a zone of the files", head + "kind: Zone\nmetadata: {name: z}\nspec: {domainName: n8.test.}\n---\n" +
			head + "kind: Delegation\nmetadata: {name: d}\n" +
			"spec: {zoneRef: {name: z}, namespaces: [a], records: [{pattern: www.n8.test}]}\n",
			`warning: F: delegation d: S4.6: pattern "www.n8.test" repeats the zone's name, and is relative to n8.test.: write "www"`},
		{"a zone alone", head + "kind: Zone\nmetadata: {name: z}\nspec: {domainName: example.org.}\n",
			"1 objects judged: 0 refused, 2 warnings"},
		{"a zone with its name servers and rules", head + "kind: Zone\nmetadata: {name: z}\nspec: {domainName: example.org.}\n---\n" +
			head + "kind: Record\nmetadata: {name: ns}\nspec: {domainName: example.org., type: NS, rdata: ns1.example.net.}\n---\n" +
			head + "kind: Delegation\nmetadata: {name: d}\nspec: {zoneRef: {name: z}, namespaces: [default], records: [{pattern: '@'}]}\n",
			"3 objects judged: 0 refused, 0 warnings"},
		{"a host without its dot in a zone of other files", record("x", "zoneRef: {name: other}, "+
			"domainName: x.b, type: CNAME, rdata: a.example.com"),
			`F: record x: S5.1: CNAME at x.b below its zone's name names a host: "a.example.com" has no trailing dot, so it means ` +
				"a.example.com below its zone's name; write"},
		{"a zone in a zone of other files", zone("z", "domainName: dev, zoneRef: {name: other}, nameServers: [{name: ns.example.net.}], "+
			"delegations: [{namespaces: [a], records: [{pattern: 'a.*'}]}]") +
			record("x", "zoneRef: {name: z}, domainName: b, type: A, rdata: 192.0.2.1"),
			"warning: F: record x: no rule of the files allows it"},
		{"zoneRefs that lead back", zone("other", "domainName: a, zoneRef: {name: z}") +
			zone("z", "domainName: b, zoneRef: {name: other}") +
			zone("self", "domainName: s, zoneRef: {name: self}") +
			record("x", "zoneRef: {name: z}, domainName: x, type: A, rdata: 192.0.2.1") +
			record("w", "zoneRef: {name: self}, domainName: x, type: A, rdata: 192.0.2.1"),
			"5 objects judged: 1 refused, 2 warnings"},
		{"a cut, hosts and claims of a zone of other files", record("a", "domainName: sub.example.org., type: NS, rdata: ns.sub") +
			record("b", "domainName: x.sub.example.org., type: A, rdata: 192.0.2.1") +
			record("c", "domainName: mx.example.org., type: MX, rdata: 10 nothere") +
			record("d", "domainName: ds.example.org., type: DS, rdata: 1 13 2 "+strings.Repeat("A", 64)) +
			record("e", "domainName: example.org., type: CNAME, rdata: x.example.net."), "5 objects judged: 0 refused, 0 warnings"},
		{"two Records of a name", record("a", "domainName: x.example.org., type: CNAME, rdata: y.example.net.") +
			record("b", "domainName: x.example.org., type: A, rdata: 192.0.2.1"), "error: F: record b: spec.domainName: Invalid value: " +
			`"x.example.org.": A is not allowed beside the CNAME at x.example.org. (S5.6; remove the CNAME or use another name)`},
		{"name servers before their addresses, and a name without a rule", zone("z", "domainName: example.org., nameServers: [{name: ns}, "+
			"{name: ns.sub.example.org.}], delegations: [{namespace: default, records: [{pattern: '*'}], zones: [sub]}]") +
			record("m", "domainName: example.org., zoneRef: {name: z}, type: A, rdata: 192.0.2.1") +
			record("c", "zoneRef: {name: z}, domainName: c, type: CNAME, rdata: ns.sub") +
			record("ns", "domainName: ns.example.org., type: A, rdata: 192.0.2.1") +
			zone("s", "domainName: sub.example.org., nameServers: [{name: ns, addresses: [192.0.2.1]}], delegations: [{namespace: "+
				"default, records: [{pattern: '*'}]}]"), "warning: F: record m: no rule of the files allows it, and the server refuses " +
			"it without another: zone example.org. does not delegate A at example.org. to namespace \"default\" (S4.1; its owner can " +
			"add a delegation with pattern \"@\")\n5 objects judged: 0 refused, 1 warnings"},
		{"Records below a zone that is not allowed", zone("z", "domainName: example.org., nameServers: [{name: ns.example.net.}], "+
			"delegations: [{namespace: a, records: [{pattern: a}]}]") +
			zone("s", "domainName: sub.example.org., nameServers: [{name: ns.example.net.}], delegations: [{namespace: a, records: "+
				"[{pattern: a}]}]") + record("r", "domainName: a.sub.example.org., type: A, rdata: 192.0.2.1"),
			"warning: F: zone s: no rule of the files allows it, and the server refuses it without another: zone example.org. does " +
				"not delegate the zone sub.example.org. to namespace \"default\" (S4.1; its owner can add a delegation with zones: " +
				"[\"sub\"])\nwarning: F: record r: no rule of the files allows it, and the server refuses it without another: zone " +
				"sub.example.org. does not delegate A at a.sub.example.org. to namespace \"default\" (S4.1; its owner can add a " +
				"delegation with pattern \"a\")\n3 objects judged: 0 refused, 2 warnings"},
		{"a bare zone below one whose Delegation is in other files", zone("s", "domainName: sub.example.org.") + zone("z",
			"domainName: example.org., nameServers: [{name: ns.example.net.}], delegations: [{namespace: a, records: [{pattern: a}]}]"),
			`[{"pattern":"@"},{"pattern":"*"}]}; a rule without a namespace is for every namespace` + "\nwarning: F: zone s: S6.15: " +
				"spec.nameServers is empty, so the zone is not served before it has NS Records at \"@\", unless its classes have name " +
				"servers of their own\n2 objects judged: 0 refused, 3 warnings"},
		{"a key in a zone of the files", zone("z", "domainName: example.org., nameServers: [{name: ns.example.net.}], delegations: "+
			"[{namespace: default, records: [{pattern: a}]}]") + head + "kind: UpdateKey\nmetadata: {name: k}\nspec: {tsigSecretRef: " +
			"{name: k}, records: [{pattern: a.example.org., types: [A]}, {pattern: b.example.org., types: [A]}]}\n",
			"warning: F: updatekey k: S13.1: spec.records[1].pattern: no rule gives namespace default"},
		{"a key in other zones", head + "kind: UpdateKey\nmetadata: {name: k}\nspec: {tsigSecretRef: {name: k}, records: [{pattern: " +
			"a.example.org., types: [A]}]}\n", "1 objects judged: 0 refused, 0 warnings"},
		{"a later object", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n---\n" + head +
			"kind: Delegation\nmetadata: {name: d}\n",
			"1 objects judged: 1 refused, 0 warnings; 1 of other kinds passed over"},
		{"no YAML", "a: b: c\n", "1 objects judged: 1 refused"},
	} {
		path := filepath.Join(t.TempDir(), "f.yaml")
		must.Succeed(t, os.WriteFile(path, []byte(test.text), 0o600))
		for _, from := range []string{path, filepath.Dir(path), "-"} {
			found := must.Get(JudgeFiles([]string{from}, strings.NewReader(test.text)))(t)
			var out strings.Builder
			for _, f := range found.Findings {
				out.WriteString(f.String() + "\n")
			}
			got := strings.ReplaceAll(strings.ReplaceAll(out.String()+found.String(), path, "F"), ": -: ", ": F: ")
			if !strings.Contains(got, test.want) || strings.Contains(got, "error: ") != (found.Refused > 0) {
				t.Errorf("%s by %s:\n%s", test.what, from, got)
			}
		}
	}
	if _, err := JudgeFiles([]string{filepath.Join(t.TempDir(), "absent")}, nil); err == nil {
		t.Error("a file that is not there is judged")
	}
}

// writeManifests writes a Zone and a Record for each RRset of a zone file into a directory.
func writeManifests(t *testing.T, file string, origin name.Name) (path string, rrsets int) {
	in := must.Get(os.Open(file))(t)
	defer in.Close()
	type id struct {
		owner name.Name
		of    rdata.Type
	}
	sets, order, ttl := map[id][]zonefile.RR{}, []id{}, uint32(3600)
	for rr, err := range zonefile.Read(in, zonefile.ReadOptions{Origin: origin, TTL: &ttl}) {
		if err != nil {
			t.Logf("%s: %v", file, err)
			continue
		}
		if rr.Type == rdata.SOA {
			origin = rr.Name
			continue
		}
		k := id{rr.Name, rr.Type}
		if sets[k] == nil {
			order = append(order, k)
		}
		sets[k] = append(sets[k], rr)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: zone}\nspec: {domainName: %s, delegations: "+
		"[{namespace: default, records: [{pattern: '@'}, {pattern: '*'}]}]}\n", origin)
	for i, k := range order {
		fmt.Fprintf(&text, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: r%d}\nspec:\n  domainName: %q\n"+
			"  type: %s\n  ttl: %d\n  values:\n", i, k.owner.String(), k.of, sets[k][0].TTL)
		for _, rr := range sets[k] {
			fmt.Fprintf(&text, "  - %q\n", rr.Data)
		}
	}
	path = filepath.Join(t.TempDir(), "zone.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path, len(order)
}

// L2: a zone in use has no finding.
func TestLint_ofTheRootZone(t *testing.T) {
	path, rrsets := writeManifests(t, "../../../test/testdata/root-2018031200.zone", name.Root)
	found := must.Get(JudgeFiles([]string{path}, nil))(t)
	if rrsets < 2000 || found.Judged != rrsets+1 || len(found.Findings) > 0 {
		t.Errorf("%d RRsets, %d judged: %v", rrsets, found.Judged, found.Findings)
	}
}
