// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

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
	for _, z := range []struct {
		name, text string
		serial     uint32
		records    int // beside the SOA
		signed     bool
	}{
		{"many.example.", manyRecords(), 2026112000, 20009, true},
		{".", rootZone(t), 2018031200, 18051, false},
	} {
		t.Run(z.name, func(t *testing.T) {
			ctx := rig.Within(t, 2*time.Minute)
			var c primary.Config
			var keyName string
			if z.signed {
				c.Keys, keyName = subject.Keys(t, sha512Key.Statement()), sha512Key.Name
			}
			serving := subject.Start(t, c, subject.Zone(t, z.text))
			bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{sha512Key},
				Secondaries: []rig.SecondaryZone{{Zone: z.name, Primary: serving.Addr, Key: keyName}}}))(t)
			must.Succeed(t, bind.WaitSerial(ctx, z.name, z.serial))
			got := must.Get(bind.Transfer(ctx, z.name))(t)
			want := must.Get(rig.Canonical(ctx, z.name, z.text))(t)
			if len(want) != z.records+1 {
				t.Fatalf("the original has %d records, %d were meant", len(want), z.records+1)
			}
			subject.SameRecords(t, got, want)
		})
	}
}

const apex = "example.org."

var (
	key       = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	sha512Key = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha512", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)
