// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tsig_required proves: if a key is required, no zone data leaves without that key, and a real client with a
// wrong key, a wrong secret or no key gets the answers of RFC 8945 §5.2.
package tsig_required

import (
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const zone = `example.org. 300 IN SOA ns.example.org. host.example.org. 7 86400 7200 3600000 300
example.org. 300 IN NS ns.example.org.
ns.example.org. 300 IN A 192.0.2.1
`

var (
	key         = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	wrongSecret = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YW5vdGhlciBzZWNyZXQsIGFzIGxvbmcgYXMgdGhpcyE="}
	unknown     = rig.TSIGKey{Name: "unknown.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	algorithm   = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha512", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	md5         = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-md5", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)

func TestDigGetsTheReason(t *testing.T) {
	serving := subject.Start(t, primary.Config{Keys: subject.Keys(t, key.Statement())}, subject.Zone(t, zone))
	for _, c := range []struct {
		what string
		key  *rig.TSIGKey
		want string // in dig's output
	}{
		{"the key", &key, "status: NOERROR"},
		{"no key", nil, "status: REFUSED"},
		{"wrong secret", &wrongSecret, "BADSIG"},
		{"unknown key", &unknown, "BADKEY"},
		{"another algorithm", &algorithm, "BADKEY"},
		{"MD5", &md5, "BADKEY"},
	} {
		for _, transport := range []string{"+tcp", "+notcp"} {
			out, err := rig.Dig{Server: serving.Addr, Key: c.key}.Run(subject.Within(t, 20*time.Second), transport, "+tries=1", "SOA", "example.org.")
			rig.SkipMissing(t, err)
			if !strings.Contains(out, c.want) {
				t.Errorf("%s, %s: no %q in\n%s", c.what, transport, c.want, out)
			}
			if given := strings.Contains(out, "ns.example.org. host.example.org."); given != (c.key == &key) {
				t.Errorf("%s, %s: SOA given: %v\n%s", c.what, transport, given, out)
			}
		}
		out, err := rig.Dig{Server: serving.Addr, Key: c.key}.Run(subject.Within(t, 20*time.Second), "+tcp", "AXFR", "example.org.")
		if given := strings.Contains(out, "192.0.2.1"); given != (c.key == &key) {
			t.Errorf("%s: zone given: %v, %v\n%s", c.what, given, err, out)
		}
	}
}

// A BIND with another secret for the key of a zone is refused and never gets the zone. A BIND with the right secret
// gets it.
func TestBINDWithTheWrongSecretGetsNothing(t *testing.T) {
	ctx := subject.Within(t, time.Minute)
	serving := subject.Start(t, primary.Config{Keys: subject.Keys(t, key.Statement())}, subject.Zone(t, zone))
	start := func(k rig.TSIGKey) *rig.BIND {
		bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{
			Keys:        []rig.TSIGKey{k},
			Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: serving.Addr, Key: k.Name}},
		}))(t)
		return bind
	}
	wrong, right := start(wrongSecret), start(key)
	must.Succeed(t, right.WaitSerial(ctx, "example.org.", 7))
	// Only after a logged refusal does the missing zone count.
	for !strings.Contains(wrong.Log(), "NOTAUTH") && !strings.Contains(wrong.Log(), "BADSIG") && !strings.Contains(wrong.Log(), "tsig indicates error") {
		select {
		case <-ctx.Done():
			t.Fatalf("BIND with the wrong secret does not say that it was refused:\n%s", wrong.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if serial, ok, err := wrong.Serial(ctx, "example.org."); ok || err != nil {
		t.Errorf("it has serial %d, %v", serial, err)
	}
}
