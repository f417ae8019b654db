// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package axfr_exact proves: a BIND secondary has exactly the zone's records, in any number of messages, signed or
// not (S5.11, RFC 5936 §2.2, coredns/coredns#7859).
package axfr_exact

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var key = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha512", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

// manyRecords has a little over 20,000 records of many types and sizes, so that messages end at short and long
// records.
func manyRecords() string {
	var b strings.Builder
	b.WriteString("many.example. 300 IN SOA ns.many.example. host.many.example. 2026112000 3600 600 864000 300\n")
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("many.example. 300 IN NS ns.many.example.")
	line("many.example. 300 IN NS ns.elsewhere.example.")
	line("ns.many.example. 300 IN A 192.0.2.1")
	line("*.many.example. 60 IN TXT \"wild\"")
	line(`odd.many.example. 60 IN TXT "\"quoted\" \\ \009 \255;" "" "two  spaces"`)
	line(`odd.many.example. 60 IN MX 10 a\.b\032c.many.example.`)
	line("deep.%smany.example. 60 IN AAAA 2001:db8::1", strings.Repeat("a.", 100))
	line("unknown.many.example. 60 IN TYPE65400 \\# 4 0A0B0C0D")
	line("unknown.many.example. 60 IN TYPE65401 \\# 0")
	for i := range 2500 {
		h := fmt.Sprintf("h%d.many.example.", i)
		line("%s %d IN A 10.0.%d.%d", h, i, i>>8, i&255)
		line("%s 300 IN AAAA 2001:db8::%x", h, i+1)
		line("%s 300 IN MX %d mail%d.many.example.", h, i%65536, i%7)
		line("%s 300 IN TXT \"%s\"", h, strings.Repeat(string(rune('a'+i%26)), i*13%255))
		line("_s._tcp.%s 300 IN SRV 1 2 %d %s", h, i, h)
		line("c%d.many.example. 300 IN CNAME %s", i, h)
		line("d%d.many.example. 300 IN NS ns%d.elsewhere.example.", i, i)
		line("d%d.many.example. 300 IN DS %d 13 2 %064x", i, i, i)
	}
	return b.String()
}

func rootZone(t *testing.T) string {
	text := must.Get(os.ReadFile("../../testdata/root-2018031200.zone"))(t)
	return string(text)
}

func TestBINDHoldsExactlyTheZone(t *testing.T) {
	root := rootZone(t)
	zones := []struct {
		name, text string
		serial     uint32
		records    int // beside the SOA
	}{
		{"many.example.", manyRecords(), 2026112000, 20009},
		{".", root, 2018031200, 18051},
	}
	for _, signed := range []bool{false, true} {
		t.Run(fmt.Sprintf("signed=%v", signed), func(t *testing.T) {
			ctx := subject.Within(t, 2*time.Minute)
			var c primary.Config
			var keyName string
			if signed {
				c.Keys, keyName = subject.Keys(t, key.Statement()), key.Name
			}
			serving := subject.Start(t, c)
			bindConfig := rig.BINDConfig{Keys: []rig.TSIGKey{key}}
			for _, z := range zones {
				serving.Put(subject.Zone(t, z.text), true)
				bindConfig.Secondaries = append(bindConfig.Secondaries, rig.SecondaryZone{Zone: z.name, Primary: serving.Addr, Key: keyName})
			}
			bind := rig.NeedServer(rig.StartBIND(ctx, bindConfig))(t)
			for _, z := range zones {
				must.Succeed(t, bind.WaitSerial(ctx, z.name, z.serial))
				got := must.Get(bind.Transfer(ctx, z.name))(t)
				want := must.Get(rig.Canonical(ctx, z.name, z.text))(t)
				if len(want) != z.records+1 {
					t.Fatalf("zone %s: the original has %d records, %d were meant", z.name, len(want), z.records+1)
				}
				subject.SameRecords(t, got, want)
			}
		})
	}
}

// dig reads a transfer by AXFR: the stream begins and ends with the same SOA, and has exactly the zone's records in
// between.
func TestDigReadsTheStream(t *testing.T) {
	ctx := subject.Within(t, time.Minute)
	text := manyRecords()
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, text))
	out := rig.Need(rig.Dig{Server: serving.Addr}.Run(ctx, "+tcp", "+nocomments", "+nocmd", "+nostats", "AXFR", "many.example."))(t)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if first, last := lines[0], lines[len(lines)-1]; first != last || !strings.Contains(first, "\tSOA\t") {
		t.Errorf("the stream begins with %q and ends with %q", first, last)
	}
	got := must.Get(rig.Canonical(ctx, "many.example.", strings.Join(lines[1:], "\n")))(t)
	want := must.Get(rig.Canonical(ctx, "many.example.", text))(t)
	subject.SameRecords(t, got, want)
}
