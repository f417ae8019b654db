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
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
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
	keys, err := primary.ParseKeys(k.Statement())
	if err != nil {
		t.Fatal(err)
	}
	return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
}

// server is a real one that takes updates of example.org.
type server struct {
	name string
	addr netip.AddrPort
	key  rig.TSIGKey
	log  func() string
}

// servers runs a test against each peer.
func servers(t *testing.T, text string, test func(t *testing.T, s server)) {
	t.Run("BIND", func(t *testing.T) {
		bind, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Primaries: []rig.PrimaryZone{{Zone: "example.org.", Text: text, UpdateKey: rigKey.Name}}})
		rig.SkipMissing(t, err)
		t.Cleanup(func() { bind.Close() })
		test(t, server{"BIND", bind.Addr, rigKey, bind.Log})
	})
	t.Run("Knot", func(t *testing.T) {
		knot, err := rig.StartKnot(t.Context(), rig.KnotConfig{Key: &sha512, Zones: []rig.PrimaryZone{{Zone: "example.org.", Text: text, UpdateKey: sha512.Name}}})
		rig.SkipMissing(t, err)
		t.Cleanup(func() { knot.Close() })
		test(t, server{"Knot", knot.Addr, sha512, knot.Log})
	})
}

func (s server) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Config{Server: s.addr.String(), Key: keyOf(t, s.key), Dial: anywhere})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// records of the zone as the server has it, "www.example.org. 300 A 192.0.2.1", without its own SOA and apex NS.
func (s server) records(t *testing.T) []string {
	t.Helper()
	key := keyOf(t, s.key)
	text, err := transfer.Receive(t.Context(), transfer.Source{Server: s.addr.String(), Zone: zoneName, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
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

func (s server) serial(t *testing.T) string {
	t.Helper()
	out, err := rig.Dig{Server: s.addr}.Run(t.Context(), "+short", "+norecurse", "SOA", "example.org.")
	if f := strings.Fields(out); err == nil && len(f) == 7 {
		return f[2]
	}
	t.Fatal(err, out)
	return ""
}

// foreign is another client that updates.
func (s server) foreign(t *testing.T, commands ...string) {
	t.Helper()
	script := "zone example.org.\nupdate " + strings.Join(commands, "\nupdate ") + "\nsend\n"
	if _, err := rig.Nsupdate(t.Context(), s.addr, &s.key, script); err != nil {
		t.Fatal(err)
	}
}

// set is an RRset from "www 300 A 192.0.2.1 192.0.2.2"; values hold no blanks, but for types written with |.
func set(t *testing.T, text string) delivery.RRset {
	t.Helper()
	f := strings.Fields(text)
	rt, err := rdata.ParseType(f[2])
	if err != nil {
		t.Fatal(err)
	}
	n, err := name.ParseIn(f[0], zoneName)
	if err != nil {
		t.Fatal(err)
	}
	out := delivery.RRset{Name: n, Type: rt}
	fmt.Sscan(f[1], &out.TTL)
	for _, word := range f[3:] {
		v, err := rdata.ParseStored(rt, strings.ReplaceAll(word, "|", " "))
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := v.Resolve(zoneName)
		if err != nil {
			t.Fatal(err)
		}
		out.Data = append(out.Data, resolved)
	}
	return out
}

// version is a zone at a serial.
type version []delivery.RRset

func zone(t *testing.T, texts ...string) version {
	t.Helper()
	var v version
	for _, text := range texts {
		v = append(v, set(t, text))
	}
	slices.SortFunc(v, func(a, b delivery.RRset) int { return a.Key().Compare(b.Key()) })
	return v
}

func (v version) all() iter.Seq[delivery.RRset] { return slices.Values(v) }

// plan of a zone of which nothing is known to have been delivered.
func (v version) plan(at serial.Serial) delivery.Plan {
	soa := delivery.RRset{Name: zoneName, Type: rdata.SOA, TTL: 300, Data: []string{"ns.example.org. host.example.org. " + at.String() + " 1 1 1 1"}}
	return delivery.Plan{Zone: zoneName, UID: "u", Serial: at, SOA: soa, All: v.all(), CallTimeout: 10 * time.Second}
}

// since is the plan that leads from an earlier version.
func (v version) since(before version, from, at serial.Serial) delivery.Plan {
	plan := v.plan(at)
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
		if !same(a, b) {
			plan.Changes = append(plan.Changes, delivery.Change{Before: b, After: a})
		}
	}
	slices.SortFunc(plan.Changes, func(a, b delivery.Change) int { return a.After.Key().Compare(b.After.Key()) })
	return plan
}

// history leads through versions, one serial each.
func history(versions ...version) []dns.Change {
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

func open(context.Context) error { return nil }

func deliver(t *testing.T, p *Provider, plan delivery.Plan) delivery.Report {
	t.Helper()
	report, err := p.Deliver(t.Context(), plan, open)
	if err != nil {
		t.Fatal(err)
	}
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

// has fails the test unless the server's records are these and the name server that it began with.
func (s server) has(t *testing.T, want ...string) {
	t.Helper()
	want = append(want, "ns.example.org. 300 A 192.0.2.1")
	slices.Sort(want)
	if got := s.records(t); !slices.Equal(got, want) {
		t.Fatalf("the server has\n\t%s\nwant\n\t%s\n", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func failedKeys(report delivery.Report) (out []string) {
	for _, f := range report.Failed {
		out = append(out, delivery.RRsetKey{Name: f.Name, Type: f.Type}.String()+" "+string(f.Err.Reason))
	}
	return out
}
