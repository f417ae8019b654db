// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

const soa = "example.org.\t60\tIN\tSOA\tns.example.org. hostmaster.example.org. 5 1 1 1 1\n"

func readZone(t *testing.T, text string) *Zone {
	t.Helper()
	return must.Get(Read(strings.NewReader(text)))(t)
}

// Two copies of a zone are equal in any order of records, with any case and escapes, and with repeated records. Serials
// are compared by RFC 1982, in which they wrap.
func TestZone_againstItselfOtherwiseWritten(t *testing.T) {
	truth := readZone(t, soa+"a.example.org.\t60\tIN\tA\t192.0.2.1\na.example.org.\t60\tIN\tA\t192.0.2.2\nm.example.org.\t60\tIN\tMX\t10 "+
		"a.example.org.\n")
	other := readZone(t, "m.Example.org. 60 MX 10 A.example.org.\na.example.org. 60 A 192.0.2.2\n"+soa+"a.example.org. "+
		"60 A 192.0.2.1\na.example.org. 60 A 192.0.2.1\n")
	if r := truth.compareWith("s", ByTransfer, other); !r.Equal() || r.Serial != 5 {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]State{" 4294967295 ": Behind, " 4 ": Behind, " 6 ": Ahead, " 5 ": Differs} {
		r := truth.compareWith("s", ByTransfer, readZone(t, strings.Replace(soa, " 5 ", text, 1)))
		if r.State != want || len(r.Missing) != 2 || len(r.Differing) != 0 || r.Equal() {
			t.Errorf("serial%s: %+v", text, r)
		}
	}
}

func TestZone_knowsWhoAnswersForAName(t *testing.T) {
	z := readZone(t, soa+"example.org. 60 NS ns.example.net.\ndev.example.org. 60 NS ns.dev.example.org.\ndev.example.org. 60 DS 1 13 2 "+
		strings.Repeat("00", 32)+"\nns.dev.example.org. 60 A 192.0.2.1\nwww.example.org. 60 A 192.0.2.1\n")
	for text, want := range map[string]bool{"example.org. NS": false, "www.example.org. A": false, "dev.example.org. NS": true, "dev.example.org. DS": false, "ns.dev.example.org. A": true} {
		owner, mnemonic, _ := strings.Cut(text, " ")
		kind := must.Get(rdata.ParseType(mnemonic))(t)
		if got := z.delegated(key{name.MustParse(owner), kind}); got != want {
			t.Errorf("%s: delegated %v", text, got)
		}
	}
}

func TestRead_refusesWhatIsNoZone(t *testing.T) {
	for _, text := range []string{"", "www.example.org. 60 A 192.0.2.1\n", soa + soa, soa + "www.example.org. 60 A 192.0.2.300\n"} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}

// If the zone is a guest at a primary of others, that primary's SOA, apex NS and signatures are its own, and no
// difference. All other data are compared, also a DNSKEY that the zone itself contains.
func TestGuest_leavesTheHostItsOwn(t *testing.T) {
	const dnskey = "example.org. 60 DNSKEY 256 3 13 AAAA\n"
	truth := readZone(t, soa+"example.org. 60 NS ns.example.org.\nns.example.org. 60 A 192.0.2.53\nwww.example.org. "+
		"60 A 192.0.2.1\n").Guest()
	host := strings.Replace(soa, " 5 ", " 9 ", 1) + "example.org. 60 NS ns.example.net.\nns.example.org. 60 A 192.0.2.53\nwww.example.org. 60 A 192.0.2.1\nwww.example.org. 60 NSEC example.org. A\n" + dnskey
	if r := truth.compareWith("s", ByTransfer, readZone(t, host)); !r.Equal() || r.Serial != 9 {
		t.Errorf("%+v", r)
	}
	r := truth.compareWith("s", ByTransfer, readZone(t, strings.Replace(host, "192.0.2.1\n", "192.0.2.2\n", 1)+"dev.example.org. "+
		"60 NS ns.example.net.\n"))
	if r.Equal() || len(r.Differing) != 1 || len(r.Foreign) != 1 || r.Foreign[0].Name != "dev.example.org." {
		t.Errorf("%+v", r)
	}
	signs := readZone(t, soa+dnskey).Guest()
	if r := signs.compareWith("s", ByTransfer, readZone(t, soa)); len(r.Missing) != 1 {
		t.Errorf("%+v", r)
	}
}

// A signer gives the zone its own serial and signing records, which are no difference. All else is compared, also the
// other fields of the SOA and the DS of children (S6.14).
func TestSigned_leavesTheSignerItsOwn_S6_14(t *testing.T) {
	const data = "example.org. 60 NS ns.example.net.\nwww.example.org. 60 A 192.0.2.1\nsub.example.org. 60 NS ns.example.net.\nsub.example.org. 60 DS 1 13 2 " + digestText + "\n"
	const made = "example.org. 60 DNSKEY 256 3 13 AAAA\nexample.org. 60 CDS 1 13 2 " + digestText + "\nwww.example.org. 60 RRSIG A 13 3 60 20300101000000 20200101000000 1 example.org. AAAA\nwww.example.org. 60 NSEC example.org. A RRSIG NSEC\n"
	truth := readZone(t, soa+data+"example.org. 60 CDNSKEY 257 3 13 AAAA\n").Signed()
	signed := strings.Replace(soa, " 5 ", " 9 ", 1) + data + made
	if r := truth.compareWith("s", ByTransfer, readZone(t, signed)); !r.Equal() || r.Serial != 9 {
		t.Errorf("%+v", r)
	}
	for _, change := range [][2]string{{"192.0.2.1\n", "192.0.2.2\n"}, {"60 DS 1 ", "60 DS 2 "}, {" 9 ", " 9 1"}} {
		r := truth.compareWith("s", ByTransfer, readZone(t, strings.Replace(signed, change[0], change[1], 1)))
		if r.State != Differs || len(r.Differing) != 1 || len(r.Foreign)+len(r.Missing) != 0 {
			t.Errorf("%q: %+v", change[1], r)
		}
	}
	if r := truth.compareWith("s", ByTransfer, readZone(t, signed+"dev.example.org. 60 A 192.0.2.1\n")); r.State != Differs ||
		len(r.Foreign) != 1 {
		t.Errorf("%+v", r)
	}
}

const digestText = "0000000000000000000000000000000000000000000000000000000000000000"
