// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package odd_zones

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type server interface {
	Log() string
	Close() error
}

// judge is a kind of server; start runs the server with zones to transfer or files to load.
type judge struct {
	name  string
	start func(ctx context.Context, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) (server, netip.AddrPort, error)
	// changes rewrites a zone's line if the judge changes the line on transfer or load.
	changes func(line string, file bool) string
}

const fast = "serial-query-rate 1000; transfers-in 50; transfers-per-ns 50;"

var judges = []judge{
	{name: "BIND", start: func(ctx context.Context, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) (server, netip.AddrPort, error) {
		b, err := rig.StartBIND(ctx, rig.BINDConfig{Secondaries: secondaries, Primaries: files, Options: fast})
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		return b, b.Addr, nil
	}},
	{name: "Knot", start: func(ctx context.Context, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) (server, netip.AddrPort, error) {
		k, err := rig.StartKnot(ctx, rig.KnotConfig{Secondaries: secondaries, Zones: files})
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		return k, k.Addr, nil
	}},
	{name: "NSD", start: func(ctx context.Context, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) (server, netip.AddrPort, error) {
		n, err := rig.StartNSD(ctx, rig.NSDConfig{Secondaries: secondaries, Zones: files})
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		return n, n.Addr, nil
	}},
	{name: "PowerDNS", changes: changedByPowerDNS, start: func(ctx context.Context, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) (server, netip.AddrPort, error) {
		p, err := rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Secondaries: secondaries, Zones: files})
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		return p, p.Addr, nil
	}},
}

var (
	// withheld matches DNSSEC records, which PowerDNS transfers only if it signs the zone.
	withheld = regexp.MustCompile(`\tIN\t(DNSKEY|CDNSKEY|CDS)\t`)
	noValue  = regexp.MustCompile(`^(\S+ \d+ IN CAA \d+ \S+ ")"$`)
)

// changedByPowerDNS: PowerDNS 4.7 adds a NUL to an empty CAA value from a transfer. To a certification authority,
// neither is an issuer.
func changedByPowerDNS(line string, file bool) string {
	if file {
		return line
	}
	return noValue.ReplaceAllString(line, `${1}\000"`)
}

type running struct {
	judge
	server
	dig  rig.Dig
	file bool // with loaded files
}

func (j judge) startJudge(t *testing.T, secondaries []rig.SecondaryZone, files []rig.PrimaryZone) *running {
	t.Helper()
	s, addr, err := j.start(rig.Within(t, 2*time.Minute), secondaries, files)
	rig.SkipMissing(t, err)
	return &running{judge: j, server: s, dig: rig.Dig{Server: addr}, file: files != nil}
}

func startSecondaries(t *testing.T, primary netip.AddrPort, all []held) (started []*running) {
	t.Helper()
	var secondaries []rig.SecondaryZone
	for _, z := range all {
		secondaries = append(secondaries, rig.SecondaryZone{Zone: z.fqdn, Primary: primary})
	}
	for _, j := range judges {
		r := j.startJudge(t, secondaries, nil)
		t.Cleanup(func() { r.Close() })
		started = append(started, r)
	}
	return started
}

func (j judge) loadFiles(t *testing.T, all []held) *running {
	t.Helper()
	var files []rig.PrimaryZone
	for _, z := range all {
		files = append(files, rig.PrimaryZone{Zone: z.fqdn, Text: z.file})
	}
	return j.startJudge(t, nil, files)
}

func (r *running) notifyZones(t *testing.T, all []held) {
	t.Helper()
	if err := r.dig.Notify(t.Context(), listNames(all)); err != nil {
		t.Error(err)
	}
}

func listNames(all []held) (zones []string) {
	for _, z := range all {
		zones = append(zones, z.fqdn)
	}
	return zones
}

// waitForZones returns the zones that the judge has at the wanted serials, and reports the others.
func (r *running) waitForZones(t *testing.T, all []held) (there []held) {
	t.Helper()
	waiting, asked := all, time.Now()
	deadline := time.Now().Add(2*time.Minute + time.Duration(len(all))*100*time.Millisecond)
	for len(waiting) > 0 {
		serials, err := r.dig.Serials(t.Context(), listNames(waiting))
		var still []held
		for _, z := range waiting {
			if serial, ok := serials[z.fqdn]; ok && serial == z.serial {
				there = append(there, z)
				deadline = time.Now().Add(2 * time.Minute)
			} else {
				still = append(still, z)
			}
		}
		if waiting = still; time.Now().After(deadline) || t.Context().Err() != nil {
			for _, z := range waiting {
				t.Errorf("%s is not there (serial %d, want %d; %v)\nit says:\n%s", z.fqdn, serials[z.fqdn], z.serial, err,
					findLines(r.Log(), z.fqdn))
			}
			break
		}
		if len(waiting) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		// PowerDNS gives up a transfer while its database is locked.
		if !r.file && time.Since(asked) > 3*time.Second {
			r.notifyZones(t, waiting)
			asked = time.Now()
		}
	}
	return there
}

func (r *running) compareZones(t *testing.T, all []held) {
	t.Helper()
	there := r.waitForZones(t, all)
	ctx := rig.Within(t, 5*time.Minute)
	got := must.Get(r.dig.Transfers(ctx, listNames(there)))(t)
	if p, ok := r.server.(*rig.PowerDNS); ok {
		completeTransfers(ctx, t, p, there, got)
	}
	files := map[string]string{}
	for _, z := range there {
		if files[z.fqdn] = z.file; got[z.fqdn] == "" {
			t.Errorf("%s is not handed on; it says:\n%s", z.fqdn, findLines(r.Log(), z.fqdn))
		}
	}
	have := sortRecords(t, got)
	for fqdn, want := range sortRecords(t, files) {
		if r.changes != nil {
			for i := range want {
				want[i] = r.changes(want[i], r.file)
			}
			slices.Sort(want)
			want = slices.Compact(want) // values equal to the judge appear once
		}
		for _, line := range compareLines(have[fqdn], want) {
			t.Errorf("%s: %.300s", fqdn, line)
		}
	}
	for line := range strings.Lines(r.Log()) {
		if complaint.MatchString(line) && !harmless.MatchString(line) {
			t.Errorf("it complains: %.400s", line)
		}
	}
}

// completeTransfers reads records that PowerDNS does not transfer, or that do not fit into a message, from the
// database.
func completeTransfers(ctx context.Context, t *testing.T, p *rig.PowerDNS, there []held, got map[string]string) {
	t.Helper()
	for _, z := range there {
		text, handedOn := got[z.fqdn]
		if withheld.MatchString(text) {
			t.Errorf("%s: PowerDNS hands on what it withheld: compare that", z.fqdn)
		}
		if handedOn && !withheld.MatchString(z.file) || !handedOn && !strings.Contains(p.Log(), oversized) {
			continue
		}
		listed, err := p.List(ctx, z.fqdn)
		if err != nil {
			t.Error(err)
			continue
		}
		got[z.fqdn] = text + "$ORIGIN .\n"
		for line := range strings.Lines(listed) {
			if !strings.HasPrefix(line, "$") && (!handedOn || withheld.MatchString(line)) {
				got[z.fqdn] += line
			}
		}
	}
}

// together is the parent of small zones, which are compared as a single zone without their SOAs.
const together = "alone.example."

const anySOA = together + " 300 IN SOA . . 1 2 1 4 5\n"

func joinZones(t *testing.T, zones map[string]string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(anySOA)
	for _, fqdn := range slices.Sorted(maps.Keys(zones)) {
		if fqdn != together && !strings.HasSuffix(fqdn, "."+together) {
			continue
		}
		for line := range strings.Lines(zones[fqdn]) {
			if f := strings.Fields(line); len(f) < 4 || f[3] != "SOA" {
				text.WriteString(line)
			}
		}
	}
	return text.String()
}

// sortRecords returns the zones as sorted records, as BIND's tools write them, with the small zones joined.
func sortRecords(t *testing.T, zones map[string]string) map[string][]string {
	t.Helper()
	texts := map[string]string{together: joinZones(t, zones)}
	for fqdn, text := range zones {
		if fqdn != together && !strings.HasSuffix(fqdn, "."+together) {
			texts[fqdn] = text
		}
	}
	if texts[together] == anySOA {
		delete(texts, together)
	}
	lines := map[string][]string{}
	for fqdn, text := range texts {
		want, err := rig.Canonical(t.Context(), fqdn, text)
		if err != nil {
			t.Errorf("%s: BIND's tools do not read it: %v", fqdn, err)
			continue
		}
		lines[fqdn] = want
	}
	return lines
}

var (
	// complaint matches log lines about an unwelcome zone.
	complaint = regexp.MustCompile(`(?i)error|warning|reject|refus|failed|ignor|bad |invalid|malformed|unable|cannot|could not`)
	// harmless matches similar lines: BIND's build options, Knot's missing zone file, NSD's opinion on types,
	// PowerDNS' own state, and a mail exchanger that looks like an address.
	harmless = regexp.MustCompile(`built with|\(not exists\)|is obsolete|is experimental|This is a WARNING|no warranty|MX is an address|database is locked|` + oversized)
)

const oversized = "attempt to write an oversized chunk"

// findLines returns the end of the log if no line is about the zone.
func findLines(log, fqdn string) string {
	var lines []string
	for _, line := range strings.Split(log, "\n") {
		if fqdn == "." || strings.Contains(line, strings.TrimSuffix(fqdn, ".")) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return log[max(0, len(log)-2000):]
	}
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func compareLines(got, want []string) (lines []string) {
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			lines = append(lines, "missing "+line)
		}
	}
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			lines = append(lines, "only there "+line)
		}
	}
	if len(got) != len(want) && len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("%d records, want %d", len(got), len(want)))
	}
	if len(lines) > 20 {
		lines = append(lines[:20], fmt.Sprintf("and %d more differences", len(lines)-20))
	}
	return lines
}
