// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestReverseIn(t *testing.T) {
	for _, c := range []struct{ address, zone, owner string }{
		{"192.0.2.7", "2.0.192.in-addr.arpa.", "7"},
		{"192.0.2.7", "0.192.in-addr.arpa.", "7.2"},
		{"192.0.2.7", "7.2.0.192.in-addr.arpa.", "@"},
		{"192.0.2.7", "in-addr.arpa.", "7.2.0.192"},
		{"192.0.3.7", "2.0.192.in-addr.arpa.", ""},
		{"192.0.2.7", "0/28.2.0.192.in-addr.arpa.", "7"},
		{"192.0.2.15", "0/28.2.0.192.in-addr.arpa.", "15"},
		{"192.0.2.16", "0/28.2.0.192.in-addr.arpa.", ""},
		{"192.0.2.16", "16/28.2.0.192.in-addr.arpa.", "16"},
		{"192.0.2.16", "8/28.2.0.192.in-addr.arpa.", ""}, // no network begins at 8
		{"192.0.2.7", "0-15.2.0.192.in-addr.arpa.", "7"},
		{"192.0.2.16", "0-15.2.0.192.in-addr.arpa.", ""},
		{"192.0.2.7", "15-0.2.0.192.in-addr.arpa.", ""},
		{"192.0.3.7", "0/28.2.0.192.in-addr.arpa.", ""},
		{"192.0.2.7", "00/28.2.0.192.in-addr.arpa.", ""},
		{"192.0.2.7", "0/24.2.0.192.in-addr.arpa.", ""},
		{"192.0.2.255", "255/32.2.0.192.in-addr.arpa.", "255"},
		{"2001:db8::7", "8.b.d.0.1.0.0.2.ip6.arpa.", "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0"},
		{"2001:db8::7", "9.b.d.0.1.0.0.2.ip6.arpa.", ""},
		{"192.0.2.7", "example.org.", ""},
	} {
		owner, ok := ReverseIn(ReverseAddr(netip.MustParseAddr(c.address)), MustParse(c.zone))
		if ok != (c.owner != "") || ok && owner.String() != c.owner {
			t.Errorf("%s in %s: %q %t, want %q", c.address, c.zone, owner, ok, c.owner)
		}
	}
}

func TestIsReverse(t *testing.T) {
	for zone, want := range map[string]bool{
		"in-addr.arpa.": true, "2.0.192.in-addr.arpa.": true, "7.2.0.192.in-addr.arpa.": true, "0/28.2.0.192.in-addr.arpa.": true,
		"0-15.2.0.192.in-addr.arpa.": true, "8.b.d.0.1.0.0.2.ip6.arpa.": true, "ip6.arpa.": true,
		"example.org.": false, "arpa.": false, "in-addr.example.": false, "256.in-addr.arpa.": false, "07.in-addr.arpa.": false,
		"1.7.2.0.192.in-addr.arpa.": false, "g.ip6.arpa.": false, "10.ip6.arpa.": false, "sub.2.0.192.in-addr.arpa.": false,
	} {
		if got := IsReverse(MustParse(zone)); got != want {
			t.Errorf("%s: %t, want %t", zone, got, want)
		}
	}
}

// An owner in a zone by whole labels is the reverse name itself, and a zone that has an owner is a reverse zone.
func TestReverseIn_twin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		bits := rapid.IntRange(0, 32).Draw(t, "bits")
		other, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "other"))
		prefix, _ := address.Prefix(bits - bits%8)
		zone := Reverse(prefix)
		owner, ok := ReverseIn(ReverseAddr(other), zone)
		if ok != prefix.Contains(other) || !IsReverse(zone) {
			t.Fatalf("%s in %s: %t", other, zone, ok)
		}
		if at, err := owner.In(zone); ok && (err != nil || at != ReverseAddr(other)) {
			t.Fatalf("%s in %s: %s", other, zone, at)
		}
	})
}
