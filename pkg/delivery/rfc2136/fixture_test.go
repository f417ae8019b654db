// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const zoneText = `example.org. 300 IN SOA ns.example.org. host.example.org. 1 3600 600 86400 300
example.org. 300 IN NS ns.example.org.
ns.example.org. 300 IN A 192.0.2.1
`

var (
	anywhere = dial.New(true).DialContext
	zoneName = name.MustParse("example.org.")
	rigKey   = rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	sha512   = rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha512", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)

func keyOf(t *testing.T, k rig.TSIGKey) transfer.Key {
	t.Helper()
	keys := must.Get(tsig.ParseKeys(k.Statement()))(t)
	return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
}

type server struct {
	name string
	addr netip.AddrPort
	key  rig.TSIGKey
	log  func() string
}

func startBIND(t *testing.T, zone rig.PrimaryZone) server {
	t.Helper()
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Primaries: []rig.PrimaryZone{zone}}))(t)
	return server{"BIND", bind.Addr, rigKey, bind.Log}
}

func runAtServers(t *testing.T, text string, test func(t *testing.T, s server)) {
	t.Run("BIND", func(t *testing.T) {
		test(t, startBIND(t, rig.PrimaryZone{Zone: "example.org.", Text: text, UpdateKey: rigKey.Name}))
	})
	t.Run("Knot", func(t *testing.T) {
		knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &sha512,
			Zones: []rig.PrimaryZone{{Zone: "example.org.", Text: text, UpdateKey: sha512.Name}}}))(t)
		test(t, server{"Knot", knot.Addr, sha512, knot.Log})
	})
}

func (s server) makeProvider(t *testing.T) *Provider {
	t.Helper()
	p := must.Get(New(Config{Server: s.addr.String(), Key: keyOf(t, s.key), Dial: anywhere}))(t)
	t.Cleanup(func() { p.Close() })
	return p
}

// listRecords returns the server's records as "www.example.org. 300 A 192.0.2.1", without the SOA and the apex NS.
func (s server) listRecords(t *testing.T) []string {
	t.Helper()
	key := keyOf(t, s.key)
	text := must.Get(transfer.Receive(t.Context(), transfer.Source{Server: s.addr.String(), Zone: zoneName, Key: &key}))(t)
	var out []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[3] == "SOA" || f[3] == "NS" && f[0] == "example.org." {
			continue
		}
		out = append(out, strings.Join(slices.Delete(f, 2, 3), " "))
	}
	slices.Sort(out)
	return out
}

func (s server) readSerial(t *testing.T) string {
	t.Helper()
	out, err := rig.Dig{Server: s.addr}.Run(t.Context(), "+short", "+norecurse", "SOA", "example.org.")
	if f := strings.Fields(out); err == nil && len(f) == 7 {
		return f[2]
	}
	t.Fatal(err, out)
	return ""
}

func (s server) updateForeign(t *testing.T, commands ...string) {
	t.Helper()
	script := "zone example.org.\nupdate " + strings.Join(commands, "\nupdate ") + "\nsend\n"
	must.Get(rig.Nsupdate(t.Context(), s.addr, &s.key, script))(t)
}

// parseRRset parses "www 300 A 192.0.2.1 192.0.2.2". Within a value, | is a blank.
func parseRRset(t *testing.T, text string) delivery.RRset {
	t.Helper()
	f := strings.Fields(text)
	rt := must.Get(rdata.ParseType(f[2]))(t)
	n := must.Get(name.ParseIn(f[0], zoneName))(t)
	out := delivery.RRset{Name: n, Type: rt}
	fmt.Sscan(f[1], &out.TTL)
	for _, word := range f[3:] {
		v := must.Get(rdata.ParseStored(rt, strings.ReplaceAll(word, "|", " ")))(t)
		resolved := must.Get(v.Resolve(zoneName))(t)
		out.Data = append(out.Data, resolved)
	}
	return out
}

type version []delivery.RRset

func makeZone(t *testing.T, texts ...string) version {
	t.Helper()
	var v version
	for _, text := range texts {
		v = append(v, parseRRset(t, text))
	}
	slices.SortFunc(v, func(a, b delivery.RRset) int { return a.Key().Compare(b.Key()) })
	return v
}

func (v version) iterateRRsets() iter.Seq[delivery.RRset] { return slices.Values(v) }

func (v version) planFull(at serial.Serial) delivery.Plan {
	soa := delivery.RRset{Name: zoneName, Type: rdata.SOA, TTL: 300, Data: []string{"ns.example.org. host.example.org. " + at.String() + " 1 1 1 1"}}
	return delivery.Plan{Zone: zoneName, UID: "u", Serial: at, SOA: soa, All: v.iterateRRsets(), CallTimeout: 10 * time.Second}
}

func (v version) planSince(before version, from, at serial.Serial) delivery.Plan {
	plan := v.planFull(at)
	plan.Since, plan.Changes = from, []delivery.Change{}
	was, is := map[delivery.RRsetKey]delivery.RRset{}, map[delivery.RRsetKey]delivery.RRset{}
	keys := map[delivery.RRsetKey]bool{}
	for _, one := range before {
		was[one.Key()], keys[one.Key()] = one, true
	}
	for _, one := range v {
		is[one.Key()], keys[one.Key()] = one, true
	}
	for key := range keys {
		b, a := was[key], is[key]
		b.Name, b.Type, a.Name, a.Type = key.Name, key.Type, key.Name, key.Type
		if !sameRRset(a, b) {
			plan.Changes = append(plan.Changes, delivery.Change{Before: b, After: a})
		}
	}
	slices.SortFunc(plan.Changes, func(a, b delivery.Change) int { return a.After.Key().Compare(b.After.Key()) })
	return plan
}

func makeHistory(versions ...version) []dns.Change {
	var steps []dns.Change
	entries := func(v version) (all []dns.Entry) {
		for _, one := range v {
			for _, data := range one.Data {
				all = append(all, dns.Entry{Name: one.Name, Type: one.Type, TTL: one.TTL, Data: data})
			}
		}
		return all
	}
	for at := 1; at < len(versions); at++ {
		before, after := entries(versions[at-1]), entries(versions[at])
		removed := slices.DeleteFunc(slices.Clone(before), func(e dns.Entry) bool { return slices.Contains(after, e) })
		added := slices.DeleteFunc(slices.Clone(after), func(e dns.Entry) bool { return slices.Contains(before, e) })
		steps = append(steps, dns.Change{Removed: removed, Added: added})
	}
	return steps
}

func passFence(context.Context) error { return nil }

func deliverPlan(t *testing.T, p *Provider, plan delivery.Plan) delivery.Report {
	t.Helper()
	report := must.Get(p.Deliver(t.Context(), plan, passFence))(t)
	if report.Confirmed != plan.Serial {
		t.Errorf("confirmed %d, want %d", report.Confirmed, plan.Serial)
	}
	for _, failure := range report.Failed {
		if key := (delivery.RRsetKey{Name: failure.Name, Type: failure.Type}); strings.Contains(failure.Err.Message, key.String()) {
			t.Errorf("%q names %s, as those do that show it", failure.Err.Message, key)
		}
	}
	return report
}

// expectRecords expects exactly these records and the name server of the fixture.
func (s server) expectRecords(t *testing.T, want ...string) {
	t.Helper()
	want = append(want, "ns.example.org. 300 A 192.0.2.1")
	slices.Sort(want)
	if got := s.listRecords(t); !slices.Equal(got, want) {
		t.Fatalf("the server has\n\t%s\nwant\n\t%s\n", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func failedKeys(report delivery.Report) (out []string) {
	for _, f := range report.Failed {
		out = append(out, delivery.RRsetKey{Name: f.Name, Type: f.Type}.String()+" "+string(f.Err.Reason))
	}
	return out
}
