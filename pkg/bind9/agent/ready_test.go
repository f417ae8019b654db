// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const catalogName = "catalog.example."

const memberText = "@ 60 IN SOA ns.example.net. h.example.net. 1 3600 600 604800 60\n@ 60 IN NS ns.example.net.\nwww 60 IN A 192.0.2.1\n"

// member is a zone of a catalog. An absent member is refused by the primary.
type member struct {
	zone                string
	unconfirmed, absent bool
}

// follower is an agent with a named that consumes another named's catalog.
type follower struct {
	*fixture
	primary *rig.BIND
	now     time.Time // of the agent's clock
}

func newFollower(t *testing.T, members ...member) *follower {
	t.Helper()
	f := &follower{now: time.Now()}
	catalog := "@ 0 IN SOA invalid. invalid. 1 3600 600 3600000 0\n@ 0 IN NS invalid.\nversion 0 IN TXT \"2\"\n"
	config := rig.BINDConfig{Keys: []rig.TSIGKey{agentKey}}
	for i, of := range members {
		ttl := 0
		if of.unconfirmed {
			ttl = dns.UnconfirmedTTL
		}
		catalog += fmt.Sprintf("m%d.zones %d IN PTR %s\n", i, ttl, of.zone)
		if !of.absent {
			config.Primaries = append(config.Primaries, rig.PrimaryZone{Zone: of.zone, Text: memberText})
		}
	}
	config.Primaries = append(config.Primaries, rig.PrimaryZone{Zone: catalogName, Text: catalog})

	f.primary = rig.NeedServer(rig.StartBIND(t.Context(), config))(t)
	list := filepath.Join(t.TempDir(), "catalogs")
	must.Succeed(t, os.WriteFile(list, []byte("\n"+strings.TrimSuffix(catalogName, ".")+"\n"), 0o600))
	from := rig.SecondaryZone{Zone: catalogName, Primary: f.primary.Addr}
	f.fixture = newFixture(t, func(named *rig.BINDConfig, config *Config) {
		named.Options += fmt.Sprintf("catalog-zones { zone %q default-primaries { %s port %d; } zone-directory \".\" in-memory no min-update-interval 1; };\nserial-query-rate 1000;\n", catalogName, f.primary.Addr.Addr(), f.primary.Addr.Port())
		named.Secondaries = []rig.SecondaryZone{from}
		config.CatalogsFile = list
		config.Now = func() time.Time { return f.now }
	})
	return f
}

func (f *follower) lookAgain(afterStart time.Duration) reply {
	f.t.Helper()
	f.agent.ready.mu.Lock()
	f.agent.ready.checkedAt = time.Time{}
	f.agent.ready.mu.Unlock()
	f.now = time.Now().Add(afterStart)
	return f.sendRequest("GET", "/api/v1/ready", nil)
}

func (f *follower) wantReady(ready bool, afterStart time.Duration) {
	f.t.Helper()
	status, text := 503, `"zones: error"`
	if ready {
		status, text = 200, `"zones: ok"`
	}
	if got := f.lookAgain(afterStart); got.status != status || !strings.Contains(got.text, text) {
		f.t.Errorf("%s after its start: %s, want %d with %s", afterStart, got, status, text)
	}
}

func (f *follower) waitUntil(what string, fact func() error) {
	f.t.Helper()
	f.waitWithin(2*time.Minute, what, fact)
}

func (f *follower) waitWithin(most time.Duration, what string, fact func() error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), most)
	defer cancel()
	rig.Until(ctx, f.t, what, fact)
}

func (f *follower) waitForZone(zone string) {
	f.t.Helper()
	f.waitUntil(zone+" is loaded", func() error {
		if got := f.digRRset(zone, "SOA"); !strings.HasPrefix(got, "ns.example.net.") {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}

func (f *follower) restartServer(keep func(file string) bool) {
	f.t.Helper()
	f.bind.Stop()
	entries, err := os.ReadDir(f.bind.Dir())
	must.Succeed(f.t, err)
	removed := 0
	for _, entry := range entries {
		if file := entry.Name(); !strings.HasSuffix(file, ".conf") && !keep(file) {
			removed++
			err = errors.Join(err, os.Remove(filepath.Join(f.bind.Dir(), file)))
		}
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.startAgain()
	f.t.Logf("%d files removed", removed)
}

// named reports its start time in seconds.
func (f *follower) startAgain() {
	f.t.Helper()
	f.waitUntil("another second", func() error {
		if boot := f.agent.ready.loading.boot; boot == time.Now().UTC().Format(http.TimeFormat) {
			return errors.New(boot)
		}
		return nil
	})
	must.Succeed(f.t, f.bind.Start(f.t.Context()))
}

func keepAll(string) bool  { return true }
func keepNone(string) bool { return false }

// A server must load the zones of its catalog to be ready. A zone that no server of the class ever loaded does not
// count, since it would keep all servers unready. A zone that the other servers had does count (S11.25, A3).
func TestReady_poisonZone(t *testing.T) {
	t.Parallel()
	f := newFollower(t, member{zone: "a.example."}, member{zone: "b.a.example."}, member{zone: "poison.example.", absent: true, unconfirmed: true})
	f.waitForZone("a.example.")
	f.waitForZone("b.a.example.")
	f.wantReady(true, 0)
	// A replacement for another server is checked for each zone.
	f.expectAnswer(http.StatusOK, `"zones":3,"missing":1,"some":"poison.example."`, "GET", "/server/members", nil)

	f = newFollower(t, member{zone: "a.example."}, member{zone: "poison.example.", absent: true})
	f.waitForZone("a.example.")
	f.wantReady(false, 0)
	f.wantReady(false, time.Hour)
}

// TestReady_primaryAway (S11.25): a restarted server serves from its disk without a primary. Without a disk the
// server is unready until everything is transferred (A3).
func TestReady_primaryAway(t *testing.T) {
	t.Parallel()
	f := newFollower(t, member{zone: "a.example."}, member{zone: "b.example."})
	f.waitForZone("a.example.")
	f.waitForZone("b.example.")
	f.wantReady(true, 0)
	f.primary.Stop()
	f.restartServer(keepAll)
	f.waitForZone("a.example.")
	f.waitForZone("b.example.")
	f.wantReady(true, 0)

	// A zone's file is lost.
	f.restartServer(func(file string) bool { return !strings.HasSuffix(file, "_a.example.db") })
	f.waitForZone("b.example.")
	f.wantReady(false, 0)
	f.wantReady(false, time.Hour)

	// On an empty disk no catalog lists the missing zones.
	f.restartServer(keepNone)
	f.wantReady(false, 0)
	f.wantReady(false, time.Hour)
	must.Succeed(t, f.primary.Start(t.Context()))
	// named retries by itself a minute after its start.
	f.waitWithin(40*time.Second, "the agent is ready, without a NOTIFY", func() error {
		if got := f.lookAgain(0); got.status != 200 {
			return errors.New(got.String())
		}
		return nil
	})
	if a, b := f.digRRset("www.a.example.", "A"), f.digRRset("www.b.example.", "A"); a != "192.0.2.1" || b != "192.0.2.1" {
		t.Errorf("ready with %q and %q", a, b)
	}
	// A zone lost later does not make the server unready again.
	f.primary.Stop()
	must.Get(f.bind.Rndc(t.Context(), "delzone", "-clean", "a.example"))(t)
	f.wantReady(true, 0)
}

// TestReady_expiredZone (S11.25): an expired zone counts as missing (A3).
func TestReady_expiredZone(t *testing.T) {
	t.Parallel()
	f := newFollower(t, member{zone: "a.example."}, member{zone: "b.example."})
	f.waitForZone("a.example.")
	f.waitForZone("b.example.")
	f.primary.Stop()
	f.bind.Stop()
	old := time.Now().Add(-30 * 24 * time.Hour)
	files, err := filepath.Glob(filepath.Join(f.bind.Dir(), "__catz__*_a.example.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	must.Succeed(t, os.Chtimes(files[0], old, old))
	f.startAgain()
	f.waitUntil("a.example. has expired", func() error {
		if got := f.digRRset("a.example.", "SOA"); got != "" {
			return errors.New(got)
		}
		return nil
	})
	f.wantReady(false, 0)
}

// A tenant may withhold its zones from transfer, and a new server cannot load them. However many they are, they keep
// the server unready for some minutes at most. Without an answer of the primary, or without any loaded zone, the server
// stays unready, since a rollout would otherwise end the old server that still has the zones (S11.25).
func TestReady_withheldZones(t *testing.T) {
	t.Parallel()
	withheld := []member{{zone: "x.example.", absent: true}, {zone: "y.example.", absent: true}, {zone: "z.example.", absent: true}}
	f := newFollower(t, append(withheld, member{zone: "a.example."})...)
	f.waitForZone("a.example.")
	// The last zone was loaded some minutes ago.
	f.wantReady(false, -waitTime)
	confirmed := func() time.Time {
		expected := must.Get(f.agent.listExpected(t.Context(), false))(t)
		return f.agent.confirmedAt(t.Context(), expected.catalogs)
	}
	transferred := confirmed()
	f.waitUntil("the primary confirms the catalog again", func() error {
		f.wantReady(false, loadTime)
		if !confirmed().After(transferred) {
			return errors.New("not later")
		}
		return nil
	})
	f.wantReady(true, waitTime)

	f = newFollower(t, append(withheld, member{zone: "a.example."})...)
	f.waitForZone("a.example.")
	f.wantReady(false, 0)
	f.primary.Stop()
	f.wantReady(false, waitTime)
	f.wantReady(false, time.Hour)

	f = newFollower(t, withheld...)
	f.wantReady(false, -waitTime)
	f.wantReady(false, waitTime)
	f.wantReady(false, time.Hour)
}

// In the first two minutes after named's start, a server is ready only with every zone of its catalog; later one zone
// in a hundred may be missing. A second catalog that cannot be transferred does not make this longer (S11.25, A3).
func TestReady_twoMinutes(t *testing.T) {
	t.Parallel()
	var members []member
	for i := range 99 {
		members = append(members, member{zone: fmt.Sprintf("z%d.example.", i)})
	}
	f := newFollower(t, append(members, member{zone: "poison.example.", absent: true})...)
	f.waitUntil("99 zones are loaded", func() error {
		if got := f.lookAgain(0); !strings.Contains(got.text, `"zones: error"`) {
			t.Fatal(got)
		}
		if f.agent.ready.loading.loaded[name.MustParse("z98.example.")] && len(f.agent.ready.loading.loaded) == 99 {
			return nil
		}
		return fmt.Errorf("%d", len(f.agent.ready.loading.loaded))
	})
	f.wantReady(false, loadTime/2)
	f.wantReady(true, loadTime)
	f.wantReady(true, 0)
	// The next start is checked again.
	f.restartServer(keepAll)
	f.wantReady(false, 0)

	f = newFollower(t, member{zone: "a.example."})
	f.waitForZone("a.example.")
	must.Succeed(t, os.WriteFile(f.agent.config.CatalogsFile, []byte(catalogName+"\nother.example.\n"), 0o600))
	f.wantReady(false, 0)
	f.wantReady(true, loadTime)
}

// After a restart of named, the agent is ready only when named has loaded every primary zone that the agent created. A
// zone that was removed, or a secondary that never had content, is not waited for (A3). With an empty disk, the agent
// is ready at once (S11.25).
func TestReady_zonesOfTheAgent(t *testing.T) {
	t.Parallel()
	f := &follower{fixture: newFixture(t, nil)}
	f.agent.config.Now = func() time.Time { return f.now }
	f.expectAnswer(201, "", "POST", "/zones", primaryZone("example.org"))
	f.expectAnswer(201, "", "POST", "/zones", primaryZone("example.net"))
	f.expectAnswer(201, "", "POST", "/zones",
		`{"zoneName":"poison.example","zoneType":"secondary","zoneConfig":{"ttl":1,"soa":{"primaryNs":"ns.","adminEmail":"h."},"nameServers":[],"nameServerIps":{},"primaries":["127.0.0.1:1"]}}`)
	f.restartServer(keepAll)
	f.wantReady(true, 0)
	f.bind.Stop()
	files, err := filepath.Glob(filepath.Join(f.bind.Dir(), "example.org.*.zone"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content := must.Get(os.ReadFile(files[0]))(t)
	must.Succeed(t, os.WriteFile(files[0], []byte("nonsense"), 0o600))
	f.startAgain()
	f.wantReady(false, 0)
	must.Succeed(t, os.WriteFile(files[0], bytes.Clone(content), 0o600))
	must.Get(f.bind.Rndc(t.Context(), "reload", "example.org"))(t)
	f.wantReady(true, 0)
	// named removed the zone but its file remains.
	f.bind.Stop()
	f.startAgain()
	must.Get(f.bind.Rndc(t.Context(), "delzone", "example.net"))(t)
	if left, err := filepath.Glob(filepath.Join(f.bind.Dir(), "example.net.*.zone")); err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	f.wantReady(true, 0)
	// On an empty disk the list of the created zones is lost, too: the zones can be created again.
	f.restartServer(keepNone)
	f.wantReady(true, 0)
	if got := f.digRRset("example.org", "SOA"); got != "" {
		t.Errorf("it answers %q", got)
	}
	f.expectAnswer(201, "", "POST", "/zones", primaryZone("example.org"))
}

// If named has lost a zone of its catalog, an unchanged catalog would not restore the zone, so the agent has named
// transfer the catalog again. The agent does this only for lost zones, not for a zone that named tried and cannot load
// (S11.25, A7).
func TestRestoreMembers_makesALostZoneAgain(t *testing.T) {
	t.Parallel()
	f := newFollower(t, member{zone: "a.example."}, member{zone: "b.a.example."}, member{zone: "poison.example.", absent: true})
	f.waitForZone("a.example.")
	f.waitForZone("b.a.example.")
	var watch memberWatch
	for range 3 {
		watch.state = "" // each check covers every member
		f.agent.restoreMembers(t.Context(), &watch)
	}
	if n := strings.Count(f.bind.Log(), "received control channel command 'retransfer"); n != 0 {
		t.Errorf("%d transfers of a catalog of which nothing is lost", n)
	}
	if out, err := f.bind.Rndc(t.Context(), "delzone", "-clean", "b.a.example"); err != nil {
		t.Fatal(err, out)
	}
	f.waitUntil("b.a.example. is gone", func() error {
		if got := f.digRRset("b.a.example.", "SOA"); got != "" {
			return errors.New(got)
		}
		return nil
	})
	// The zone also came after the last check: the count is equal, the catalog's serial differs.
	count, known := strings.CutSuffix(string(must.Get(f.agent.readZonesState(t.Context()))(t)), " 1")
	if !known {
		t.Fatalf("without the serial of the catalog: %q", count)
	}
	watch.state = zonesState(count + " 0")
	f.waitUntil("b.a.example. is there again", func() error {
		f.agent.restoreMembers(t.Context(), &watch)
		if got := f.digRRset("b.a.example.", "SOA"); !strings.HasPrefix(got, "ns.example.net.") {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	if log := f.bind.Log(); strings.Contains(log, "deleting zone 'a.example'") || strings.Count(log, "adding zone 'a.example'") != 1 {
		t.Errorf("the other zone of the catalog was made anew:\n%s", log)
	}
}

// returningZone is a control channel on which, behind the first count of zones, a lost zone returns.
type returningZone struct {
	Controller
	zoneReturns func()
}

func (c *returningZone) Call(ctx context.Context, command string) (string, error) {
	text, err := c.Controller.Call(ctx, command)
	if returns := c.zoneReturns; command == "status" && returns != nil {
		c.zoneReturns = nil
		returns()
	}
	return text, err
}

// A zone returns between the count of zones and the comparison with the catalog, and is lost again: the count is equal
// then, and the loss is seen (A7).
func TestRestoreMembers_seesALossAfterAReturn(t *testing.T) {
	t.Parallel()
	f := newFollower(t, member{zone: "a.example."})
	f.waitForZone("a.example.")
	lose := func() {
		if out, err := f.bind.Rndc(t.Context(), "delzone", "-clean", "a.example"); err != nil {
			t.Fatal(err, out)
		}
	}
	lose()
	f.agent.config.Control = &returningZone{f.agent.config.Control, func() {
		if out, err := f.bind.Rndc(t.Context(), "retransfer", strings.TrimSuffix(catalogName, ".")); err != nil {
			t.Fatal(err, out)
		}
		f.waitForZone("a.example.")
	}}
	var watch memberWatch
	f.agent.restoreMembers(t.Context(), &watch)
	lose()
	f.waitUntil("a.example. is there again", func() error {
		f.agent.restoreMembers(t.Context(), &watch)
		if got := f.digRRset("a.example.", "SOA"); !strings.HasPrefix(got, "ns.example.net.") {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}
