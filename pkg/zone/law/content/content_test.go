// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
	"pgregory.net/rapid"
)

// makeHeader returns example.org. with the defaults of S6.5.
func makeHeader() Header {
	return Header{FQDN: name.MustParse("example.org."), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
}

// parseSets reads lines "owner ttl type data" into RRsets in canonical order.
func parseSets(t rapid.TB, lines ...string) []RRset {
	t.Helper()
	var sets []RRset
	for _, line := range lines {
		fields := strings.SplitN(line, " ", 4)
		owner := name.MustRel(fields[0])
		ttl, err := ParseTTL(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		typ, err := rdata.ParseType(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		value, err := rdata.Parse(typ, fields[3])
		if err != nil {
			t.Fatal(err)
		}
		set := RRset{Owner: owner, Type: typ, TTL: ttl, Data: []string{value.Text}}
		if i := slices.IndexFunc(sets, func(other RRset) bool { return other.Compare(set) == 0 }); i >= 0 {
			sets[i] = sets[i].Merge(set)
		} else {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, RRset.Compare)
	return sets
}

func showEntries(entries []dns.Entry) string {
	var lines []string
	for _, entry := range entries {
		lines = append(lines, strings.ReplaceAll(entry.String(), "\t", " "))
	}
	return strings.Join(lines, "\n")
}

func equalLines(t *testing.T, got string, want ...string) {
	t.Helper()
	if got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestSOA_S6_5(t *testing.T) {
	const tail = " 7 86400 7200 3600000 360"
	for _, row := range []struct {
		what    string
		change  func(*Header)
		firstNS string
		want    string
	}{
		{"nothing given", func(*Header) {}, "", "ns.example.org. hostmaster.example.org."},
		{"first apex NS", func(*Header) {}, "a.example.net.", "a.example.net. hostmaster.example.org."},
		{"first of nameServers", func(h *Header) { h.NameServers = []NameServer{{Name: "NS2"}, {Name: "ns1"}} }, "a.example.net.", "ns2.example.org. hostmaster.example.org."},
		{"primaryNameServer", func(h *Header) {
			h.PrimaryNameServer, h.NameServers = "hidden.example.com.", []NameServer{{Name: "ns1"}}
		}, "a.example.net.", "hidden.example.com. hostmaster.example.org."},
		{"relative primaryNameServer", func(h *Header) { h.PrimaryNameServer = "hidden" }, "", "hidden.example.org. hostmaster.example.org."},
		{"mail", func(h *Header) { h.Contact = "dns@example.com" }, "", "ns.example.org. dns.example.com."},
		{"mail, dots in the local part", func(h *Header) { h.Contact = "John.Q.Doe@Example.com" }, "", `ns.example.org. john\.q\.doe.example.com.`},
		{"mail, IDN", func(h *Header) { h.Contact = "dns@bücher.example" }, "", "ns.example.org. dns.xn--bcher-kva.example."},
		{"mail, plus", func(h *Header) { h.Contact = "dns+zone@example.com" }, "", "ns.example.org. dns+zone.example.com."},
		{"name, absolute", func(h *Header) { h.Contact = `john\.doe.example.com.` }, "", `ns.example.org. john\.doe.example.com.`},
		{"name, relative", func(h *Header) { h.Contact = "dnsadmin" }, "", "ns.example.org. dnsadmin.example.org."},
		{"below no host name", func(h *Header) { h.FQDN = name.MustParse("0/25.2.0.192.in-addr.arpa.") }, "", "ns.0/25.2.0.192.in-addr.arpa. hostmaster.2.0.192.in-addr.arpa."},
		{"of no host name", func(h *Header) { h.FQDN = name.MustParse("_a._b.") }, "", "ns._a._b. hostmaster."},
		{"unusable contact", func(h *Header) { h.Contact = "a b" }, "", "ns.example.org. hostmaster.example.org."},
	} {
		t.Run(row.what, func(t *testing.T) {
			h := makeHeader()
			row.change(&h)
			got := h.SOA(7, row.firstNS)
			want := dns.Entry{Name: h.FQDN, Type: rdata.SOA, TTL: 360, Data: row.want + tail}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if _, err := rdata.Parse(rdata.SOA, got.Data); err != nil {
				t.Errorf("not an SOA: %v", err)
			}
		})
	}
	for text, want := range map[string]bool{
		".": true, "hostmaster.": true, "a.example.": true, `john\.doe+x!.example.`: true, `a\033b.example.`: true, "a_b.example.": true,
		"a._b.example.": false, `a\.b.c\.d.example.`: false, `a\032b.example.`: false, `a\200.example.`: false, "a": false, "": false, "a.-b.": false,
	} {
		if IsMailbox(text) != want {
			t.Errorf("S5.11: IsMailbox(%q) is %t", text, !want)
		}
	}
	h := makeHeader()
	h.FQDN, h.TTL, h.NegativeResponseCache = name.Root, 1000, 5
	if got, want := h.SOA(1, "").String(), ".\t1000\tIN\tSOA\tns. hostmaster. 1 86400 7200 3600000 5"; got != want {
		t.Errorf("root: %q, want %q", got, want)
	}
}

func TestContactName_refusals(t *testing.T) {
	for _, text := range []string{"@example.org", `"a b"@example.org`, "a@b@", "a@", "a b", "a@b c", strings.Repeat("a", 64) + "@example.org"} {
		if got, err := ContactName(text, makeHeader().FQDN); err == nil {
			t.Errorf("%q became %s", text, got)
		}
	}
}

// A mail address as contact becomes a name in the SOA: the part before the @ is a single label in front of the domain,
// even if it contains dots or other special characters.
func TestContactName_isOneLabelAndTheDomain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		local := rapid.StringMatching(`[!-~]{1,20}`).Filter(func(s string) bool { return !strings.ContainsAny(s, "\"\\") }).Draw(t, "local")
		rname, err := ContactName(local+"@example.com", makeHeader().FQDN)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := rdata.Value{Type: rdata.NS, Text: rname}.Pack(name.Root)
		if err != nil {
			t.Fatal(err)
		}
		want := string(rune(len(local))) + strings.ToLower(local) + "\x07example\x03com\x00"
		if string(wire) != want {
			t.Fatalf("%q became %s, on the wire %q, want %q", local, rname, wire, want)
		}
	})
}

func TestNameServerRRsets_S6_2(t *testing.T) {
	h := makeHeader()
	h.NameServers = []NameServer{
		{Name: "ns2", Addresses: []string{"192.0.2.2", "2001:DB8::2"}},
		{Name: "NS1.Example.ORG.", Addresses: []string{"192.0.2.1"}},
		{Name: "ns.example.net.", Addresses: []string{"192.0.2.99"}}, // outside the zone: no glue
		{Name: "@", Addresses: []string{"192.0.2.3"}},
		{Name: "ns2", Addresses: []string{"192.0.2.4", "192.0.2.2"}},
		{Name: "not a name", Addresses: []string{"192.0.2.5"}},
		{Name: "ns3", Addresses: []string{"nonsense"}},
	}
	var got []string
	for _, set := range h.NameServerRRsets() {
		got = append(got, fmt.Sprint(set.Owner, " ", set.TTL, " ", set.Type, " ", set.Data))
	}
	equalLines(t, strings.Join(got, "\n"),
		"@ inherit A [192.0.2.3]",
		"@ inherit NS [@ ns.example.net. ns1.example.org. ns2 ns3]",
		"ns1 inherit A [192.0.2.1]",
		"ns2 inherit A [192.0.2.2 192.0.2.4]",
		"ns2 inherit AAAA [2001:db8::2]",
	)
	if got := EntryCount(h.NameServerRRsets(), 5); got != 1+5+10 {
		t.Errorf("EntryCount %d, want 16", got)
	}
}

func TestTTL_S5_2(t *testing.T) {
	inherit, n300, n60 := InheritTTL(), ExplicitTTL(300), ExplicitTTL(60)
	for _, row := range []struct {
		ttl         TTL
		text        string
		at360, at30 uint32
	}{
		{inherit, "inherit", 360, 30},
		{n300, "300", 300, 300},
		{n300.Merge(n60), "60", 60, 60},
		{n300.Merge(inherit), "min(inherit,300)", 300, 30},
		{inherit.Merge(n60).Merge(n300), "min(inherit,60)", 60, 30},
		{ExplicitTTL(0).Merge(inherit), "min(inherit,0)", 0, 0},
	} {
		if row.ttl.String() != row.text || row.ttl.Resolve(360) != row.at360 || row.ttl.Resolve(30) != row.at30 {
			t.Errorf("%s: %d under 360, %d under 30; want %s, %d, %d", row.ttl, row.ttl.Resolve(360), row.ttl.Resolve(30), row.text, row.at360, row.at30)
		}
	}
	for _, text := range []string{"", "none", "-1", "+1", "01", "2147483648", "1h", "min(inherit)", "min(inherit,)", "min(inherit,1", "min(inherit,01)", "Inherit", " 1"} {
		if ttl, err := ParseTTL(text); err == nil {
			t.Errorf("%q was read as %s", text, ttl)
		}
	}
	if _, err := json.Marshal(TTL{}); err == nil {
		t.Error("the TTL of no RRset has a text form")
	}
}

var (
	ttls = rapid.Custom(func(t *rapid.T) TTL {
		ttl := TTL{}
		if rapid.Bool().Draw(t, "inherit") {
			ttl = ttl.Merge(InheritTTL())
		}
		if rapid.Bool().Draw(t, "explicit") || !ttl.Inherit {
			ttl = ttl.Merge(ExplicitTTL(rapid.Uint32Range(0, rdata.MaxTTL).Draw(t, "seconds")))
		}
		return ttl
	})
)

// Several Records may share an RRset and have different TTLs. The smallest counts. Merge computes the minimum in any
// order of arrival, and for any TTL that the zone has for Records without one.
func TestTTL_mergeIsTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c, zone := ttls.Draw(t, "a"), ttls.Draw(t, "b"), ttls.Draw(t, "c"), rapid.Uint32Range(0, rdata.MaxTTL).Draw(t, "zone")
		if a.Merge(b) != b.Merge(a) || a.Merge(b).Merge(c) != a.Merge(b.Merge(c)) || a.Merge(a) != a || a.Merge(TTL{}) != a {
			t.Fatalf("%s, %s, %s do not merge like a minimum", a, b, c)
		}
		if got, want := a.Merge(b).Resolve(zone), min(a.Resolve(zone), b.Resolve(zone)); got != want {
			t.Fatalf("%s and %s under %d: %d, want %d", a, b, zone, got, want)
		}
		back, err := ParseTTL(a.String())
		if err != nil || back != a {
			t.Fatalf("%s came back as %s, %v", a, back, err)
		}
	})
}

func TestResolve_S6_7_spellingsAreOneEntry(t *testing.T) {
	set := parseSets(t, "@ inherit MX 10 mail", "@ inherit MX 10 mail.example.org.", "@ inherit MX 5 b", "@ 30 MX 5 a")[0]
	if len(set.Data) != 4 {
		t.Fatalf("%d rows, want 4: %q", len(set.Data), set.Data)
	}
	entries := must.Get(Resolve(makeHeader(), set))(t)
	equalLines(t, showEntries(entries), "example.org. 30 IN MX 5 a.example.org.", "example.org. 30 IN MX 5 b.example.org.",
		"example.org. 30 IN MX 10 mail.example.org.")
}

// A record that is too long together with its zone is refused when it is written. A stored record of this kind is left
// out of the zone's entries, and all other records are served.
func TestResolve_tooLongIsLeftOut(t *testing.T) {
	h := makeHeader()
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 49)+".", 4), ".")
	h.FQDN = name.MustParse(strings.Repeat(strings.Repeat("z", 49)+".", 1) + "example.org.")
	sets := parseSets(t, long+" inherit A 192.0.2.1", "x inherit MX 10 "+long, "x inherit MX 10 ok", "y inherit CNAME "+long, "z inherit A 192.0.2.1")
	for _, set := range sets {
		entries, err := Resolve(h, set)
		wantErr := set.Owner.String() != "z"
		if (err != nil) != wantErr {
			t.Errorf("%s %s: error %v", set.Owner, set.Type, err)
		}
		if wantErr && !strings.Contains(err.Error(), "255") {
			t.Errorf("%s %s: %v does not say the limit", set.Owner, set.Type, err)
		}
		if set.Owner.String() == "x" && len(entries) != 1 {
			t.Errorf("x MX: %d entries, want the one that resolves", len(entries))
		}
	}
	entries := slices.Collect(Entries(h, 1, slices.Values(sets)))
	if len(entries) != 3 || entries[1].Type != rdata.MX || entries[2].Type != rdata.A {
		t.Errorf("entries:\n%s", showEntries(entries))
	}
}

func TestEntries_S6_1(t *testing.T) {
	h := makeHeader()
	sets := parseSets(t,
		"www 60 A 192.0.2.1", "z.a inherit A 192.0.2.1", "a inherit A 192.0.2.1", "* inherit A 192.0.2.1", "www inherit AAAA 2001:db8::1",
		"@ inherit TXT \"x\"", "@ inherit NS ns.example.net.", "@ 100 NS ns2", "ns2 20 A 192.0.2.2", "ns2 inherit A 192.0.2.9",
		"child 5 NS ns.child.example.org.", "ns.child 5 A 192.0.2.7",
	)
	want := []string{
		"example.org. 360 IN SOA ns.example.net. hostmaster.example.org. 9 86400 7200 3600000 360",
		"example.org. 100 IN NS ns.example.net.",
		"example.org. 100 IN NS ns2.example.org.",
		"example.org. 360 IN TXT \"x\"",
		"*.example.org. 360 IN A 192.0.2.1",
		"a.example.org. 360 IN A 192.0.2.1",
		"z.a.example.org. 360 IN A 192.0.2.1",
		"child.example.org. 5 IN NS ns.child.example.org.",
		"ns.child.example.org. 5 IN A 192.0.2.7",
		"ns2.example.org. 20 IN A 192.0.2.2",
		"ns2.example.org. 20 IN A 192.0.2.9",
		"www.example.org. 60 IN A 192.0.2.1",
		"www.example.org. 360 IN AAAA 2001:db8::1",
	}
	equalLines(t, showEntries(slices.Collect(Entries(h, 9, slices.Values(sets)))), want...)

	// spec.nameServers adds to the NS Records and addresses at the same names (S6.2).
	h.NameServers = []NameServer{{Name: "ns2.example.org.", Addresses: []string{"192.0.2.3", "192.0.2.2"}}, {Name: "zz", Addresses: []string{"192.0.2.4"}}}
	entries := slices.Collect(Entries(h, 9, slices.Values(sets)))
	want[0] = "example.org. 360 IN SOA ns2.example.org. hostmaster.example.org. 9 86400 7200 3600000 360"
	// In octets (RFC 4034 §6.3), "zz" sorts first because its label is shorter.
	want = slices.Insert(want, 2, "example.org. 100 IN NS zz.example.org.")
	want = slices.Insert(want, 11, "ns2.example.org. 20 IN A 192.0.2.3")
	want = append(want, "zz.example.org. 360 IN A 192.0.2.4")
	equalLines(t, showEntries(entries), want...)

	for i, entry := range entries {
		rel, _ := entry.Name.Rel(h.FQDN)
		var tail []RRset
		for _, set := range sets {
			if set.Owner.Compare(rel) >= 0 {
				tail = append(tail, set)
			}
		}
		first := slices.IndexFunc(entries, func(other dns.Entry) bool { return other.Name == entry.Name })
		if first == 0 {
			first = 1 // without the SOA
		}
		got := slices.Collect(EntriesFrom(h, rel, slices.Values(tail)))
		if !slices.Equal(got, entries[first:]) {
			t.Errorf("from entry %d (%s):\n%s", i, entry.Name, showEntries(got))
		}
	}
	for range Entries(h, 9, slices.Values(sets)) {
		break // the iterator must stop here
	}
}

func TestEntries_ofAnEmptyZone(t *testing.T) {
	entries := slices.Collect(Entries(makeHeader(), 3, slices.Values([]RRset(nil))))
	equalLines(t, showEntries(entries), "example.org. 360 IN SOA ns.example.org. hostmaster.example.org. 3 86400 7200 3600000 360")
}

// A child's name server at or below the cut that has no address affects only the child (attack 70).
func TestCut_S6_3(t *testing.T) {
	parent := name.MustParse("example.org.")
	child := makeHeader()
	child.FQDN, child.TTL = name.MustParse("dev.example.org."), 77
	child.NameServers = []NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1", "2001:db8::1"}}, {Name: "ns.example.org.", Addresses: []string{"192.0.2.50"}}, {Name: "ns.example.net."}}
	sets := parseSets(t, "@ 40 NS ns2", "@ inherit NS ns1.dev.example.org.", "@ inherit NS ns1-b", "ns2 inherit A 192.0.2.2", "ns2 inherit TXT \"no\"", "ns1 9 A 192.0.2.3", "www inherit A 192.0.2.4")
	lookup := func(owner name.Rel, typ rdata.Type) (RRset, bool) {
		for _, set := range sets {
			if set.Owner == owner && set.Type == typ {
				return set, true
			}
		}
		return RRset{}, false
	}
	cut := Cut(parent, child, lookup)
	var got []string
	for _, set := range cut {
		got = append(got, fmt.Sprint(set.Owner, " ", set.TTL, " ", set.Type, " ", set.Data))
	}
	// ns1 has two spellings; ns1-b has no address and is omitted.
	equalLines(t, strings.Join(got, "\n"),
		"dev 40 NS [ns.example.net. ns.example.org. ns1.dev.example.org. ns2.dev.example.org.]",
		"ns1.dev 9 A [192.0.2.1 192.0.2.3]",
		"ns1.dev 77 AAAA [2001:db8::1]",
		"ns2.dev 77 A [192.0.2.2]",
	)
	same := func() bool { return slices.EqualFunc(cut, Cut(parent, child, lookup), RRset.Equal) }
	if !same() {
		t.Error("the same cut twice is not equal")
	}
	sets = append(sets, parseSets(t, "ns1-b inherit A 192.0.2.5")...)
	if same() {
		t.Error("the address that a name server had to have did not change the cut")
	}
	sets = sets[:len(sets)-1]
	child.NegativeResponseCache, child.Contact = 1, "x"
	child.NameServers[0], child.NameServers[2] = child.NameServers[2], child.NameServers[0]
	if !same() {
		t.Error("what the parent does not see changed the cut")
	}
	child.TTL = 78
	if same() {
		t.Error("the child's ttl did not change the cut")
	}

	if got := Cut(parent, Header{FQDN: child.FQDN}, func(name.Rel, rdata.Type) (RRset, bool) { return RRset{}, false }); got != nil {
		t.Errorf("a child without NS cuts %v", got)
	}
	for _, other := range []string{"dev.example.org.", "example.net.", "x.dev.example.org."} {
		if got := Cut(name.MustParse(other), child, lookup); got != nil {
			t.Errorf("%s counts %v for %s", other, got, child.FQDN)
		}
	}
	// The root's children are cuts, too.
	if got := Cut(name.Root, child, lookup); len(got) != 4 || got[0].Owner.String() != "dev.example.org" {
		t.Errorf("the root counts %v", got)
	}
}

// S6.7, on the header.
func TestHash_S6_7_header(t *testing.T) {
	base := func() Header {
		h := makeHeader()
		h.PrimaryNameServer, h.Contact = "ns1", "dns@example.org"
		h.NameServers = []NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1", "192.0.2.2"}}, {Name: "ns2.example.net."}}
		return h
	}
	same := map[string]func(*Header){
		"upper case":            func(h *Header) { h.NameServers[0].Name, h.PrimaryNameServer = "NS1", "Ns1" },
		"address order":         func(h *Header) { slices.Reverse(h.NameServers[0].Addresses) },
		"address twice":         func(h *Header) { h.NameServers[0].Addresses = append(h.NameServers[0].Addresses, "192.0.2.1") },
		"contact in name form":  func(h *Header) { h.Contact = "dns.example.org." },
		"empty, not nil, lists": func(h *Header) { h.NameServers[1].Addresses = []string{} },
	}
	differs := map[string]func(*Header){
		"fqdn":                  func(h *Header) { h.FQDN = name.MustParse("example.com.") },
		"ttl":                   func(h *Header) { h.TTL++ },
		"refresh":               func(h *Header) { h.Refresh++ },
		"retry":                 func(h *Header) { h.Retry++ },
		"expire":                func(h *Header) { h.Expire++ },
		"negativeResponseCache": func(h *Header) { h.NegativeResponseCache++ },
		"refresh and retry":     func(h *Header) { h.Refresh, h.Retry = h.Retry, h.Refresh },
		"primaryNameServer":     func(h *Header) { h.PrimaryNameServer = "ns2" },
		"no primaryNameServer":  func(h *Header) { h.PrimaryNameServer = "" },
		"spelling of a name":    func(h *Header) { h.PrimaryNameServer = "ns1.example.org." },
		"contact":               func(h *Header) { h.Contact = "dns@example.com" },
		"contact, a dot":        func(h *Header) { h.Contact = "d.ns@example.org" },
		// The first name server is the mname (S6.5), so order matters.
		"nameServers order":   func(h *Header) { slices.Reverse(h.NameServers) },
		"one nameServer less": func(h *Header) { h.NameServers = h.NameServers[:1] },
		"no nameServers":      func(h *Header) { h.NameServers = nil },
		"address":             func(h *Header) { h.NameServers[0].Addresses[0] = "192.0.2.9" },
		"address elsewhere": func(h *Header) {
			h.NameServers[1].Addresses, h.NameServers[0].Addresses = h.NameServers[0].Addresses, nil
		},
	}
	hashes := map[string]string{base().Hash(sethash.State{}): "base"}
	for what, change := range same {
		h := base()
		change(&h)
		if h.Hash(sethash.State{}) != base().Hash(sethash.State{}) || !h.Equal(base()) || !base().Equal(h) {
			t.Errorf("%s: another hash for the same definition", what)
		}
	}
	for what, change := range differs {
		h := base()
		change(&h)
		hash := h.Hash(sethash.State{})
		if other, ok := hashes[hash]; ok {
			t.Errorf("%s: the hash of %s", what, other)
		}
		if h.Equal(base()) {
			t.Errorf("%s: Equal to base", what)
		}
		hashes[hash] = what
	}
	state := must.Get(sethash.State{}.Update(nil, []sethash.Element{sethash.NewElement("x")}))(t)
	if hash := base().Hash(state); hashes[hash] != "" || len(hash) != 64 {
		t.Errorf("hash %s with another content state", hash)
	}
	// The tables above must cover every field of Header.
	if fields := reflect.TypeFor[Header]().NumField(); fields != 9 {
		t.Errorf("Header has %d fields: is the new one hashed and tested here?", fields)
	}
}

// Objects store the hash, for comparison between versions.
func TestHash_isPinned(t *testing.T) {
	h := makeHeader()
	h.NameServers = []NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}
	sets := parseSets(t, "www inherit A 192.0.2.1", "www 60 TXT \"x\"", "x min(inherit,5) TYPE65400 \\# 1 00")
	var elements []sethash.Element
	for _, set := range sets {
		elements = set.Elements(elements)
	}
	state := must.Get(sethash.State{}.Update(nil, elements))(t)
	if got, want := h.Hash(state), "e17dea547ccef1c44cf65cf073bb7d365ddecf59d9777b514b533230eba5c475"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

// Two definitions have the same state exactly if they are equal (S6.7).
func TestElements_S6_7(t *testing.T) {
	lines := []string{
		"www inherit A 192.0.2.1", "www inherit A 192.0.2.2", "www inherit AAAA 2001:db8::1", "www 60 TXT \"x\"", "w.w inherit A 192.0.2.1",
		"@ inherit MX 10 mail", "@ inherit MX 10 mail.example.org.", "@ min(inherit,60) MX 10 mail",
	}
	state := func(t *rapid.T, lines []string) (sethash.State, string) {
		var elements []sethash.Element
		definition := ""
		for _, set := range parseSets(t, lines...) {
			elements = set.Elements(elements)
			definition += fmt.Sprintln(set.Owner, set.Type, set.TTL, set.Data)
		}
		for i := range elements { // any order
			j := rapid.IntRange(0, i).Draw(t, "swap")
			elements[i], elements[j] = elements[j], elements[i]
		}
		result, err := sethash.State{}.Update(nil, elements)
		if err != nil {
			t.Fatal(err)
		}
		return result, definition
	}
	subset := rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 0, -1, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		one, oneDefinition := state(t, subset.Draw(t, "one"))
		other, otherDefinition := state(t, subset.Draw(t, "other"))
		if (one == other) != (oneDefinition == otherDefinition) {
			t.Fatalf("states equal: %v, of\n%s\nand\n%s", one == other, oneDefinition, otherDefinition)
		}
	})
}

// The hash of a zone's content is computed over elements: one for each row and one for each explicit TTL. Different
// rows and TTLs never give the same element, whatever their text.
func TestElement_kindsAreApart(t *testing.T) {
	seen := map[string]string{}
	for _, row := range []Row{
		{name.MustRel("www"), rdata.A, "inherit"}, {name.MustRel("www"), rdata.A, ""}, {name.MustRel("www.a"), rdata.A, "inherit"}, {name.MustRel("www"), rdata.TXT, "inherit"},
	} {
		seen[string(row.Element())] = fmt.Sprint(row)
	}
	for _, ttl := range []TTL{ExplicitTTL(1), ExplicitTTL(1).Merge(InheritTTL()), ExplicitTTL(2)} {
		seen[string(AppendTTL(nil, name.MustRel("www"), rdata.A, ttl)[0])] = ttl.String()
	}
	if len(seen) != 7 {
		t.Errorf("elements coincide: %v", seen)
	}
}

func TestTransaction_jsonRoundTrip(t *testing.T) {
	before, after := makeHeader(), makeHeader()
	after.TTL, after.NameServers = 5, []NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}
	inherit, n60 := InheritTTL(), ExplicitTTL(60).Merge(InheritTTL())
	state := must.Get(sethash.State{}.Update(nil, []sethash.Element{sethash.NewElement("x")}))(t)
	tx := Transaction{Settled: true, Steps: []Step{
		{
			N: 7, From: 2026112000, Serial: 2026112001, State: state, HeaderBefore: &before, HeaderAfter: &after,
			Removed: []Row{{name.MustRel("@"), rdata.MX, "10 mail"}}, Added: []Row{{name.MustRel("_443._tcp.www"), rdata.Type(65400), `\# 1 00`}},
			TTLs:   []TTLChange{{Owner: name.MustRel("@"), Type: rdata.MX, Before: &inherit}, {Owner: name.MustRel("www"), Type: rdata.A, Before: &inherit, After: &n60}},
			Record: &RecordRef{Namespace: "team", Name: "www", UID: "1"}, By: "alice", Time: 1795000000,
		},
		{N: 8, From: 2026112001, Serial: 2026112002},
	}}
	for _, tx := range []Transaction{tx, {Gone: true}, {After: 8, Settled: true}, {}} {
		data := must.Get(json.Marshal(tx))(t)
		var back Transaction
		must.Succeed(t, json.Unmarshal(data, &back))
		if !reflect.DeepEqual(back, tx) {
			t.Errorf("%s\ncame back as %+v", data, back)
		}
	}
	// Every write of a record stores a step, so a common step must be small.
	step := Step{N: 7, From: 2026112000, Serial: 2026112001, State: state, Added: []Row{{name.MustRel("www"), rdata.A, "192.0.2.1"}}, TTLs: []TTLChange{{Owner: name.MustRel("www"), Type: rdata.A, After: &inherit}}}
	data := must.Get(json.Marshal(Transaction{Steps: []Step{step}}))(t)
	if len(data) > 200 {
		t.Errorf("%d bytes: %s", len(data), data)
	}
}

func unpackEntries(t *testing.T, h Header, sets []RRset) []dns.Entry {
	t.Helper()
	var entries []dns.Entry
	for packed, err := range Pack(h, 7, slices.Values(sets)) {
		if err != nil {
			t.Fatal(err)
		}
		owner := must.Get(packed.Owner.In(h.FQDN))(t)
		for _, wire := range packed.Rdata {
			value := must.Get(rdata.Parse(packed.Type, fmt.Sprintf(`\# %d %x`, len(wire), wire)))(t)
			entries = append(entries, dns.Entry{Name: owner, Type: packed.Type, TTL: packed.TTL, Data: value.Text})
		}
	}
	return entries
}

// S6.1.
func TestPack_isEntries(t *testing.T) {
	long := strings.Repeat("a.", 120) + "a"
	sets := parseSets(t,
		"@ inherit NS ns1", "@ 5 NS ns.example.net.", "@ inherit TXT v=spf1; -all", "@ inherit HTTPS 1 . alpn=h2",
		"mail 300 MX 10 mail", "mail inherit MX 10 mail.example.org.", "mail 300 MX 5 @", "mail 300 A 192.0.2.2", "mail 300 A 192.0.2.1",
		"* min(inherit,60) CNAME www", "vpn 5 IPSECKEY 10 3 2 gw AQNR", "where 5 LOC 0 N 0 E 0", "odd 5 TYPE65280 \\# 2 abcd",
		long+" 5 A 192.0.2.3", "x 5 NS "+long, "x 5 NS short", "y 5 CNAME "+long)
	for _, fqdn := range []string{"example.org.", ".", "a-long.example.org."} {
		for _, servers := range [][]NameServer{nil, {{Name: "ns1", Addresses: []string{"192.0.2.53", "2001:db8::53"}}, {Name: "ns9.example.net."}}} {
			h := makeHeader()
			h.FQDN, h.NameServers = name.MustParse(fqdn), servers
			for _, some := range [][]RRset{sets, nil, sets[:1]} {
				want := slices.Collect(Entries(h, 7, slices.Values(some)))
				if got := unpackEntries(t, h, some); !slices.Equal(got, want) {
					t.Errorf("S6.1: in %s packed\n%s\nlisted\n%s", fqdn, showEntries(got), showEntries(want))
				}
			}
		}
	}
}

func TestPack_endsWithItsReader(t *testing.T) {
	sequence := Pack(makeHeader(), 7, slices.Values(parseSets(t, "@ inherit NS ns1", "a inherit A 192.0.2.1", "b inherit A 192.0.2.2")))
	for most := 1; most <= 4; most++ {
		n := 0
		for range sequence {
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Errorf("%d RRsets, want %d", n, most)
		}
	}
}

// An entry that cannot be packed gives an error as the last element.
func TestPack_unpackable(t *testing.T) {
	sets := []RRset{{Owner: name.MustRel("a"), Type: rdata.A, TTL: InheritTTL(), Data: []string{"nonsense"}}, {Owner: name.MustRel("b"), Type: rdata.A, TTL: InheritTTL(), Data: []string{"192.0.2.1"}}}
	n := 0
	var last error
	for _, err := range Pack(makeHeader(), 7, slices.Values(sets)) {
		n, last = n+1, err
	}
	if n != 2 || last == nil || !strings.Contains(last.Error(), "a.example.org. A") {
		t.Errorf("after %d RRsets: %v", n, last)
	}
}
