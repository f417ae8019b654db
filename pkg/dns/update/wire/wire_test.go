// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/test/must"
)

const zone = "example.org."

// buildMessage packs lines of the form "prereq|update NAME TTL CLASS TYPE [DATA]" into a message with compression.
func buildMessage(t testing.TB, lines ...string) []byte {
	t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate(zone)
	m.Compress = true
	for _, line := range lines {
		section, rest, _ := strings.Cut(line, " ")
		f := strings.SplitN(rest, " ", 5)
		h := mdns.RR_Header{Name: f[0], Rrtype: mdns.StringToType[f[3]], Class: mdns.StringToClass[f[2]]}
		fmt.Sscan(f[1], &h.Ttl)
		var rr mdns.RR = &mdns.ANY{Hdr: h}
		if len(f) == 5 {
			rr = must.Get(mdns.NewRR(fmt.Sprintf("%s %s IN %s %s", f[0], f[1], f[3], f[4])))(t)
			rr.Header().Class = h.Class
		}
		if section == "prereq" {
			m.Answer = append(m.Answer, rr)
		} else {
			m.Ns = append(m.Ns, rr)
		}
	}
	return must.Get(m.Pack())(t)
}

// Parse accepts or refuses each form of a record by RFC 2136 §3.2 and §3.4.1.
func TestParse_judgesForms(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"prereq www.example.org. 0 ANY ANY", ""},
		{"prereq www.example.org. 0 ANY A", ""},
		{"prereq www.example.org. 0 NONE ANY", ""},
		{"prereq www.example.org. 0 NONE A", ""},
		{"prereq www.example.org. 0 IN A 192.0.2.1", ""},
		{"prereq www.example.org. 60 IN A 192.0.2.1", "FORMERR: www.example.org. A: a prerequisite has the TTL 0"},
		{"prereq www.example.org. 0 ANY A 192.0.2.1", "FORMERR: www.example.org. A: in the class ANY a prerequisite has no data"},
		{"prereq www.example.org. 0 NONE A 192.0.2.1", "FORMERR: www.example.org. A: in the class NONE a prerequisite has no data"},
		{"prereq www.example.org. 0 IN A", "FORMERR: www.example.org. A: in the class IN a prerequisite has data"},
		{"prereq www.example.org. 0 IN ANY", "FORMERR: www.example.org. ANY: no record has this type"},
		{"prereq www.example.org. 0 ANY AXFR", "FORMERR: www.example.org. AXFR: no record has this type"},
		{"prereq www.example.org. 0 CH A", "FORMERR: www.example.org. A: the class 3 is none of"},
		{"prereq www.example.net. 0 ANY ANY", "NOTZONE: www.example.net. ANY: the name is not in the zone example.org."},
		{"update www.example.org. 60 IN A 192.0.2.1", ""},
		{"update www.example.org. 0 ANY A", ""},
		{"update www.example.org. 0 ANY ANY", ""},
		{"update www.example.org. 0 NONE A 192.0.2.1", ""},
		{"update www.example.org. 60 IN A", "FORMERR: www.example.org. A: in the class IN an update has data"},
		{"update www.example.org. 60 IN ANY", "FORMERR: www.example.org. ANY: no record has this type"},
		{"update www.example.org. 60 ANY A", "FORMERR: www.example.org. A: a deletion has the TTL 0"},
		{"update www.example.org. 60 NONE A 192.0.2.1", "FORMERR: www.example.org. A: a deletion has the TTL 0"},
		{"update www.example.org. 0 ANY A 192.0.2.1", "FORMERR: www.example.org. A: in the class ANY an update has no data"},
		{"update www.example.org. 0 NONE A", "FORMERR: www.example.org. A: in the class NONE an update has data"},
		{"update www.example.org. 0 NONE ANY", "FORMERR: www.example.org. ANY: no record has this type"},
		{"update www.example.org. 0 ANY IXFR", "FORMERR: www.example.org. IXFR: no record has this type"},
		{"update www.example.net. 60 IN A 192.0.2.1", "NOTZONE: www.example.net. A: the name is not in the zone example.org."},
		{`update a\046b.example.org. 60 IN A 192.0.2.1`, "REFUSED: no Record can have the name"},
		{"update www.example.org. 60 IN RRSIG A 8 3 60 20300101000000 20200101000000 1 example.org. aGFsbG8=",
			"REFUSED: www.example.org. RRSIG: "},
	} {
		_, failure := Parse(buildMessage(t, test.line))
		switch {
		case failure == nil && test.want != "", failure != nil && (test.want == "" || !strings.HasPrefix(failure.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.line, failure, test.want)
		}
	}
	var many []string
	for i := range update.MaxRRsets + 1 {
		many = append(many, fmt.Sprintf("update h%d.example.org. 60 IN A 192.0.2.1", i))
	}
	_, failure := Parse(buildMessage(t, many...))
	if failure == nil || failure.RCode != update.Refused || !strings.Contains(failure.Reason, "send several messages") {
		t.Errorf("many: %v", failure)
	}
	if _, failure := Parse(buildMessage(t, many[:update.MaxRRsets]...)); failure != nil {
		t.Errorf("as many as may be: %v", failure)
	}
}

// Parse refuses a message with too many records by the counts in its header, before it reads a record.
func TestParse_judgesCountsFirst(t *testing.T) {
	msg := buildMessage(t, "update www.example.org. 60 IN A 192.0.2.1")
	for _, test := range []struct {
		prerequisites, updates uint16
		want                   update.RCode
	}{{0, update.MaxRecords, update.FormErr}, {0, update.MaxRecords + 1, update.Refused}, {1, update.MaxRecords, update.Refused},
		{65535, 65535, update.Refused}} {
		binary.BigEndian.PutUint16(msg[6:], test.prerequisites)
		binary.BigEndian.PutUint16(msg[8:], test.updates)
		if _, failure := Parse(msg); failure == nil || failure.RCode != test.want {
			t.Errorf("%d and %d records: %v, want %s", test.prerequisites, test.updates, failure, test.want)
		}
	}
}

// makeLargest returns n MX records with the same owner, whose name has as many labels as fit. Owner and target are a
// compression pointer each, so 64 KiB contain 4,000 records. If differ is true, each record has another target.
func makeLargest(n int, differ bool) []byte {
	msg := append([]byte{0, 1, 5 << 3, 0, 0, 1, 0, 0, byte(n >> 8), byte(n), 0, 0}, "\x07example\x03org\x00\x00\x06\x00\x01"...)
	long := strings.Repeat("\x01a", 118) + "\xc0\x0c"
	for i := range n {
		owner := "\xc0\x1d"
		if i == 0 {
			owner = long
		}
		preference := 1
		if differ {
			preference = i
		}
		msg = append(append(msg, owner...), 0, 15, 0, 1, 0, 0, 0, 60, 0, 4, byte(preference>>8), byte(preference), 0xc0, 0x1d)
	}
	return msg
}

func BenchmarkParse(b *testing.B) {
	for _, test := range []struct {
		name   string
		n      int
		differ bool
	}{{"64KiB", 4000, false}, {"500equal", update.MaxRecords, false}, {"500different", update.MaxRecords, true}} {
		msg := makeLargest(test.n, test.differ)
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				Parse(msg)
			}
		})
	}
}

// Parse accepts unknown types, and names compressed in any way.
func TestParse_readsData(t *testing.T) {
	for in, want := range map[string]string{
		"A 192.0.2.1":             "192.0.2.1",
		"MX 10 mail.example.org.": "10 mail.example.org.",
		"DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=": "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
		"CNAME Target.example.org.":                              "target.example.org.",
	} {
		rtype, data, _ := strings.Cut(in, " ")
		m, failure := Parse(buildMessage(t, "update www.example.org. 60 IN "+rtype+" "+data))
		if failure != nil || len(m.Updates) != 1 || !strings.EqualFold(m.Updates[0].Data, want) || m.Updates[0].TTL != 60 {
			t.Errorf("%s: %+v, %v", in, m, failure)
		}
	}
}

// Fold changes the RRsets of the dynamic share by RFC 2136 §3.4.2, and leaves other Records of the namespace unchanged.
// RFC 2136 §3.2.5: those without values come first, and all values of an RRset are one prerequisite.
func TestListPrerequisites(t *testing.T) {
	m, failure := Parse(buildMessage(t, "prereq a.example.org. 0 IN A 192.0.2.2", "prereq a.example.org. 0 ANY ANY",
		"prereq a.example.org. 0 IN TXT x", "prereq b.example.org. 0 NONE A", "prereq a.example.org. 0 IN A 192.0.2.1",
		"prereq a.example.org. 0 IN A 192.0.2.1", "prereq b.example.org. 0 IN A 192.0.2.1"))
	if failure != nil {
		t.Fatal(failure)
	}
	want := `[{a.example.org. ANY true []} {b.example.org. A false []} {a.example.org. A true [192.0.2.2 192.0.2.1]} ` +
		`{a.example.org. TXT true ["x"]} {b.example.org. A true [192.0.2.1]}]`
	if got := fmt.Sprint(m.ListPrerequisites()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFold(t *testing.T) {
	present := map[name.Name]update.Present{}
	for owner, p := range map[string]update.Present{
		"dyn.example.org.": {Share: []update.RRset{makeSet(rdata.A, 60, "192.0.2.1"), makeSet(rdata.TXT, 60, `"x"`)}},
		"fix.example.org.": {Records: []update.RRset{makeSet(rdata.A, 300, "192.0.2.9")}},
		"mix.example.org.": {Share: []update.RRset{makeSet(rdata.A, 60, "192.0.2.1")},
			Records: []update.RRset{makeSet(rdata.A, 300, "192.0.2.9")}},
		"ali.example.org.": {Share: []update.RRset{makeSet(rdata.CNAME, 60, "a.example.org.")}},
		"two.example.org.": {Records: []update.RRset{makeSet(rdata.A, 300, "192.0.2.1"), makeSet(rdata.A, 60, "192.0.2.2"),
			makeSet(rdata.TXT, 60, `"x"`)}},
		"ns1.example.org.": {Share: []update.RRset{makeSet(rdata.TXT, 60, `"x"`)},
			Derived: []update.RRset{makeSet(rdata.A, 360, "192.0.2.53")}},
		"example.org.": {Share: []update.RRset{makeSet(rdata.NS, 60, "ns.example.net."), makeSet(rdata.TXT, 60, `"x"`)}},
	} {
		present[name.MustParse(owner)] = p
	}
	for _, test := range []struct{ lines, want string }{
		{"new 60 IN A 192.0.2.1", "new A 60 [192.0.2.1]"},
		{"dyn 60 IN A 192.0.2.1", ""},
		{"dyn 30 IN A 192.0.2.1", "dyn A 30 [192.0.2.1]"},
		{"dyn 0 NONE A 192.0.2.7", ""},
		{"dyn 0 ANY AAAA", ""},
		{"dyn 0 ANY A|dyn 60 IN A 192.0.2.1", ""},
		{"dyn 0 ANY ANY|dyn 60 IN CNAME b.example.org.", "dyn A 60 []; dyn TXT 60 []; dyn CNAME 60 [b.example.org.]"},
		{"dyn 60 IN A 192.0.2.2|dyn 0 NONE A 192.0.2.2", ""},
		{"fix 60 IN A 192.0.2.9", ""},
		{"fix 60 IN A 192.0.2.1", "fix A 60 [192.0.2.1]"},
		{"fix 0 ANY ANY", ""},
		{"mix 0 ANY ANY", "mix A 60 []"},
		{"dyn 60 IN CNAME b.example.org.|dyn 0 ANY ANY", "REFUSED: dyn.example.org. CNAME: a CNAME is alone"},
		{"ali 60 IN A 192.0.2.1", "REFUSED: ali.example.org. A: a CNAME is alone"},
		{"fix 60 IN CNAME b.example.org.", "REFUSED: fix.example.org. CNAME"},
		{"fix 0 ANY A", "REFUSED: fix.example.org. A: a Record of the namespace has it that no update created"},
		{"fix 0 NONE A 192.0.2.9", "REFUSED: fix.example.org. A: a Record of the namespace has it that no update created"},
		{"mix 0 NONE A 192.0.2.1", "mix A 60 []"},
		{"new 60 IN A 192.0.2.1|fix 0 ANY A", "REFUSED: fix.example.org. A"},
		// An RRset may be spread over several Records.
		{"two 0 NONE A 192.0.2.1", "REFUSED: two.example.org. A: a Record of the namespace has it that no update created; change"},
		{"two 0 NONE A 192.0.2.2", "REFUSED: two.example.org. A"},
		{"two 60 IN A 192.0.2.1|two 60 IN A 192.0.2.2", ""},
		{"@ 0 ANY ANY", "@ TXT 60 []"},
		// By RFC 2136 §3.4.2.3 and §3.4.2.4, the server ignores deletions of the SOA and NS at the apex.
		{"@ 0 ANY NS", "REFUSED: example.org. NS: the NS of a zone are deleted value by value"},
		{"@ 0 NONE NS ns.example.net.", "REFUSED: example.org. NS: it is the last NS of the zone"},
		{"@ 0 NONE NS ns.example.net.|@ 60 IN NS ns2.example.net.", "REFUSED: example.org. NS: it is the last NS of the zone"},
		{"@ 60 IN NS ns2.example.net.|@ 0 NONE NS ns.example.net.", "@ NS 60 [ns2.example.net.]"},
		{"@ 60 IN NS ns2.example.net.|@ 0 NONE NS ns.example.net.|@ 0 NONE NS ns2.example.net.", "REFUSED: example.org. NS"},
		{"@ 0 NONE NS absent.example.net.", ""},
		// RRsets derived from the Zone's spec are kept. A deletion that changes nothing is no error.
		{"ns1 0 NONE A 192.0.2.53", "REFUSED: ns1.example.org. A: it is derived from spec.nameServers of the Zone"},
		{"ns1 0 NONE A 192.0.2.54", ""},
		{"ns1 0 ANY A", "REFUSED: ns1.example.org. A: it is derived from spec.nameServers of the Zone"},
		{"ns1 0 ANY ANY", "ns1 TXT 60 []"},
		{"ns1 60 IN A 192.0.2.53", ""},
		{"ns1 60 IN A 192.0.2.54", "ns1 A 60 [192.0.2.54]"},
		{"ns1 60 IN CNAME x.example.net.", "REFUSED: ns1.example.org. CNAME: a CNAME is alone"},
		{"@ 0 ANY SOA", "REFUSED: example.org. SOA: the SOA is derived from the Zone"},
		{"@ 60 IN SOA ns.example.org. host.example.org. 1 2 3 4 5", "REFUSED: example.org. SOA"},
	} {
		var lines []string
		for _, line := range strings.Split(test.lines, "|") {
			owner, rest, _ := strings.Cut(line, " ")
			if owner += "." + zone; strings.HasPrefix(line, "@") {
				owner = zone
			}
			lines = append(lines, "update "+owner+" "+rest)
		}
		m, failure := Parse(buildMessage(t, lines...))
		var changes []update.Change
		if failure == nil {
			changes, failure = m.Fold(present)
		}
		var got []string
		for _, c := range changes {
			owner := cmpOwner(c.Name)
			ttl := c.TTL
			if len(c.Values) == 0 {
				ttl = 60
			}
			got = append(got, fmt.Sprintf("%s %s %d %v", owner, c.Type, ttl, c.Values))
		}
		message := strings.Join(got, "; ")
		if failure != nil {
			message = failure.Error()
		}
		if message != test.want && (failure == nil || !strings.HasPrefix(message, test.want) || test.want == "") {
			t.Errorf("%s: %s, want %s", test.lines, message, test.want)
		}
	}
}

// Updates never delete the last NS of a zone, nor an NS from spec.nameServers.
func TestFold_leavesAZoneItsNS(t *testing.T) {
	ns := func(hosts ...string) []update.RRset { return []update.RRset{makeSet(rdata.NS, 60, hosts...)} }
	for what, test := range map[string]struct {
		present update.Present
		want    string
	}{
		"none":                    {update.Present{}, ""},
		"of updates alone":        {update.Present{Share: ns("a.example.net.")}, "it is the last NS"},
		"two of updates":          {update.Present{Share: ns("a.example.net.", "b.example.net.")}, ""},
		"a Record has another":    {update.Present{Share: ns("a.example.net."), Records: ns("b.example.net.")}, ""},
		"the Zone makes another":  {update.Present{Share: ns("a.example.net."), Derived: ns("b.example.net.")}, ""},
		"of another namespace":    {update.Present{Share: ns("a.example.net."), ForeignNS: true}, ""},
		"the Zone makes it":       {update.Present{Derived: ns("a.example.net.", "b.example.net.")}, "it is derived from spec.nameServers"},
		"the Zone makes it, too":  {update.Present{Share: ns("a.example.net."), Derived: ns("a.example.net.")}, "spec.nameServers"},
		"a Record has it":         {update.Present{Records: ns("a.example.net.")}, "a Record of the namespace"},
		"the Zone makes no other": {update.Present{Share: ns("b.example.net."), Derived: ns("b.example.net.")}, ""},
	} {
		m, failure := Parse(buildMessage(t, "update example.org. 0 NONE NS a.example.net."))
		if failure != nil {
			t.Fatal(failure)
		}
		_, failure = m.Fold(map[name.Name]update.Present{name.MustParse(zone): test.present})
		if (failure == nil) != (test.want == "") || failure != nil && !strings.Contains(failure.Reason, test.want) {
			t.Errorf("%s: %v, want %q", what, failure, test.want)
		}
	}
}

func cmpOwner(n name.Name) string {
	if n.String() == zone {
		return "@"
	}
	return strings.TrimSuffix(n.String(), "."+zone)
}

// Fold has the same result as a twin that follows the pseudocode of RFC 2136 §3.4.2.7 on a set of records.
func TestFold_isAsTheTwinSays(t *testing.T) {
	type row struct {
		owner, rtype, data string
	}
	rapid.Check(t, func(t *rapid.T) {
		owners := []string{"a.example.org.", "b.example.org."}
		data := map[string][]string{"A": {"192.0.2.1", "192.0.2.2", "192.0.2.3"}, "TXT": {`"x"`, `"y"`},
			"CNAME": {"c.example.org.", "d.example.org."}}
		types := slices.Sorted(maps.Keys(data))
		twin := map[row]uint32{}
		before := map[name.Name]update.Present{}
		for _, owner := range owners {
			for _, rtype := range types {
				n := rapid.IntRange(0, 2).Draw(t, "values")
				if rtype == "CNAME" {
					n = min(n, 1)
				}
				at := name.MustParse(owner)
				if n == 0 || len(before[at].Share) > 0 && (rtype == "CNAME" || before[at].Share[0].Type == rdata.CNAME) {
					continue
				}
				set := makeSet(typeOf(rtype), 60, data[rtype][:n]...)
				before[at] = update.Present{Share: append(before[at].Share, set)}
				for _, d := range set.Values {
					twin[row{owner, rtype, d}] = 60
				}
			}
		}
		m := update.Message{Zone: name.MustParse(zone)}
		refused := false
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			owner, rtype := rapid.SampledFrom(owners).Draw(t, "owner"), rapid.SampledFrom(types).Draw(t, "type")
			rr := update.RR{Name: name.MustParse(owner), Type: typeOf(rtype)}
			d := rapid.SampledFrom(data[rtype]).Draw(t, "data")
			drop := func(gone func(row) bool) {
				maps.DeleteFunc(twin, func(r row, _ uint32) bool { return r.owner == owner && gone(r) })
			}
			switch rapid.IntRange(0, 4).Draw(t, "form") {
			case 0:
				rr.Class = update.ClassANY
				drop(func(r row) bool { return r.rtype == rtype })
			case 1:
				rr.Class, rr.Type = update.ClassANY, rdata.ANY
				drop(func(row) bool { return true })
			case 2:
				rr.Class, rr.Data = update.ClassNONE, d
				drop(func(r row) bool { return r.rtype == rtype && r.data == d })
			default:
				rr.Class, rr.Data, rr.TTL = update.ClassIN, d, rapid.SampledFrom([]uint32{60, 30}).Draw(t, "ttl")
				for r := range twin {
					refused = refused || r.owner == owner && r.rtype != rtype && (r.rtype == "CNAME" || rtype == "CNAME")
				}
				if rtype == "CNAME" {
					drop(func(r row) bool { return r.rtype == rtype })
				}
				twin[row{owner, rtype, d}] = rr.TTL
				for r := range twin { // an RRset has a single TTL (RFC 2181 §5.2)
					if r.owner == owner && r.rtype == rtype {
						twin[r] = rr.TTL
					}
				}
			}
			m.Updates = append(m.Updates, rr)
		}
		if f := m.Check(); f != nil {
			t.Fatal(f)
		}
		changes, failure := m.Fold(before)
		if (failure != nil) != refused {
			t.Fatalf("%v, refused %v", failure, refused)
		}
		if refused {
			return
		}
		got := map[row]uint32{}
		put := func(owner string, set update.RRset) {
			maps.DeleteFunc(got, func(r row, _ uint32) bool { return r.owner == owner && r.rtype == set.Type.String() })
			for _, d := range set.Values {
				got[row{owner, set.Type.String(), d}] = set.TTL
			}
		}
		for owner, p := range before {
			for _, set := range p.Share {
				put(owner.String(), set)
			}
		}
		for _, c := range changes {
			put(c.Name.String(), c.RRset)
		}
		if !maps.Equal(got, twin) {
			t.Errorf("%v\nof %v\nthe twin has %v", got, m.Updates, twin)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(buildMessage(f, "prereq www.example.org. 0 NONE ANY", "update www.example.org. 60 IN A 192.0.2.1"))
	f.Add(buildMessage(f, "update www.example.org. 0 ANY ANY", "update x.www.example.org. 60 IN MX 10 www.example.org."))
	f.Add(buildMessage(f, `prereq www.example.org. 0 IN TXT "x"`, `update www.example.org. 0 NONE TXT "y"`))
	f.Add(buildMessage(f, "prereq a.example.org. 0 ANY A", "update A.example.ORG. 60 IN A 192.0.2.1", "update b.example.org. 0 ANY ANY"))
	f.Add(makeLargest(update.MaxRecords, true))
	seed := maphash.MakeSeed()
	f.Fuzz(func(t *testing.T, msg []byte) {
		m, failure := Parse(msg)
		if (m == nil) == (failure == nil) {
			t.Fatal(m, failure)
		}
		if failure != nil {
			if failure.RCode == update.NoError || failure.Reason == "" {
				t.Errorf("%+v", failure)
			}
			HashOwners(seed, msg)
			return
		}
		names := map[name.Name]bool{}
		for _, rr := range slices.Concat(m.Prerequisites, m.Updates) {
			names[rr.Name] = true
		}
		if owners, tooMany := HashOwners(seed, msg); !tooMany && len(owners) != len(names) || tooMany && len(owners) > 0 {
			t.Errorf("%d owners, want %d: %v", len(owners), len(names), names)
		}
		m.ListPrerequisites()
		changes, _ := m.Fold(nil)
		for _, c := range changes {
			for _, v := range c.Values {
				if again, err := rdata.Parse(c.Type, v); err != nil || again.Text != v {
					t.Errorf("%s %q is %q when read again: %v", c.Type, v, again.Text, err)
				}
			}
		}
	})
}

// Two messages with a name in common have a hash in common, in any case and section; others have none.
func TestHashOwners_namesInCommon(t *testing.T) {
	seed := maphash.MakeSeed()
	mine, _ := HashOwners(seed, buildMessage(t, "prereq a.example.org. 0 ANY ANY", "update b.example.org. 60 IN CNAME c.example.org."))
	for line, want := range map[string]bool{
		"update A.Example.org. 0 ANY ANY":               true,
		"prereq b.example.org. 0 NONE ANY":              true,
		"update c.example.org. 60 IN A 192.0.2.1":       false, // a target, no owner
		"update x.b.example.org. 60 IN A 192.0.2.1":     false,
		"update example.org. 60 IN MX 0 b.example.org.": false,
	} {
		common := false
		theirs, _ := HashOwners(seed, buildMessage(t, line))
		for owner := range theirs {
			common = common || mine[owner]
		}
		if common != want {
			t.Errorf("%s: in common %t, want %t", line, common, want)
		}
	}
}

// A message with more than MaxOwners names, or forms of them, has no hashes. Each name here has two forms: a label with
// a pointer, and a pointer.
func TestHashOwners_ofManyNames(t *testing.T) {
	seed := maphash.MakeSeed()
	for count, want := range map[int]int{1: 1, MaxOwners / 2: MaxOwners / 2, MaxOwners/2 + 1: 0} {
		var lines []string
		for i := range 3 * count {
			lines = append(lines, fmt.Sprintf("update h%d.example.org. 60 IN A 192.0.2.%d", i%count, i))
		}
		owners, tooMany := HashOwners(seed, buildMessage(t, lines...))
		if len(owners) != want || tooMany != (want == 0) {
			t.Errorf("%d names: %d hashes, too many %t", count, len(owners), tooMany)
		}
	}
	if owners, tooMany := HashOwners(seed, makeLongOwners(update.MaxRecords, 1)); len(owners) != 1 || tooMany {
		t.Errorf("a name behind pointers: %d hashes, too many %t", len(owners), tooMany)
	}
}

// makeLongOwners returns a message whose records have pointers to as many names of up to 255 octets, all to be escaped.
func makeLongOwners(records, names int) []byte {
	msg := []byte{0, 1, 5 << 3, 0, 0, 1, 0, 0, byte(records >> 8), byte(records), 0, 0}
	for range 127 {
		msg = append(msg, 1, 1)
	}
	msg = append(msg, 0, 0, 6, 0, 1)
	for i := range records {
		msg = append(msg, 0xc0, byte(12+2*(i%names)), 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1)
	}
	return msg
}

// Each message is read while no other datagram is: the time bounds how far an update key slows a primary.
func BenchmarkHashOwners(b *testing.B) {
	seed := maphash.MakeSeed()
	for _, names := range []int{1, MaxOwners, 100} {
		msg := makeLongOwners(update.MaxRecords, names)
		b.Run(fmt.Sprint(names), func(b *testing.B) {
			for b.Loop() {
				HashOwners(seed, msg)
			}
		})
	}
}

func typeOf(text string) rdata.Type {
	t, err := rdata.ParseType(text)
	if err != nil {
		panic(err)
	}
	return t
}

func makeSet(t rdata.Type, ttl uint32, values ...string) update.RRset {
	return update.RRset{Type: t, TTL: ttl, Values: values}
}
