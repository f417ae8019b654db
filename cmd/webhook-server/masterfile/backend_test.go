// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package masterfile

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var example = name.MustParse("example.org.")

const before = `$TTL 3600
@ IN SOA ns.example.net. host.example.org. (
	2025123001 ; serial
	3600 600 86400 300 )
@	NS	ns.example.net.
www	300 A 192.0.2.1
`

func zoneAt(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "example.org.zone")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func makeRRset(owner string, rrtype rdata.Type, data ...string) protocol.RRset {
	n, err := name.ParseIn(owner, example)
	if err != nil {
		panic(err)
	}
	return protocol.RRset{Zone: example, Name: n, Type: rrtype, TTL: 300, Data: data}
}

func backendOf(t *testing.T, path string, change func(*Config)) *Backend {
	t.Helper()
	config := Config{Files: map[name.Name]string{example: path}}
	if change != nil {
		change(&config)
	}
	return must.Get(New(config))(t)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

func serialOf(t *testing.T, path string) string {
	t.Helper()
	c := must.Get(parseContent(example, []byte(readFile(t, path))))(t)
	return strings.Fields(c.soa.Data)[2]
}

func TestBackend_serialGrowsWithChangesAlone(t *testing.T) {
	path := zoneAt(t, before)
	// A symbolic link stays a link.
	link := filepath.Join(t.TempDir(), "link")
	must.Succeed(t, os.Symlink(path, link))
	b := backendOf(t, link, nil)
	for _, step := range []struct {
		set    protocol.RRset
		serial string
	}{
		{makeRRset("www", rdata.A, "192.0.2.1"), "2025123001"},
		{makeRRset("nothing", rdata.A), "2025123001"},
		{makeRRset("www", rdata.A, "192.0.2.2", "192.0.2.3"), "2025123002"},
		{makeRRset("www", rdata.A, "192.0.2.2", "192.0.2.3"), "2025123002"},
		{makeRRset("@", rdata.NS, "ns2.example.net."), "2025123003"},
		{makeRRset("www", rdata.A), "2025123004"},
	} {
		must.Succeed(t, b.Apply(t.Context(), example, []protocol.RRset{step.set})[0])
		if got := serialOf(t, path); got != step.serial {
			t.Errorf("%s %s %v: serial %s, expected %s", step.set.Name, step.set.Type, step.set.Data, got, step.serial)
		}
		got, err := b.Read(t.Context(), example, step.set.Name, step.set.Type)
		if err != nil || !slices.Equal(got.Data, step.set.Data) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files are left behind: %v %v", entries, err)
	}
}

func TestBackend_refusesWhatCannotStand(t *testing.T) {
	path := zoneAt(t, before+"alias 300 CNAME www\n")
	b := backendOf(t, path, nil)
	text := readFile(t, path)
	for what, c := range map[string]struct {
		set    protocol.RRset
		status int
	}{
		"a CNAME beside an address":   {makeRRset("www", rdata.CNAME, "a.example."), http.StatusConflict},
		"an address beside a CNAME":   {makeRRset("alias", rdata.A, "192.0.2.1"), http.StatusConflict},
		"a CNAME for the zone itself": {makeRRset("@", rdata.CNAME, "a.example."), http.StatusConflict},
		"no name servers":             {makeRRset("@", rdata.NS), http.StatusBadRequest},
	} {
		var refusal *protocol.Error
		if err := b.Apply(t.Context(), example, []protocol.RRset{c.set})[0]; !errors.As(err, &refusal) || refusal.HTTPStatus() != c.status {
			t.Errorf("%s: %v", what, err)
		}
	}
	if readFile(t, path) != text {
		t.Error("the file was written")
	}
	// A single request removes first.
	for _, err := range b.Apply(t.Context(), example, []protocol.RRset{makeRRset("www", rdata.A), makeRRset("www", rdata.CNAME,
		"a.example.")}) {
		if err != nil {
			t.Error(err)
		}
	}
	other := name.MustParse("other.org.")
	var refusal *protocol.Error
	if err := b.Apply(t.Context(), other, []protocol.RRset{{Zone: other, Name: other, Type: rdata.A, Data: []string{"192.0.2.1"}}})[0]; !errors.As(err, &refusal) || refusal.Code != protocol.CodeInvalidDomain {
		t.Errorf("%v", err)
	}
	if _, err := b.Read(t.Context(), other, other, rdata.A); !errors.As(err, &refusal) || refusal.Code != protocol.CodeInvalidDomain {
		t.Errorf("%v", err)
	}
}

func TestBackend_leavesAloneWhatItDoesNotUnderstand(t *testing.T) {
	for what, text := range map[string]string{
		"no SOA":      "example.org. 300 NS ns.example.net.\n",
		"an include":  before + "$INCLUDE more.zone\n",
		"a bad line":  before + "www 300 A 192.0.2.999\n",
		"a signature": before + "www 300 RRSIG A 8 3 300 20260101000000 20251201000000 1 example.org. AAAA\n",
		"two SOAs":    before + "x 300 SOA a. b. 1 1 1 1 1\n",
		"others":      before + "example.com. 300 A 192.0.2.1\n",
	} {
		path := zoneAt(t, before)
		b := backendOf(t, path, nil)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		if err := b.Apply(t.Context(), example, []protocol.RRset{makeRRset("new", rdata.A, "192.0.2.1")})[0]; err == nil {
			t.Errorf("%s: written", what)
		}
		if b.Health(t.Context()) == nil {
			t.Errorf("%s: healthy", what)
		}
		if readFile(t, path) != text {
			t.Errorf("%s: the file is another", what)
		}
		if _, err := New(Config{Files: map[name.Name]string{example: path}}); err == nil {
			t.Errorf("%s: served", what)
		}
	}
}

// A file that would not load is not installed, except its good records.
func TestBackend_checksBeforeItReplaces(t *testing.T) {
	path := zoneAt(t, before)
	// The check refuses the poison address.
	b := backendOf(t, path, makeChecker(t, `! grep -q 192.0.2.66 "$2"`))
	results := b.Apply(t.Context(), example, []protocol.RRset{makeRRset("a", rdata.A, "192.0.2.10"), makeRRset("b", rdata.A, "192.0.2.66"),
		makeRRset("c", rdata.A, "192.0.2.11")})
	if results[0] != nil || !refusedAs(results[1], protocol.CodeInvalidRecord) || results[2] != nil {
		t.Errorf("%v", results)
	}
	if got := serialOf(t, path); got != "2025123002" {
		t.Errorf("serial %s: one request is one change", got)
	}
	if text := readFile(t, path); !strings.Contains(text, "192.0.2.10") || !strings.Contains(text, "192.0.2.11") ||
		strings.Contains(text, "192.0.2.66") {
		t.Error(text)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files are left behind: %v %v", entries, err)
	}
}

func refusedAs(err error, code string) bool {
	var refusal *protocol.Error
	return errors.As(err, &refusal) && refusal.Code == code && refusal.HTTPStatus() == http.StatusBadRequest
}

// makeChecker returns a script for test, with the file in $2.
func makeChecker(t *testing.T, test string) func(*Config) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "check")
	must.Succeed(t, os.WriteFile(script, []byte("#!/bin/sh\n"+test+"\n"), 0o700))
	return func(c *Config) { c.Check = []string{script} }
}

// A record may need a later record: both are accepted together, although a third is refused.
func TestBackend_takesWhatNeedsWhatComesLater(t *testing.T) {
	path := zoneAt(t, before)
	// An MX needs an address of its host; 192.0.2.66 is poison.
	b := backendOf(t, path, makeChecker(t, `! grep -q 192.0.2.66 "$2" && { ! grep -q MX "$2" || grep -q '^mail.*192.0.2.25' "$2"; }`))
	results := b.Apply(t.Context(), example, []protocol.RRset{makeRRset("@", rdata.MX, "10 mail.example.org."),
		makeRRset("bad", rdata.A, "192.0.2.66"), makeRRset("mail", rdata.A, "192.0.2.25")})
	if results[0] != nil || !refusedAs(results[1], protocol.CodeInvalidRecord) || results[2] != nil {
		t.Errorf("%v", results)
	}
	if text := readFile(t, path); !strings.Contains(text, "MX") || strings.Contains(text, "192.0.2.66") {
		t.Error(text)
	}
}

func TestBackend_blamesNoRecordForTheServersFault(t *testing.T) {
	blamed := func(what string, b *Backend) {
		t.Helper()
		results := b.Apply(t.Context(), example, []protocol.RRset{makeRRset("a", rdata.A, "192.0.2.10"),
			makeRRset("b", rdata.A, "192.0.2.11")})
		for _, err := range results {
			if err == nil || errors.As(err, new(*protocol.Error)) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	path := zoneAt(t, before)
	blamed("no checker", backendOf(t, path, func(c *Config) { c.Check = []string{"/nonexistent/checkzone"} }))
	blamed("a file that would not load as it is", backendOf(t, path, makeChecker(t, "false")))
	blamed("a checker that is killed", backendOf(t, path, makeChecker(t, "kill -9 $$")))
	if readFile(t, path) != before {
		t.Error("the file was written")
	}
}

// Addresses of the zone's own name servers stay, checked or not, until another server is named.
func TestBackend_keepsTheNameServersOfTheZone(t *testing.T) {
	text := strings.ReplaceAll(before, "NS	ns.example.net.", "NS	ns1.example.org.") + "ns1 300 A 192.0.2.53\nns1 300 AAAA 2001:db8::53\n"
	path := zoneAt(t, text)
	b := backendOf(t, path, nil)
	results := b.Apply(t.Context(), example, []protocol.RRset{makeRRset("www", rdata.A), makeRRset("ns1", rdata.A),
		makeRRset("ns1", rdata.AAAA)})
	if results[0] != nil || results[1] != nil || !refusedAs(results[2], protocol.CodeInvalidRecord) {
		t.Errorf("%v", results)
	}
	for _, err := range b.Apply(t.Context(), example, []protocol.RRset{makeRRset("@", rdata.NS, "ns.example.net."),
		makeRRset("ns1", rdata.AAAA)}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// A file written but not loaded is not done: the same request loads again.
func TestBackend_repeatsALoadThatFailed(t *testing.T) {
	path, dir := zoneAt(t, before), t.TempDir()
	script, works, log := filepath.Join(dir, "reload"), filepath.Join(dir, "works"), filepath.Join(dir, "log")
	must.Succeed(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$2\" >> "+log+"\ntest -e "+works+"\n"), 0o700))
	b := backendOf(t, path, func(c *Config) { c.Reload = []string{script, "reload"} })
	change := []protocol.RRset{makeRRset("new", rdata.A, "192.0.2.5")}
	for range 2 {
		if err := b.Apply(t.Context(), example, change)[0]; err == nil || !strings.Contains(err.Error(), "not loaded") {
			t.Fatalf("%v", err)
		}
	}
	must.Succeed(t, os.WriteFile(works, nil, 0o600))
	for range 2 {
		must.Succeed(t, b.Apply(t.Context(), example, change)[0])
	}
	if got := readFile(t, log); got != strings.Repeat("example.org.\n", 3) {
		t.Errorf("loaded %q", got)
	}
	if got := serialOf(t, path); got != "2025123002" {
		t.Errorf("serial %s", got)
	}
}

func TestBackend_losesNothingWhenManyWrite(t *testing.T) {
	path := zoneAt(t, before)
	b := backendOf(t, path, nil)
	var running sync.WaitGroup
	owners := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, owner := range owners {
		running.Go(func() {
			if err := b.Apply(context.Background(), example, []protocol.RRset{makeRRset(owner, rdata.A, "192.0.2.7")})[0]; err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, owner := range owners {
		if got, err := b.Read(t.Context(), example, makeRRset(owner, rdata.A).Name, rdata.A); err != nil || len(got.Data) != 1 {
			t.Errorf("%s: %+v %v", owner, got, err)
		}
	}
}

// The file is BIND's, with named-checkzone and rndc.
func TestBackend_hasBINDLoadTheZone(t *testing.T) {
	primaries := []rig.PrimaryZone{{Zone: "example.org.", Text: before}}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Primaries: primaries}))(t)
	checkzone := rig.Need(rig.Find("named-checkzone", "hack/install-peers.sh"))(t)
	b := backendOf(t, bind.ZoneFile("example.org."), func(c *Config) {
		c.Check, c.Reload = []string{checkzone}, append(bind.RndcCommand(), "reload")
	})
	results := b.Apply(t.Context(), example, []protocol.RRset{
		makeRRset("www", rdata.A), makeRRset("www", rdata.CNAME, "web.example.net."),
		// In the zone without an address: BIND would not load it.
		makeRRset("sub", rdata.TXT, `"a \"b\" \; \195\188"`), makeRRset("@", rdata.NS, "ns1.example.org."),
	})
	if results[0] != nil || results[1] != nil || results[2] != nil || !refusedAs(results[3], protocol.CodeInvalidRecord) || !strings.Contains(results[3].Error(), "would not load") {
		t.Fatalf("%v", results)
	}
	for _, err := range b.Apply(t.Context(), example, []protocol.RRset{makeRRset("ns1", rdata.A, "192.0.2.53"),
		makeRRset("@", rdata.NS, "ns1.example.org.")}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must.Succeed(t, bind.WaitSerial(ctx, "example.org.", 2025123003))
	text := strings.Join(must.Get(bind.Transfer(ctx, "example.org."))(t), "\n")
	must.Say(t, text, "web.example.net.", "192.0.2.53", "ns1.example.org.")
	if strings.Contains(text, "192.0.2.1\n") || strings.Contains(text, "ns.example.net.\t") {
		t.Error(text)
	}
}
