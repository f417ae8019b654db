// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package every_type proves: whatever type a Record may have, a BIND secondary holds the
// octets that our zone file says, and loads the zone (S5.3, S5.7).
package every_type

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/rig"
)

const zone = "types.example."

// samples are the values that the tests of rdata go by, each at a name of its own, and all
// values of a type that may stand together at one more.
func samples(t *testing.T) (sets []content.RRset) {
	t.Helper()
	text, err := os.ReadFile("../../../pkg/dns/rdata/testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[rdata.Type][]string{}
	for number, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		mnemonic, data, ok := strings.Cut(line, "\t")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		rt, err := rdata.ParseType(mnemonic)
		if err != nil {
			t.Fatal(err)
		}
		if rt.CheckRecord() != nil {
			continue
		}
		value, err := rdata.Parse(rt, data)
		if err != nil {
			t.Fatal(err)
		}
		owner := name.MustRel(fmt.Sprintf("n%d", number+1))
		sets = append(sets, content.RRset{Owner: owner, Type: rt, TTL: content.ExplicitTTL(uint32(number)), Data: []string{value.Text}})
		if !slices.Contains(all[rt], value.Text) {
			all[rt] = append(all[rt], value.Text)
		}
	}
	for rt, data := range all {
		if rt == rdata.CNAME || rt == rdata.DNAME {
			continue // one each (S5.5)
		}
		slices.Sort(data)
		sets = append(sets, content.RRset{Owner: name.MustRel(fmt.Sprintf("all.t%d", rt)), Type: rt, TTL: content.InheritTTL(), Data: data})
	}
	slices.SortFunc(sets, content.RRset.Compare)
	return sets
}

func TestBINDHoldsEveryTypeAsWritten(t *testing.T) {
	ctx := subject.Within(t, time.Minute)
	header := content.Header{
		FQDN: name.MustParse(zone), TTL: 300, Refresh: 3600, Retry: 600, Expire: 86400, NegativeResponseCache: 60,
		NameServers: []content.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53", "2001:db8::53"}}, {Name: "ns.elsewhere.example."}},
	}
	sets := samples(t)
	if len(sets) < 150 {
		t.Fatalf("only %d RRsets", len(sets))
	}
	snapshot := zoneview.NewSnapshot(zoneview.Zone{UID: zone, Namespace: "default", Name: "types"}, header, 2026112001, 1, sethash.State{}, slices.Values(sets))
	if err := snapshot.Check(); err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	written, err := zonefile.Write(&file, snapshot.Entries())
	if err != nil {
		t.Fatal(err)
	}
	want, err := rig.Canonical(ctx, zone, file.String())
	rig.SkipMissing(t, err)
	if len(want) != written {
		t.Fatalf("%d entries written, named-compilezone reads %d", written, len(want))
	}
	serving := subject.Start(t, primary.Config{}, snapshot)
	bind, err := rig.StartBIND(ctx, rig.BINDConfig{Secondaries: []rig.SecondaryZone{{Zone: zone, Primary: serving.Addr}}})
	rig.SkipMissing(t, err)
	defer bind.Close()
	if err := bind.WaitSerial(ctx, zone, 2026112001); err != nil {
		t.Fatalf("%v\n%s", err, bind.Log())
	}
	got, err := bind.Transfer(ctx, zone)
	if err != nil {
		t.Fatal(err)
	}
	subject.SameRecords(t, got, want)
}
