// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

var Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/16")}

// FreeAddress is a free port of loopback.
var FreeAddress = netip.MustParseAddrPort("127.0.0.1:0")

// Zone makes a zone of the default view. Its name is the uid: new text replaces the old zone in a Set.
func Zone(t testing.TB, text string) *zoneview.Snapshot {
	t.Helper()
	header, s, sets, err := parseZone(text)
	if err != nil {
		t.Fatal(err)
	}
	var elements []sethash.Element
	for _, set := range sets {
		elements = set.Elements(elements)
	}
	state := must.Get(sethash.State{}.Update(nil, elements))(t)
	z := zoneview.Zone{UID: header.FQDN.String(), Namespace: "default", Name: "zone"}
	snapshot := zoneview.NewSnapshot(z, header, s, uint64(s), state, slices.Values(sets))
	must.Succeed(t, snapshot.Prove())
	return snapshot
}

func parseZone(text string) (header content.Header, s serial.Serial, sets []content.RRset, err error) {
	type key struct {
		owner name.Name
		rtype rdata.Type
	}
	at := map[key]int{}
	var all []zonefile.RR
	for rr, err := range zonefile.Read(strings.NewReader(text), zonefile.ReadOptions{}) {
		if err != nil {
			return header, 0, nil, err
		}
		if rr.Type != rdata.SOA {
			all = append(all, rr)
			continue
		}
		if header, s, err = readSOA(rr); err != nil {
			return header, 0, nil, err
		}
	}
	for _, rr := range all {
		owner, ok := rr.Name.Rel(header.FQDN)
		if !ok {
			return header, 0, nil, fmt.Errorf("line %d: %s is not in %s", rr.Line, rr.Name, header.FQDN)
		}
		k := key{rr.Name, rr.Type}
		i, ok := at[k]
		if !ok {
			i = len(sets)
			at[k] = i
			sets = append(sets, content.RRset{Owner: owner, Type: rr.Type, TTL: content.ExplicitTTL(rr.TTL)})
		}
		sets[i].Data = append(sets[i].Data, rr.Data)
	}
	for _, set := range sets {
		slices.Sort(set.Data)
	}
	slices.SortFunc(sets, func(a, b content.RRset) int { return a.Compare(b) })
	return header, s, sets, nil
}

func readSOA(rr zonefile.RR) (content.Header, serial.Serial, error) {
	f := strings.Fields(rr.Data)
	var n [5]uint32
	for i := range n {
		v, err := strconv.ParseUint(f[2+i], 10, 32)
		if err != nil {
			return content.Header{}, 0, err
		}
		n[i] = uint32(v)
	}
	return content.Header{
		FQDN: rr.Name, TTL: rr.TTL, PrimaryNameServer: f[0], Contact: f[1],
		Refresh: n[1], Retry: n[2], Expire: n[3], NegativeResponseCache: n[4],
	}, serial.Serial(n[0]), nil
}

// Step gives new RRsets a TTL of 300 s.
func Step(t testing.TB, z *zoneview.Snapshot, removed, added []content.Row) content.Step {
	t.Helper()
	type key struct {
		owner name.Rel
		rtype rdata.Type
	}
	before, after := map[key]int{}, map[key]int{}
	for _, row := range slices.Concat(removed, added) {
		k := key{row.Owner, row.Type}
		if _, ok := before[k]; !ok {
			set, _ := z.RRset(row.Owner, row.Type)
			before[k], after[k] = len(set.Data), len(set.Data)
		}
	}
	for _, row := range removed {
		after[key{row.Owner, row.Type}]--
	}
	for _, row := range added {
		after[key{row.Owner, row.Type}]++
	}
	step := content.Step{N: z.N() + 1, From: z.Serial(), Serial: z.Serial().Next(), Removed: removed, Added: added}
	explicit := content.ExplicitTTL(300)
	for k, had := range before {
		change := content.TTLChange{Owner: k.owner, Type: k.rtype}
		switch {
		case had == 0 && after[k] > 0:
			change.After = &explicit
		case had > 0 && after[k] == 0:
			set, _ := z.RRset(k.owner, k.rtype)
			change.Before = &set.TTL
		default:
			continue
		}
		step.TTLs = append(step.TTLs, change)
	}
	out, in := step.Elements()

	step.State = must.Get(z.State().Update(out, in))(t)
	return step
}

type Serving struct {
	*zoneview.Set
	Primary *primary.Primary
	Addr    netip.AddrPort
	Stop    func()
}

// Start serves zones until the test ends. Loopback may transfer.
func Start(t testing.TB, c primary.Config, zones ...*zoneview.Snapshot) Serving {
	t.Helper()
	c.Views = []string{""}
	c.Allow = primary.Rules(Loopback, c.Keys)
	return StartClasses(t, c, zones...)
}

// StartClasses is Start for peers from classes, and keeps a configured address.
func StartClasses(t testing.TB, c primary.Config, zones ...*zoneview.Snapshot) Serving {
	t.Helper()
	set := zoneview.NewSet(zoneview.Config{})
	for _, z := range zones {
		set.Put(z, true)
	}
	c.Zones = set
	if !c.Listen.IsValid() {
		c.Listen = netip.MustParseAddrPort("127.0.0.1:0")
	}
	p := must.Get(primary.New(c))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return Serving{Set: set, Primary: p, Addr: p.Addr(), Stop: stop}
}

func Keys(t testing.TB, text string) []tsig.Key {
	t.Helper()
	keys := must.Get(tsig.ParseKeys(text))(t)
	return keys
}

func SameRecords(t testing.TB, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if c := cmp.Compare(got[i], want[i]); c < 0 {
			t.Fatalf("one too many: %s", got[i])
		} else if c > 0 {
			t.Fatalf("missing: %s", want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
}
