// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// secondary PORT [-key FILE] ZONE... starts BIND on the port as secondary of the story's server, which it
// knows by $DNS_PORT. With a key file it signs what it asks.
func secondary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: secondary PORT [-key FILE] ZONE...")
	}
	listen, zones := args[0], args[1:]
	dir := ts.MkAbs("secondary-" + listen)
	ts.Check(os.Mkdir(dir, 0o755))

	var conf strings.Builder
	primary := "127.0.0.1 port " + ts.Getenv("DNS_PORT")
	if zones[0] == "-key" {
		key := ts.ReadFile(zones[1])
		conf.WriteString(key)
		name := regexp.MustCompile(`key\s+("[^"]+")`).FindStringSubmatch(key)
		if name == nil {
			ts.Fatalf("%s: no key statement", zones[1])
		}
		primary += " key " + name[1]
		zones = zones[2:]
	}
	fmt.Fprintf(&conf, `
options {
	directory %q;
	pid-file "named.pid";
	session-keyfile "session.key";
	listen-on port %s { 127.0.0.1; };
	listen-on-v6 { none; };
	recursion no;
	notify no;
	allow-transfer { 127.0.0.1; };
	transfer-source 127.0.0.1;
};
controls { };
`, dir, listen)
	for i, zone := range zones {
		fmt.Fprintf(&conf, "zone %q { type secondary; primaries { %s; }; file \"zone%d\"; masterfile-format text; };\n", zone, primary, i)
	}
	file := filepath.Join(dir, "named.conf")
	ts.Check(os.WriteFile(file, []byte(conf.String()), 0o600))
	p, err := start(dir, environ(ts), "named", "-g", "-c", file)
	ts.Check(err)
	s := storyOf(ts)
	s.secondaries = append(s.secondaries, p)
	if err := p.waitLine(regexp.MustCompile(`(?m) running$`)); err != nil {
		ts.Logf("%s", p.output())
		ts.Check(err)
	}
}
