// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd/output"
)

// L1, L2: each object has the server's errors and warnings; an error does not stop the command.
func TestLint_judgesEachObject(t *testing.T) {
	head := "apiVersion: kubi.zone/v1alpha1\n"
	for _, test := range []struct{ what, text, want string }{
		{"good", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: A, rdata: 192.0.2.1}\n",
			"1 objects judged: 0 refused, 0 warnings; 0 of other kinds passed over"},
		{"address", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: CNAME, rdata: 192.0.2.1}\n",
			"error: F: record www: spec.rdata: Invalid value: \"192.0.2.1\": 192.0.2.1 is an address, and CNAME names a host: use type A"},
		{"a field that is none", head + "kind: Record\nmetadata: {name: www}\nspec: {domainname: www.example.org.}\n",
			`error: F: record www: strict decoding error: spec.domainname: unknown field; did you mean domainName?`},
		{"a bare no", head + "kind: Record\nmetadata: {name: www}\nspec: {domainName: www.example.org., type: TXT, rdata: no}\n",
			`error: F: record www: spec.rdata: got bool false; want a string: put it into quotes`},
		{"warning", head + "kind: Zone\nmetadata: {name: z}\nspec: {domainName: example.org., refresh: 100, retry: 50}\n",
			"warning: F: zone z: S5.15: spec.refresh: 100s is short"},
		{"a host without its dot", head + "kind: Record\nmetadata: {name: x}\n" +
			"spec: {domainName: x.example.org., type: CNAME, rdata: www.example.com}\n", `F: record x: S5.1: CNAME at x.example.org. ` +
			`names a host: "www.example.com" has no trailing dot, so it means www.example.com below its zone's name`},
		{"a host that repeats the zone", head + "kind: Record\nmetadata: {name: x}\n" +
			"spec: {domainName: x.example.org., type: MX, rdata: 10 mail.example.org}\n", `"mail.example.org" has no trailing dot`},
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
			head + "kind: Delegation\nmetadata: {name: d}\nspec: {zoneRef: {name: z}, namespaces: [a], records: [{pattern: a}]}\n",
			"3 objects judged: 0 refused, 0 warnings"},
		{"a later object", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n---\n" + head +
			"kind: Delegation\nmetadata: {name: d}\n",
			"1 objects judged: 1 refused, 0 warnings; 1 of other kinds passed over"},
		{"a class", head + "kind: DNSClass\nmetadata: {name: c}\nspec: {}\n", "error: F: dnsclass c: "},
		{"a key", head + "kind: UpdateKey\nmetadata: {name: k}\nspec: {}\n", "error: F: updatekey k: spec.tsigSecretRef.name: Required"},
		{"no YAML", "a: b: c\n", "1 objects judged: 1 refused"},
	} {
		path := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, filepath.Dir(path), "-"} {
			var out bytes.Buffer
			err := lintFiles([]string{from}, strings.NewReader(test.text), &out, &output.Format{})
			got := strings.ReplaceAll(strings.ReplaceAll(out.String(), path, "F"), ": -: ", ": F: ")
			refused := strings.Contains(got, "error: ")
			if !strings.Contains(got, test.want) || errors.Is(err, ErrRefused) != refused || err != nil && !refused {
				t.Errorf("%s by %s: %v\n%s", test.what, from, err, got)
			}
		}
	}
	err := lintFiles([]string{filepath.Join(t.TempDir(), "absent")}, nil, &bytes.Buffer{}, &output.Format{})
	if err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a file that is not there: %v", err)
	}
}
