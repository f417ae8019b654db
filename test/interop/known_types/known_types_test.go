// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package known_types proves: the table of RR types known to BIND, Knot, NSD and PowerDNS (pkg/dns/rdata/judges.txt)
// matches the installed versions, so that no type parsed by a server is accepted as mere octets (S5.4).
package known_types

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var update = flag.Bool("update-types", false, "write the table anew")

const table = "../../../pkg/dns/rdata/judges.txt"

const head = `# RR types that BIND, Knot, NSD and PowerDNS know: each takes other data of theirs than RFC 3597 does, or has a name for
# them. A type here is a Record only where it is in the list of S5.4; other numbers are taken as octets, where a rule names
# them (S4.5, S5.4). Written by "go test ./test/interop/known_types -update-types", which asks the servers about 1 to 65535.
`

const zoneHead = "$ORIGIN t.test.\n$TTL 300\n@ SOA ns host 1 7200 3600 1209600 300\n@ NS ns\nns A 192.0.2.1\n"

// judge loads a file with a record a line after zoneHead, and reports the lines of refused records, or the types that
// have a name.
type judge struct {
	name string
	data string
	load func(ctx context.Context, dir string) (output string, refused bool)
	// line finds in output the line of a refused record, or with its name, n and the number.
	line *regexp.Regexp
}

func runProgram(ctx context.Context, program string, args ...string) (string, bool) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(out), err != nil
}

var judges = []judge{
	{"bind", "1 00", func(ctx context.Context, dir string) (string, bool) {
		return runProgram(ctx, "named-checkzone", "-D", "t.test", filepath.Join(dir, "z"))
	}, regexp.MustCompile(`/z:(\d+): `)},
	{"knot", "0", func(ctx context.Context, dir string) (string, bool) {
		return runProgram(ctx, "knotc", "-c", filepath.Join(dir, "knot.conf"), "zone-check", "t.test")
	}, regexp.MustCompile(`line (\d+) `)},
	{"nsd", "1 00", func(ctx context.Context, dir string) (string, bool) {
		return runProgram(ctx, "nsd-checkzone", "-p", "t.test", filepath.Join(dir, "z"))
	}, regexp.MustCompile(`/z:(\d+): `)},
	{"powerdns", "1 00", func(ctx context.Context, dir string) (string, bool) {
		out, refused := runProgram(ctx, "pdnsutil", "--config-dir="+dir, "load-zone", "t.test", filepath.Join(dir, "z"))
		if !refused {
			out, refused = runProgram(ctx, "pdnsutil", "--config-dir="+dir, "list-zone", "t.test")
		}
		return out, refused
	}, regexp.MustCompile(`(?:on line (\d+) of|for (n\d+)\.t\.test)`)},
}

func (j judge) listKnown(ctx context.Context, dir string) ([]int, error) {
	var numbers, found []int
	for n := 1; n <= 65535; n++ {
		if n < 128 || n > 255 { // question and meta types are always refused
			numbers = append(numbers, n)
		}
	}
	// PowerDNS names a single type at a time: first assigned numbers, then all.
	for _, most := range []int{600, 65535} {
		for {
			var zone strings.Builder
			zone.WriteString(zoneHead)
			lines := strings.Count(zoneHead, "\n")
			var asked []int
			for _, n := range numbers {
				if n <= most {
					asked = append(asked, n)
					fmt.Fprintf(&zone, "n%d TYPE%d \\# %s\n", n, n, j.data)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "z"), []byte(zone.String()), 0o600); err != nil {
				return nil, err
			}
			out, refused := j.load(ctx, dir)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var bad []int
			if refused {
				for _, m := range j.line.FindAllStringSubmatch(out, -1) {
					if m[1] == "" {
						n, _ := strconv.Atoi(m[2][1:])
						bad = append(bad, n)
					} else if at, _ := strconv.Atoi(m[1]); at > lines && at <= lines+len(asked) {
						bad = append(bad, asked[at-lines-1])
					}
				}
				if len(bad) == 0 {
					return nil, fmt.Errorf("%s refuses the zone and does not say for what: %.500s", j.name, out)
				}
			} else {
				for _, line := range strings.Split(out, "\n") {
					f := strings.Fields(line)
					if len(f) < 4 || !strings.HasPrefix(f[0], "n") || !slices.Contains(f, "IN") {
						continue
					}
					owner, _, _ := strings.Cut(f[0], ".")
					if n, err := strconv.Atoi(owner[1:]); err == nil && f[slices.Index(f, "IN")+1] != fmt.Sprintf("TYPE%d", n) {
						bad = append(bad, n)
					}
				}
			}
			found = append(found, bad...)
			numbers = slices.DeleteFunc(numbers, func(n int) bool { return slices.Contains(bad, n) })
			if !refused {
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func TestTable_listsTheTypesOfServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	by := map[int][]string{}
	for _, j := range judges {
		for _, program := range map[string][]string{"bind": {"named-checkzone"}, "knot": {"knotc"}, "nsd": {"nsd-checkzone"}, "powerdns": {"pdnsutil", "sqlite3"}}[j.name] {
			rig.Need(rig.Find(program, "make peers"))(t)
		}
		dir := t.TempDir()
		conf := fmt.Sprintf("server:\n  rundir: %[1]s\nlog:\n - target: stderr\n   any: info\ndatabase:\n  storage: %[1]s\nzone:\n - domain: t.test\n   file: %[1]s/z\n", dir)
		must.Succeed(t, errors.Join(os.WriteFile(filepath.Join(dir, "knot.conf"), []byte(conf), 0o600),
			os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte("launch=gsqlite3\ngsqlite3-database="+dir+"/db\n"), 0o600)))
		if j.name == "powerdns" {
			if out, failed := runProgram(ctx, "sqlite3", filepath.Join(dir, "db"),
				".read /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"); failed {
				t.Fatal(out)
			}
		}
		numbers := must.Get(j.listKnown(ctx, dir))(t)
		if len(numbers) < 30 {
			t.Fatalf("%s knows only %v", j.name, numbers)
		}
		for _, n := range numbers {
			by[n] = append(by[n], j.name)
		}
	}
	var text strings.Builder
	text.WriteString(head)
	for n := 1; n <= 65535; n++ {
		if len(by[n]) > 0 {
			fmt.Fprintf(&text, "%d\t%s\n", n, strings.Join(by[n], " "))
		}
	}
	if *update {
		must.Succeed(t, os.WriteFile(table, []byte(text.String()), 0o644))
	}
	want := must.Get(os.ReadFile(table))(t)
	for line := range strings.Lines(string(want)) {
		if !strings.Contains(text.String(), line) {
			t.Errorf("S5.4: no server of now knows %q", line)
		}
	}
	for line := range strings.Lines(text.String()) {
		if !strings.Contains(string(want), line) {
			t.Errorf("S5.4: the table lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log("a package has changed: list new types or let them be refused, and write the table anew with -update-types")
	}
}
