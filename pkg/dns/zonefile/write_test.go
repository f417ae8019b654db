// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var zone = name.MustParse("zone.example.")

func makeApex() []dns.Entry {
	return []dns.Entry{
		{Name: zone, Type: rdata.SOA, TTL: 360, Data: "ns.zone.example. hostmaster.zone.example. 2026112000 86400 7200 3600000 360"},
		{Name: zone, Type: rdata.NS, TTL: 360, Data: "ns.zone.example."},
		{Name: name.MustParse("ns.zone.example."), Type: rdata.A, TTL: 360, Data: "192.0.2.53"},
	}
}

func sampleValues(t *testing.T) iter.Seq[rdata.Value] {
	text := must.Get(os.ReadFile("../rdata/testdata/values.txt"))(t)
	return func(yield func(rdata.Value) bool) {
		for line := range strings.Lines(string(text)) {
			mnemonic, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !ok || line[0] == '#' {
				continue
			}
			rt := must.Get(rdata.ParseType(mnemonic))(t)
			if rt.CheckRecord() != nil {
				continue
			}
			v := must.Get(rdata.Parse(rt, text))(t)
			if !yield(v) {
				return
			}
		}
	}
}

// entryOf returns an entry for a value. Each value has its own owner, so that values do not conflict.
func entryOf(t *testing.T, n int, v rdata.Value) dns.Entry {
	data := must.Get(v.Resolve(zone))(t)
	return dns.Entry{Name: name.MustParse(fmt.Sprintf("n%d.zone.example.", n)), Type: v.Type, TTL: uint32(n), Data: data}
}

func writeZone(t testing.TB, entries []dns.Entry) []byte {
	t.Helper()
	var out bytes.Buffer
	n, err := Write(&out, slices.Values(entries))
	if err != nil || n != len(entries) {
		t.Fatalf("%d of %d entries written: %v", n, len(entries), err)
	}
	return out.Bytes()
}

func readZone(t testing.TB, text []byte) []dns.Entry {
	t.Helper()
	var entries []dns.Entry
	for rr, err := range Read(bytes.NewReader(text), ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, dns.Entry{Name: rr.Name, Type: rr.Type, TTL: rr.TTL, Data: rr.Data})
	}
	return entries
}

func checkLine(t testing.TB, rr RR) {
	entry := dns.Entry{Name: rr.Name, Type: rr.Type, TTL: rr.TTL, Data: rr.Data}
	if back := readZone(t, writeZone(t, []dns.Entry{entry})); len(back) != 1 || back[0] != entry {
		t.Fatalf("%s is written and read as %v", entry, back)
	}
}

func TestWrite_read(t *testing.T) {
	entries := makeApex()
	for v := range sampleValues(t) {
		entries = append(entries, entryOf(t, len(entries), v))
	}
	if back := readZone(t, writeZone(t, entries)); !slices.Equal(back, entries) {
		for i := range min(len(back), len(entries)) {
			if back[i] != entries[i] {
				t.Errorf("%s is read as %s", entries[i], back[i])
			}
		}
		t.Errorf("%d entries written, %d read", len(entries), len(back))
	}
}

type failingWriter struct{ after int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.after -= len(p); w.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWrite_fails(t *testing.T) {
	if _, err := Write(&failingWriter{after: 10}, slices.Values(makeApex())); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("a writer that fails at the end: %v", err)
	}
	many := slices.Repeat(makeApex(), 2000)
	n, err := Write(&failingWriter{after: 70 << 10}, slices.Values(many))
	if err == nil || n == 0 || n >= len(many) {
		t.Errorf("a writer that fails underway: %d entries, %v", n, err)
	}
	// Invalid data of a generic type must not be written as a line.
	if _, err := Write(&bytes.Buffer{}, slices.Values([]dns.Entry{{Name: zone, Type: 65280, Data: "x\ny"}})); err == nil || !strings.Contains(err.Error(), "zone.example.") {
		t.Errorf("data that does not parse: %v", err)
	}
}

// compileZone loads a zone file with BIND and returns it as BIND writes it.
func compileZone(t *testing.T, text []byte) []byte {
	t.Helper()
	tool := rig.Need(rig.Find("named-compilezone", "hack/install-peers.sh"))(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.zone"), filepath.Join(dir, "out.zone")
	must.Succeed(t, os.WriteFile(in, text, 0o600))
	// Disable BIND's checks of names and conflicts, because Kubizone has its own.
	report, err := exec.Command(tool, "-i", "none", "-k", "ignore", "-n", "ignore", "-m", "ignore", "-r", "ignore", "-s", "full", "-o", out, zone.String(), in).CombinedOutput()
	if err != nil {
		// The file with the line numbers is gone, so report the entries.
		var refused []string
		for line := range bytes.Lines(report) {
			if _, after, ok := bytes.Cut(line, []byte(in+":")); ok {
				number, reason, _ := strings.Cut(string(after), ":")
				if n, err := strconv.Atoi(number); err == nil && n >= 1 {
					refused = append(refused, strings.Split(string(text), "\n")[n-1]+":"+strings.TrimSpace(reason))
				}
			}
		}
		t.Fatalf("S5.11: BIND refuses the zone: %v\n%.6000s", err, strings.Join(refused, "\n"))
	}
	return must.Get(os.ReadFile(out))(t)
}

func checkBIND(t *testing.T, entries []dns.Entry) {
	t.Helper()
	compiled := compileZone(t, writeZone(t, entries))
	back := readZone(t, compiled)
	sorted := func(entries []dns.Entry) []string {
		lines := make([]string, len(entries))
		for i, e := range entries {
			lines[i] = e.String()
		}
		slices.Sort(lines)
		return slices.Compact(lines)
	}
	local, remote := sorted(entries), sorted(back)
	for _, line := range local {
		if _, ok := slices.BinarySearch(remote, line); !ok {
			t.Errorf("S5.11: BIND does not have %q", line)
		}
	}
	for _, line := range remote {
		if _, ok := slices.BinarySearch(local, line); !ok {
			t.Errorf("S5.11: only BIND has %q", line)
		}
	}
}

// BIND loads a zone file with values of every type, and returns the same data (S5.11). The values include some with
// random damage in their octets, if rdata accepts them.
func TestWrite_BIND(t *testing.T) {
	random := rand.New(rand.NewPCG(1035, 3597))
	entries := makeApex()
	for v := range sampleValues(t) {
		entries = append(entries, entryOf(t, len(entries), v))
		wire := must.Get(v.Pack(zone))(t)
		for range 100 {
			strange := bytes.Clone(wire)
			for range 1 + random.IntN(3) {
				switch i := random.IntN(len(strange) + 1); {
				case i == len(strange):
					strange = append(strange, byte(random.IntN(256)))
				case random.IntN(4) == 0:
					strange = strange[:i]
				default:
					strange[i] = byte(random.IntN(256))
				}
			}
			value, err := rdata.Parse(v.Type, fmt.Sprintf(`\# %d %X`, len(strange), strange))
			if err != nil {
				continue
			}
			entries = append(entries, entryOf(t, len(entries), value))
		}
	}
	if len(entries) < 1000 {
		t.Fatalf("only %d strange values", len(entries))
	}
	checkBIND(t, entries)
}
