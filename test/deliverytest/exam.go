// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
)

type exam struct {
	*testing.T
	Subject
	provider delivery.Provider
	can      delivery.Abilities
}

// anyNS may be the provider's apex name server; foreignNS is for a provider with its own.
const (
	anyNS     = "ns1.provider.example."
	foreignNS = "ns1.elsewhere.example."
)

type content struct {
	zone   name.Name
	serial serial.Serial
	sets   []delivery.RRset
}

func (e *exam) makeContent(zone name.Name, s serial.Serial, sets ...delivery.RRset) content {
	ns := delivery.RRset{Name: zone, Type: rdata.NS, TTL: 3600, Data: []string{anyNS}}
	if e.can.OwnApexNS {
		ns.Data = []string{foreignNS}
	}
	all := append([]delivery.RRset{ns}, sets...)
	slices.SortFunc(all, func(one, other delivery.RRset) int { return one.Key().Compare(other.Key()) })
	return content{zone, s, all}
}

func (e *exam) makeRRset(zone name.Name, owner string, t rdata.Type, data ...string) delivery.RRset {
	e.Helper()
	n := must.Get(name.ParseIn(owner, zone))(e)
	return delivery.RRset{Name: n, Type: t, TTL: 300, Data: data}
}

func removeSets(c content, s serial.Serial, keys ...delivery.RRsetKey) content {
	left := slices.DeleteFunc(slices.Clone(c.sets), func(set delivery.RRset) bool { return slices.Contains(keys, set.Key()) })
	return content{c.zone, s, left}
}

func (c content) findRRset(key delivery.RRsetKey) delivery.RRset {
	for _, set := range c.sets {
		if set.Key() == key {
			return set
		}
	}
	return delivery.RRset{Name: key.Name, Type: key.Type}
}

func makePlan(before *content, after content) delivery.Plan {
	p := delivery.Plan{
		Zone: after.zone, UID: "uid-of-" + after.zone.String(), Serial: after.serial, Hash: fmt.Sprintf("%x", uint32(after.serial)),
		SOA: delivery.RRset{Name: after.zone, Type: rdata.SOA, TTL: 3600, Data: []string{fmt.Sprintf("ns1.provider.example. hostmaster.%s %d 86400 7200 3600000 360", after.zone, after.serial)}},
		All: slices.Values(after.sets), CallTimeout: 7 * time.Second,
	}
	if before == nil {
		return p
	}
	p.Since, p.Delivered, p.Changes, p.Unconfirmed = before.serial, true, []delivery.Change{}, []delivery.RRsetKey{}
	p.History = makeHistory(*before, after)
	seen := map[delivery.RRsetKey]bool{}
	for _, set := range slices.Concat(before.sets, after.sets) {
		key := set.Key()
		if was, is := before.findRRset(key), after.findRRset(key); !seen[key] && !equalRRsets(was, is) {
			p.Changes = append(p.Changes, delivery.Change{Before: was, After: is})
		}
		seen[key] = true
	}
	slices.SortFunc(p.Changes, func(one, other delivery.Change) int { return one.After.Key().Compare(other.After.Key()) })
	return p
}

func makeHistory(contents ...content) []dns.Change {
	steps := []dns.Change{}
	entries := func(set delivery.RRset) (all []dns.Entry) {
		for _, data := range set.Data {
			all = append(all, dns.Entry{Name: set.Name, Type: set.Type, TTL: set.TTL, Data: data})
		}
		return all
	}
	for at := 1; at < len(contents); at++ {
		before, after := contents[at-1], contents[at]
		step := dns.Change{From: before.serial, To: after.serial}
		for _, set := range before.sets {
			if !equalRRsets(set, after.findRRset(set.Key())) {
				step.Removed = append(step.Removed, entries(set)...)
			}
		}
		for _, set := range after.sets {
			if !equalRRsets(set, before.findRRset(set.Key())) {
				step.Added = append(step.Added, entries(set)...)
			}
		}
		steps = append(steps, step)
	}
	return steps
}

func markPending(p *delivery.Plan) {
	p.Uncertain, p.Unconfirmed = true, nil
	for _, change := range p.Changes {
		p.Unconfirmed = append(p.Unconfirmed, change.After.Key())
	}
}

func openFence(context.Context) error { return nil }

func (e *exam) deliverPlan(provider delivery.Provider, p delivery.Plan) delivery.Report {
	e.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	for {
		if e.Offer != nil {
			e.Offer(e.T, p)
		}
		report, err := provider.Deliver(ctx, p, openFence)
		if err != nil {
			e.Fatalf("Deliver %s at %d: %v", p.Zone, p.Serial, err)
		}
		if report.Confirmed == p.Serial {
			return report
		}
		select {
		case <-ctx.Done():
			e.Fatalf("Deliver %s at %d: %d is confirmed after %s: %+v", p.Zone, p.Serial, report.Confirmed, e.Timeout, report.Servers)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// expectContent compares the server's content with want; gone must be absent.
func (e *exam) expectContent(want content, gone ...delivery.RRset) {
	e.Helper()
	existing := map[delivery.RRsetKey]delivery.RRset{}
	for _, set := range e.Inspect(e.T, want.zone) {
		if old, twice := existing[set.Key()]; twice {
			e.Errorf("%s is there twice: %v and %v", set.Key(), old, set)
		}
		existing[set.Key()] = set
	}
	for _, set := range want.sets {
		if e.Unsupported != nil && e.Unsupported(set) {
			continue
		}
		got, there := existing[set.Key()]
		if e.can.OwnApexNS && set.Type == rdata.NS && set.Name == want.zone {
			if there && equalRRsets(e.writeCanonically(got), e.writeCanonically(set)) {
				e.Errorf("%s is that of the zone, and the provider has its own", set.Key())
			}
		} else if !there {
			e.Errorf("%s is missing; the zone has %q", set.Key(), set.Data)
		} else if !equalRRsets(e.writeCanonically(got), e.writeCanonically(set)) {
			e.Errorf("%s: server has ttl %d %q, the zone ttl %d %q", set.Key(), got.TTL, got.Data, set.TTL, set.Data)
		}
	}
	for _, set := range gone {
		if got, there := existing[set.Key()]; there {
			e.Errorf("%s is still there: %q", set.Key(), got.Data)
		}
	}
}

func (e *exam) writeCanonically(set delivery.RRset) delivery.RRset {
	data := make([]string, len(set.Data))
	for i, text := range set.Data {
		value, err := rdata.Parse(set.Type, text)
		if err != nil {
			e.Errorf("%s: %q does not parse: %v", set.Key(), text, err)
			return set
		}
		data[i] = value.Text
	}
	set.Data = data
	return set
}

// ReadRRsets parses a master file or dig's output of a transfer.
func ReadRRsets(t *testing.T, text io.Reader, origin name.Name) (sets []delivery.RRset) {
	t.Helper()
	at := map[delivery.RRsetKey]int{}
	for rr, err := range zonefile.Read(text, zonefile.ReadOptions{Origin: origin}) {
		if err != nil && strings.Contains(err.Error(), "TSIG") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		key := delivery.RRsetKey{Name: rr.Name, Type: rr.Type}
		i, there := at[key]
		if !there {
			i = len(sets)
			at[key], sets = i, append(sets, delivery.RRset{Name: rr.Name, Type: rr.Type, TTL: rr.TTL})
		}
		sets[i].Data = append(sets[i].Data, rr.Data)
	}
	return sets
}
