// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func primaryZone(zone string, records ...protocol.Record) map[string]any {
	return map[string]any{
		"zoneName": zone, "zoneType": "primary", "updateKeyName": "agent",
		"zoneConfig": map[string]any{
			"ttl": 300, "soa": map[string]any{"primaryNs": "ns", "adminEmail": `host\.master.example.org.`, "serial": 7, "refresh": 3600,
				"retry": 600, "expire": 604800, "negativeTtl": 86400},
			"nameServers": []string{"ns"}, "records": append([]protocol.Record{{Name: "ns", Type: "AAAA", Value: "2001:db8::53"}},
				records...),
		},
	}
}

func configOf(body map[string]any) map[string]any { return body["zoneConfig"].(map[string]any) }

// A zone is created, read, changed and removed; a repeated request changes nothing (A1, A2).
func TestZone_livesOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	asked := primaryZone("Example.ORG.", protocol.Record{Name: "www", Type: "A", Value: "192.0.2.1"})
	f.expectAnswer(404, "no zone example.org", "GET", "/zones/example.org/status", nil)
	f.expectAnswer(201, "is made", "POST", "/zones", asked)
	if got := f.digRRset("SOA", "example.org"); got != `ns.example.org._host\.master.example.org._7_3600_600_604800_86400` {
		t.Errorf("SOA: %s", got)
	}
	if got := f.digRRset("AAAA", "ns.example.org"); got != "2001:db8::53" {
		t.Errorf("IPv6 glue: %s", got)
	}
	f.update("late.example.org. 300 IN TXT \"by update\"")
	files := f.readFiles()
	if len(files) != 2 {
		t.Fatalf("the zone has %d files, want a file and a journal: %v", len(files), files)
	}
	f.expectAnswer(200, "not touched", "POST", "/zones", asked)
	other := primaryZone("example.org")
	configOf(other)["alsoNotify"] = []string{"192.0.2.9:5300", "[2001:db8::9]:53 key agent"}
	f.expectAnswer(409, "another also-notify", "POST", "/zones", other)
	if again := f.readFiles(); fmt.Sprint(again) != fmt.Sprint(files) {
		t.Errorf("a second POST changed files:\n%v\n%v", files, again)
	}
	f.expectAnswer(200, "also-notify", "PATCH", "/zones/example.org", `{"alsoNotify":["192.0.2.9:5300","[2001:db8::9]:53 key `+
		`agent"],"allowTransfer":["key agent","127.0.0.0/8"]}`)
	f.expectAnswer(200, "already", "PATCH", "/zones/example.org", `{"alsoNotify":["192.0.2.9:5300","[2001:db8::9]:53 key agent"]}`)
	f.expectAnswer(200, "allow-transfer", "PATCH", "/zones/example.org", `{"allowTransfer":[]}`)
	f.expectAnswer(200, "not touched", "POST", "/zones", other)
	f.expectAnswer(200, "serial: 8", "GET", "/zones/example.org/status", nil)
	f.expectAnswer(200, `["example.org"]`, "GET", "/zones", nil)

	// A record written by update survives a restart of named: the second POST kept the journal.
	f.bind.Stop()
	must.Succeed(t, f.bind.Start(t.Context()))
	if got := f.digRRset("TXT", "late.example.org"); got != `"by_update"` {
		t.Errorf("after a restart: %s", got)
	}
	f.expectAnswer(200, "removed", "DELETE", "/zones/example.org", nil)
	f.expectAnswer(404, "", "DELETE", "/zones/example.org", nil)
	f.expectAnswer(200, `"zones":[]`, "GET", "/zones", nil)
	for _, word := range []string{"notify", "retransfer"} {
		f.expectAnswer(404, "no zone", "POST", "/zones/example.org/"+word, nil)
	}
	f.expectAnswer(201, "is made", "POST", "/zones", asked)
	if got := f.digRRset("TXT", "late.example.org"); got != "" {
		t.Errorf("a new zone has what the old one had: %s", got)
	}
}

func (f *fixture) readFiles() map[string]string {
	files := map[string]string{}
	paths := must.Get(filepath.Glob(filepath.Join(f.bind.Dir(), "*.zone*")))(f.t)
	for _, path := range paths {
		octets := must.Get(os.ReadFile(path))(f.t)
		files[filepath.Base(path)] = string(octets)
	}
	return files
}

// Zones may have names that the agent bindcar refuses: the root, names with an underscore, a slash or IDNs. Names that
// cannot be a zone or a file name are refused with the reason (A4).
func TestZone_hasAnyName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for zone, path := range map[string]string{
		".": "%2E", "_tcp.example.org": "_tcp.example.org", "0/25.2.0.192.in-addr.arpa": "0%2F25.2.0.192.in-addr.arpa",
		"xn--bcher-kva.example": "b%C3%BCcher.example",
	} {
		asked := primaryZone(zone, protocol.Record{Name: "_a._b", Type: "TXT", Value: "x"})
		if strings.ContainsAny(zone, "_/") {
			configOf(asked)["nameServers"], configOf(asked)["records"] = []string{"ns.example.net."},
				[]protocol.Record{{Name: "_a._b", Type: "TXT", Value: "x"}}
			configOf(asked)["soa"].(map[string]any)["primaryNs"] = "ns.example.net." // no host name exists below _tcp
		}
		f.expectAnswer(201, "", "POST", "/zones", asked)
		f.expectAnswer(200, "", "GET", "/zones/"+path+"/status", nil)
		if got := f.digRRset("TXT", "_a._b."+strings.TrimPrefix(zone, ".")); got != `"x"` {
			t.Errorf("%s: %q", zone, got)
		}
	}
	f.expectAnswer(200, `".","0/25.2.0.192.in-addr.arpa","_tcp.example.org","xn--bcher-kva.example"`, "GET", "/zones", nil)
	for zone, why := range map[string]string{
		"*.example.org": "wildcard", "a b.example": "zoneName", `x"; }; zone y { type primary`: "zoneName", "": "zoneName",
		strings.Repeat("a.", 120) + "example": "file name",
	} {
		f.expectAnswer(400, why, "POST", "/zones", primaryZone(zone))
	}
	f.expectAnswer(200, "removed", "DELETE", "/zones/%2E", nil)
	f.expectAnswer(200, `"count":3`, "GET", "/zones", nil)
}

// A zone with a value of every record type is created through the agent, and named loads and serves the values (A4).
func TestZone_hasEveryType(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("../../dns/rdata/testdata/values.txt"))(t)
	f := newFixture(t, nil)
	zone := name.MustParse("types.example.")
	var records []protocol.Record
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		typeText, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		rrtype, err := rdata.ParseType(typeText)
		if !ok || seen[typeText] || strings.HasPrefix(line, "#") || err != nil || rrtype.CheckRecord() != nil {
			continue
		}
		data, err := rdata.FromRR(rrtype, value, zone)
		if err != nil {
			continue // unquoted text, valid in a Record but not in a file
		}
		wire, err := rdata.Value{Type: rrtype, Text: data}.Pack(zone)
		if err != nil || rdata.CheckLoadable(rrtype, wire) != nil {
			continue
		}
		seen[typeText] = true
		records = append(records, protocol.Record{Name: fmt.Sprintf("r%d", len(records)), Type: typeText, Value: value})
		if rrtype == rdata.DS { // exists only at a delegation
			records = append(records, protocol.Record{Name: records[len(records)-1].Name, Type: "NS", Value: "ns.example.net."})
		}
	}
	records = append(records, protocol.Record{Name: "generic", Type: "TYPE65280", Value: `\# 3 ABCDEF`}, protocol.Record{Name: "mail",
		Type: "A", Value: "192.0.2.1"}, protocol.Record{Name: "ns1", Type: "A", Value: "192.0.2.1"})
	if len(records) < 40 {
		t.Fatalf("only %d types are tried", len(records))
	}
	f.expectAnswer(201, "made", "POST", "/zones", primaryZone(zone.String(), records...))
	made := must.Get(f.bind.Transfer(t.Context(), zone.String()))(t)
	made = slices.DeleteFunc(made, func(line string) bool { return strings.Contains(line, "SOA") })
	if len(made) != len(records)+2 {
		t.Errorf("%d records were made, and the zone has %d", len(records)+2, len(made))
	}
}

// A zone with an invalid record, or a record outside the zone, is not created. The error names the field of the record
// (A4). With so many primaries that the command would be too long for named, the answer is 400, because a repetition
// cannot succeed, and asks for fewer addresses.
func TestZone_isRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	tooLong := uint32(1 << 31)
	for why, record := range map[string]protocol.Record{
		"records[1].value":      {Name: "a", Type: "A", Value: "192.0.2.256"},
		"is not in zone":        {Name: "a.example.net.", Type: "A", Value: "192.0.2.1"},
		"records[1].type":       {Name: "a", Type: "NOPE", Value: "192.0.2.1"},
		"SOA":                   {Name: "a", Type: "SOA", Value: "192.0.2.1"},
		"records[1].value: ":    {Name: "a", Type: "A"},
		"records[1].ttl":        {Name: "a", Type: "A", Value: "192.0.2.1", TTL: &tooLong},
		"zoneConfig.records[1]": {Name: "a", Type: "TXT", Value: "\"a\"\nb A 192.0.2.1"},
	} {
		f.expectAnswer(400, why, "POST", "/zones", primaryZone("example.org", record))
	}
	f.expectAnswer(400, "body", "POST", "/zones", "{")
	long := make([]string, maxAddressList)
	for i := range long {
		long[i] = fmt.Sprintf("192.0.2.%d key %s", i, strings.Repeat("k", 200))
	}
	secondary := map[string]any{"zoneName": "example.org", "zoneType": "secondary", "zoneConfig": map[string]any{"primaries": long}}
	f.expectAnswer(400, "fewer addresses", "POST", "/zones", secondary)
	f.expectAnswer(200, `"zones":[]`, "GET", "/zones", nil)
	configOf(secondary)["primaries"] = []string{"192.0.2.1"}
	f.expectAnswer(201, "is made", "POST", "/zones", secondary)
	f.expectAnswer(400, "fewer addresses", "PATCH", "/zones/example.org", map[string]any{"primaries": long})
}

// A secondary zone created through the agent transfers from its primary with a TSIG key. The zone exists before its
// first transfer, and after a restart the server still has its content even while the primary is away.
func TestSecondary_transfersByKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	far := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{agentKey},
		Primaries: []rig.PrimaryZone{{Zone: "example.org.", UpdateKey: "agent",
			Text: "example.org. 300 IN SOA ns h 9 3600 600 86400 300\nexample.org. 300 IN NS ns\nns.example.org. 300 IN A 192.0.2.1\n"}}}))(t)
	body := func(zone string, primaries ...string) map[string]any {
		return map[string]any{"zoneName": zone, "zoneType": "secondary", "zoneConfig": map[string]any{"ttl": 1,
			"soa": map[string]any{"primaryNs": "x.", "adminEmail": "x."}, "nameServers": []string{}, "nameServerIps": map[string]string{},
			"primaries": primaries}}
	}
	f.expectAnswer(400, "primaries: a secondary zone needs at least one", "POST", "/zones", body("example.org"))
	f.expectAnswer(201, "", "POST", "/zones", body("example.org", far.Addr.String()+" key agent"))
	must.Succeed(t, f.bind.WaitSerial(t.Context(), "example.org.", 9))
	f.expectAnswer(200, "transferred anew", "POST", "/zones/example.org/retransfer", nil)
	f.expectAnswer(201, "", "POST", "/zones", body("empty.example", far.Addr.String()))
	f.expectAnswer(200, "loaded: no", "GET", "/zones/empty.example/status", nil)
	f.expectAnswer(200, "not touched", "POST", "/zones", body("empty.example", far.Addr.String()))
	f.expectAnswer(409, "another primaries", "POST", "/zones", body("empty.example", "192.0.2.1"))
	f.expectAnswer(200, `["empty.example","example.org"]`, "GET", "/zones", nil)
	f.expectAnswer(200, "primaries", "PATCH", "/zones/empty.example", `{"primaries":["192.0.2.1","[2001:db8::1]:5353"]}`)
	far.Stop()
	f.bind.Stop()
	must.Succeed(t, f.bind.Start(t.Context()))
	if got := f.digRRset("A", "ns.example.org"); got != "192.0.2.1" {
		t.Errorf("after a restart without its primary: %q", got)
	}
	f.expectAnswer(200, "removed", "DELETE", "/zones/example.org", nil)
	f.expectAnswer(200, "removed", "DELETE", "/zones/empty.example", nil)
	f.expectAnswer(200, `"count":0`, "GET", "/zones", nil)
}

// Zones of named.conf and members of catalogs are read-only.
func TestZone_ofTheConfigurationIsLeftAlone(t *testing.T) {
	t.Parallel()
	const soa = " 300 IN SOA ns.invalid. h.invalid. 1 3600 600 86400 300\n"
	far := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Primaries: []rig.PrimaryZone{
		{Zone: "catalog.example.", Text: "catalog.example." + soa + "catalog.example. 0 IN NS invalid.\nversion.catalog.example. " +
			"0 IN TXT \"2\"\na.zones.catalog.example. 0 IN PTR member.example.\n"},
		{Zone: "member.example.", Text: "member.example." + soa + "member.example. 300 IN NS ns.invalid.\n"},
	}}))(t)
	f := newFixture(t, func(named *rig.BINDConfig, _ *Config) {
		named.Primaries = []rig.PrimaryZone{{Zone: "static.example.", Text: "static.example." + soa + "static.example. " +
			"300 IN NS ns.invalid.\n"}}
		named.Catalogs = []rig.SecondaryZone{{Zone: "catalog.example.", Primary: far.Addr}}
	})
	must.Succeed(t, f.bind.WaitSerial(t.Context(), "member.example.", 1))
	for zone, why := range map[string]string{"static.example": "stands in named's configuration",
		"member.example": "member of a catalog zone"} {
		f.expectAnswer(200, "serial: 1", "GET", "/zones/"+zone+"/status", nil)
		f.expectAnswer(409, why, "DELETE", "/zones/"+zone, nil)
		f.expectAnswer(409, why, "PATCH", "/zones/"+zone, `{"allowTransfer":["any"]}`)
		f.expectAnswer(409, "", "POST", "/zones", primaryZone(zone))
		if f.digRRset("SOA", zone) == "" {
			t.Errorf("%s is gone", zone)
		}
	}
	f.expectAnswer(200, "server is up and running", "GET", "/server/status", nil)
}

// A zone is signed, its DS equal those of BIND's tool, and signing ends in order.
func TestDNSSEC_followsTheZone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.expectAnswer(201, "", "POST", "/zones", primaryZone("example.org"))
	f.expectAnswer(404, "is not signed", "GET", "/zones/example.org/ds", nil)
	f.expectAnswer(409, "", "POST", "/zones/example.org/dnssec/checkds", `{"keyTag":1,"ds":"published"}`)
	f.expectAnswer(400, "dnssecPolicy", "PATCH", "/zones/example.org", `{"dnssecPolicy":"a b"}`)
	f.expectAnswer(409, "", "PATCH", "/zones/example.org", `{"dnssecPolicy":"unknown"}`)
	f.expectAnswer(200, "dnssec-policy", "PATCH", "/zones/example.org", `{"dnssecPolicy":"default"}`)
	var status protocol.ZoneResponse
	must.Eventually(t, "the zone is signed", func() bool {
		status = protocol.ZoneResponse{}
		must.Succeed(t, json.Unmarshal([]byte(f.expectAnswer(200, "", "GET", "/zones/example.org/status", nil).text), &status))
		return status.DNSSEC != nil && status.DNSSEC.Signed && len(status.DNSSEC.Keys) == 1 && f.digRRset("DNSKEY", "example.org") != ""
	})
	key := status.DNSSEC.Keys[0]
	if status.DNSSEC.Policy != "default" || key.Role != "CSK" || key.DSState != "hidden" ||
		!regexp.MustCompile(`published: +yes(?s:.*)goal: +omnipresent`).MatchString(status.Details) {
		t.Errorf("DNSSEC: %+v, %s", status.DNSSEC, status.Details)
	}
	var ds protocol.DS
	must.Succeed(t, json.Unmarshal([]byte(f.expectAnswer(200, "", "GET", "/zones/example.org/ds", nil).text), &ds))
	tool := rig.Need(rig.Find("dnssec-dsfromkey", "apt-get install bind9-utils"))(t)
	files, err := filepath.Glob(filepath.Join(f.bind.Dir(), "Kexample.org.*.key"))
	if err != nil || len(files) != 1 {
		t.Fatalf("keys: %v, %v", files, err)
	}
	out := must.Get(exec.CommandContext(t.Context(), tool, "-2", files[0]).Output())(t)
	if len(ds.Records) != 1 || ds.Records[0].RR != strings.TrimSpace(string(out)) || ds.Records[0].KeyTag != key.Tag || ds.Records[0].CDS {
		t.Errorf("DS %+v; dnssec-dsfromkey says %s", ds.Records, out)
	}
	f.expectAnswer(409, "no matching key", "POST", "/zones/example.org/dnssec/checkds", fmt.Sprintf(`{"keyTag":%d,"ds":"published"}`,
		key.Tag^1))
	f.expectAnswer(400, "ds", "POST", "/zones/example.org/dnssec/checkds", `{"keyTag":1,"ds":"gone"}`)
	f.expectAnswer(404, "no zone", "POST", "/zones/nope.example/dnssec/checkds", `{"keyTag":1,"ds":"published"}`)
	f.expectAnswer(200, "published", "POST", "/zones/example.org/dnssec/checkds", fmt.Sprintf(`{"keyTag":%d,"ds":"published"}`, key.Tag))
	f.expectAnswer(409, "insecure", "PATCH", "/zones/example.org", `{"dnssecPolicy":"none"}`)
	f.expectAnswer(200, "dnssec-policy", "PATCH", "/zones/example.org", `{"dnssecPolicy":"insecure"}`)
	if status.DNSSEC.UnsignedSerial == nil || *status.DNSSEC.UnsignedSerial == 0 {
		t.Errorf("serial of the unsigned zone: %+v", status.DNSSEC)
	}
	f.expectAnswer(400, "keys", "DELETE", "/zones/example.org?keys=all", nil)
	f.expectAnswer(200, "removed", "DELETE", "/zones/example.org?keys=remove", nil)
	if left, err := filepath.Glob(filepath.Join(f.bind.Dir(), "Kexample.org.*")); err != nil || len(left) > 0 {
		t.Errorf("keys of the zone that was removed: %v, %v", left, err)
	}
}

// While named is stopped, the agent is not ready, and answers 503, which clients retry. Its health does not depend on
// named, so that the agent is not restarted in vain (A2, A3).
func TestReady_failsWithNamed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, func(_ *rig.BINDConfig, config *Config) { config.Now = func() time.Time { return now } })
	f.token = ""
	f.expectAnswer(200, `["zone_dir: ok","rndc: ok","dns: ok","zones: ok"]`, "GET", "/ready", nil)
	f.expectAnswer(200, `"agent":"kubizone"`, "GET", "/health", nil)
	f.bind.Stop()
	f.expectAnswer(200, "", "GET", "/ready", nil) // the last check is valid for a second
	now = now.Add(readyAge)
	f.expectAnswer(503, `["zone_dir: ok","rndc: error","dns: error"]`, "GET", "/ready", nil)
	f.expectAnswer(200, "", "GET", "/health", nil)
	f.token = testToken
	for _, path := range []string{"/zones/example.org/status", "/server/status"} {
		f.expectAnswer(503, "does not answer", "GET", path, nil)
	}
	f.expectAnswer(503, "does not answer", "POST", "/zones", primaryZone("example.org"))
	f.expectAnswer(503, "does not answer", "DELETE", "/zones/example.org", nil)
	if files := f.readFiles(); len(files) != 0 {
		t.Errorf("files of a zone that was not made: %v", files)
	}
	must.Succeed(t, f.bind.Start(t.Context()))
	now = now.Add(readyAge)
	f.expectAnswer(200, "", "GET", "/ready", nil)
}

// Requests with a long body, above the rate limit or without the right token are refused before they reach named (A5,
// A6). The paths of probes, which need no token, have a limit of their own.
func TestRequests_areBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, func(_ *rig.BINDConfig, config *Config) {
		config.Now = func() time.Time { return now }
	})
	f.agent.limiter, f.agent.openLimiter = newLimiter(1, 3), newLimiter(1, 3)
	f.expectAnswer(413, "longer than", "POST", "/zones", bytes.Repeat([]byte("x"), maxBody+1))
	f.token = "another"
	f.expectAnswer(401, "not our token", "GET", "/zones", nil)
	f.expectAnswer(401, "not our token", "POST", "/zones", "not even JSON")
	limited := f.expectAnswer(429, "", "GET", "/zones", nil)
	if limited.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %v", limited.header)
	}
	// Paths without a token have another limit: a prober at the same address is answered.
	f.expectAnswer(200, "", "GET", "/ready", nil)
	f.expectAnswer(200, "", "GET", "/health", nil)
	f.expectAnswer(200, "", "GET", "/ready", nil)
	f.expectAnswer(429, "more requests than", "GET", "/health", nil)
	now = now.Add(time.Second)
	f.expectAnswer(200, "", "GET", "/health", nil)
	f.token = testToken
	f.expectAnswer(200, "", "GET", "/zones", nil)
}

// silent is a control channel without answers.
type silent struct{ asked chan struct{} }

func (s silent) Call(ctx context.Context, _ string) (string, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return "", ctx.Err()
}

// A silent named must not use up the agent's connections. While the permitted number of requests waits for named, each
// further request gets 429 with Retry-After at once and does not reach named (A6).
func TestRequests_underWayAreBounded(t *testing.T) {
	t.Parallel()
	control := silent{make(chan struct{}, 2*maxRequests)}
	f := newFixture(t, func(_ *rig.BINDConfig, config *Config) { config.Control = control })
	f.agent.waiting = 10 * time.Millisecond
	ctx, giveUp := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for range maxRequests {
		ended.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.server.URL+"/api/v1/server/status", nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Authorization", "Bearer "+testToken)
			if response, err := http.DefaultClient.Do(request); err == nil {
				t.Errorf("answered: %s", response.Status)
				response.Body.Close()
			}
		})
		<-control.asked
	}
	if busy := f.expectAnswer(429, "are under way", "GET", "/server/status", nil); busy.header.Get("Retry-After") == "" {
		t.Errorf("%v", busy.header)
	}
	f.expectAnswer(200, "", "GET", "/health", nil)
	giveUp()
	ended.Wait()
	if len(control.asked) != 0 {
		t.Error("named was asked for the request that was refused")
	}
}

// Eight clients create, change and delete one zone at the same time. Each gets one of the expected answers, and
// afterwards the zone can be deleted without leaving a file.
func TestRequests_overlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 5 {
				for _, one := range []struct {
					method, path string
					body         any
				}{{"POST", "/zones", primaryZone("example.org")}, {"PATCH", "/zones/example.org", `{"allowTransfer":["any"]}`},
					{"DELETE", "/zones/example.org", nil}} {
					if got := f.sendRequest(one.method, "/api/v1"+one.path, one.body); !slices.Contains([]int{200, 201, 404, 409},
						got.status) {
						t.Errorf("%s: %s", one.method, got)
					}
				}
			}
		}()
	}
	for range 8 {
		<-done
	}
	f.sendRequest("DELETE", "/api/v1/zones/example.org", nil)
	if files := f.readFiles(); len(files) != 0 {
		t.Errorf("files are left: %v", files)
	}
	f.expectAnswer(201, "", "POST", "/zones", primaryZone("example.org"))
}

// named loads a changed configuration, and /health has the hash. A refused configuration shows in /ready while named
// serves.
func TestWatchConfig_loadsWhatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	write := func(text string) string {
		t.Helper()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "zones.conf"), []byte(text), 0o600))
		return fmt.Sprintf("%x", sha256.Sum256([]byte("zones.conf\x00"+text+"\x00")))
	}
	first := write("# nothing yet\n")
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "..data"), 0o700))
	f := newFixture(t, func(named *rig.BINDConfig, config *Config) {
		config.ConfigDir = dir
		config.Now = func() time.Time { now = now.Add(readyAge); return now }
		named.Statements = fmt.Sprintf("include %q;\n", filepath.Join(dir, "zones.conf"))
	})
	if health := f.expectAnswer(200, "", "GET", "/health", nil); health.body["configHash"] != nil {
		t.Errorf("before named has read it: %s", health)
	}
	f.expectAnswer(503, "config: error", "GET", "/ready", nil)
	look := func(want string) {
		t.Helper()
		ticks := make(chan time.Time)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); f.agent.WatchConfig(ctx, ticks) }()
		ticks <- time.Time{} // received after the first check
		cancel()
		<-ended
		if health := f.expectAnswer(200, "", "GET", "/health", nil); health.body["configHash"] != want {
			t.Errorf("%s, want %s", health, want)
		}
	}
	look(first)
	f.expectAnswer(200, "config: ok", "GET", "/ready", nil)
	second := write(`zone "added.example" { type secondary; primaries { 192.0.2.1; }; file "added.db"; };`)
	look(second)
	f.expectAnswer(200, "loaded: no", "GET", "/zones/added.example/status", nil)
	write("nonsense;")
	look(second)
	f.expectAnswer(200, "config: error", "GET", "/ready", nil)
	f.expectAnswer(200, "loaded: no", "GET", "/zones/added.example/status", nil)
	third := write("# nothing again\n")
	look(third)
	f.expectAnswer(200, "config: ok", "GET", "/ready", nil)
	f.expectAnswer(404, "", "GET", "/zones/added.example/status", nil)
}

// unheard is a control channel that may lose the answer to a reconfig, after named has read the file.
type unheard struct {
	file, loaded string
	lost         bool
}

func (u *unheard) Call(context.Context, string) (string, error) {
	text, err := os.ReadFile(u.file)
	if u.loaded = string(text); u.lost {
		err = errors.New("no answer in time")
	}
	return "", err
}

// A change is undone after a reconfig without an answer. named has read the change all the same, so the former files
// are loaded again, though /health had their hash all the time.
func TestReloadConfig_afterALostAnswer(t *testing.T) {
	t.Parallel()
	control := &unheard{file: filepath.Join(t.TempDir(), "zones.conf")}
	a := New(Config{Control: control, ConfigDir: filepath.Dir(control.file), Now: time.Now})
	for _, step := range []struct {
		text string
		lost bool
	}{{"# before\n", false}, {"# changed\n", true}, {"# before\n", false}} {
		control.lost = step.lost
		must.Succeed(t, os.WriteFile(control.file, []byte(step.text), 0o600))
		if err := a.reloadConfig(t.Context()); (err != nil) != step.lost || control.loaded != step.text {
			t.Errorf("%+v: named has %q, %v", step, control.loaded, err)
		}
	}
}
