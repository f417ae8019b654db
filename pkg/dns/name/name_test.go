// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

const (
	label63 = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"
	label61 = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxy"
)

// Parse returns lower case, A-labels and a trailing dot. IDNA maps the whole text before it is split into labels
// (S1.2).
func TestParse_canonical(t *testing.T) {
	longest := strings.Join([]string{label63, label63, label63, label61}, ".") + "." // 255 octets
	for _, tc := range []struct{ text, want string }{
		{".", "."},
		{"org.", "org."},
		{"www.Example.ORG.", "www.example.org."},
		{"*.example.org.", "*.example.org."},
		{"*.", "*."},
		{"_acme-challenge.www.example.org.", "_acme-challenge.www.example.org."},
		{"0/25.2.0.192.in-addr.arpa.", "0/25.2.0.192.in-addr.arpa."},
		{"r3---x.example.org.", "r3---x.example.org."},
		{"-a-.example.org.", "-a-.example.org."},
		{"_x.example.org.", "_x.example.org."},
		{label63 + ".org.", label63 + ".org."},
		{longest, longest},
		// IDNA
		{"bücher.example.", "xn--bcher-kva.example."},
		{"BÜCHER.example.", "xn--bcher-kva.example."},
		{"bu\u0308cher.example.", "xn--bcher-kva.example."}, // NFC
		{"XN--BCHER-KVA.example.", "xn--bcher-kva.example."},
		{"straße.example.", "xn--strae-oqa.example."}, // not transitional
		{"例え.テスト.", "xn--r8jz45g.xn--zckzah."},
		{"例え。テスト。", "xn--r8jz45g.xn--zckzah."},                  // U+3002
		{"www\u3002example\uff0eorg\uff61", "www.example.org."}, // all dots of UTS 46
		{"ｗｗｗ．ｅｘａｍｐｌｅ．ｏｒｇ．", "www.example.org."},                // fullwidth
		{"＿ａｃｍｅ.example.org.", "_acme.example.org."},
		{"＊.example.org.", "*.example.org."},
		{"0／25.example.org.", "0/25.example.org."},
		{"\u212aelvin.example.", "kelvin.example."}, // KELVIN SIGN
		{"so\u00adft.example.", "soft.example."},    // ignored code point
		{"*.bücher.example.", "*.xn--bcher-kva.example."},
		{"_dmarc.bücher.example.", "_dmarc.xn--bcher-kva.example."},
	} {
		n, err := Parse(tc.text)
		if err != nil {
			t.Errorf("S1.2: Parse(%q): %v", tc.text, err)
			continue
		}
		if n.String() != tc.want {
			t.Errorf("S1.2: Parse(%q) = %q, want %q", tc.text, n, tc.want)
		}
		if again, err := Parse(n.String()); err != nil || again != n {
			t.Errorf("S1.2: Parse(%q) = %q, %v; a canonical name parses to itself", n, again, err)
		}
		if !IsAbsolute(tc.text) {
			t.Errorf("S1.1: IsAbsolute(%q) = false", tc.text)
		}
	}
}

// Parse rejects invalid names (S1.3), and every message names the remedy.
func TestParse_refusals(t *testing.T) {
	tooLong := strings.Join([]string{label63, label63, label63, label63}, ".") + "."
	for _, tc := range []struct{ text, want string }{
		{"", `"."`},
		{"www", `"www."`},
		{"@", "relative"},
		{"bücher", `"xn--bcher-kva."`},
		{"..", "empty label"},
		{".org.", "empty label"},
		{"a..org.", "empty label"},
		{"a\u3002\u3002org.", "empty label"},
		{"a….org.", "IDNA"},
		{label63 + "x.org.", "limit is 63"},
		{tooLong, "limit is 255"},
		{strings.Repeat("ü", 58) + ".org.", "limit is 63"},
		{strings.Repeat("a.", 5000), "255 octets"},
		{"foo*.org.", "leftmost"},
		{"*foo.org.", "leftmost"},
		{"**.org.", "leftmost"},
		{"www.*.org.", "leftmost"},
		{"a b.org.", "not allowed"},
		{"a\u00a0b.org.", "not allowed"}, // maps to a space
		{"a\tb.org.", "not allowed"},
		{" a.org.", "not allowed"},
		{"a.org. ", "not allowed"},
		{`a"b.org.`, "not allowed"},
		{"a'b.org.", "not allowed"},
		{`a\.b.org.`, "not allowed"},
		{`a\046b.org.`, "not allowed"},
		{"$ORIGIN.", "not allowed"},
		{"a;b.org.", "not allowed"},
		{"a\x00b.org.", "not allowed"},
		{"a\x7fb.org.", "not allowed"},
		{"a\nb.org.", "not allowed"},
		{"a@b.org.", "not allowed"},
		{"＠.org.", "not allowed"},
		{"a~b.org.", "not allowed"},
		{"\xff.org.", "IDNA"},
		{"a\ufffd.org.", "IDNA"},
		{"xn--a.org.", "IDNA"},      // not Punycode
		{"xn--\u00fc.org.", "IDNA"}, // not ASCII
		{"xn--abc-.org.", "IDNA"},   // Punycode of plain ASCII
		{"xn--.org.", "nothing"},    // Punycode of nothing
		{"www.xn--", "nothing"},
		{"xn--999999999.org.", "IDNA"}, // overflow
		{"\u0308a.org.", "IDNA"},       // leading combining mark
		{"a\u200db.org.", "IDNA"},      // joiner out of place
		{"\u2064.", "nothing"},         // the label in front of the dot is empty
	} {
		n, err := Parse(tc.text)
		if err == nil {
			t.Errorf("S1.3: Parse(%q) = %q, want an error", tc.text, n)
			continue
		}
		if !strings.Contains(err.Error(), tc.want) {
			t.Errorf("S1.3: Parse(%q): %v; want it to say %q", tc.text, err, tc.want)
		}
		if len(err.Error()) > 700 {
			t.Errorf("Parse(%.20q): an error of %d bytes", tc.text, len(err.Error()))
		}
	}
}

// ParseIn resolves relative names and "@" against the origin (S1.1).
func TestParseIn_origin(t *testing.T) {
	origin := MustParse("example.org.")
	for _, tc := range []struct{ text, want string }{
		{"@", "example.org."},
		{"＠", "example.org."},
		{"www", "www.example.org."},
		{"*", "*.example.org."},
		{"*.dev", "*.dev.example.org."},
		{"www.example.com.", "www.example.com."},
		{"www。", "www."},
		{"a。b", "a.b.example.org."},
		{".", "."},
		{"www.*", ""},
		{"", ""},
	} {
		n, err := ParseIn(tc.text, origin)
		if (err == nil) != (tc.want != "") || n.String() != tc.want {
			t.Errorf("S1.1: ParseIn(%q, %s) = %q, %v; want %q", tc.text, origin, n, err, tc.want)
		}
	}
	if _, err := ParseIn("www", Name{}); err == nil || !strings.Contains(err.Error(), `"www."`) {
		t.Errorf("S1.1: a relative name without a zone: %v", err)
	}
	if _, err := ParseIn("@", Name{}); err == nil {
		t.Errorf("S1.1: the apex of no zone is a name")
	}
	if n, err := ParseIn("www", Root); err != nil || n.String() != "www." {
		t.Errorf("S1.6: ParseIn(www, .) = %q, %v", n, err)
	}
	if n, err := ParseIn("a", MustParse("*.example.org.")); err == nil {
		t.Errorf("S1.3: %q below a wildcard; * is the leftmost label", n)
	}
}

// A relative name is valid only if it and its zone together have at most 255 octets (S1.3).
func TestRelIn_length(t *testing.T) {
	origin := MustParse(strings.Join([]string{label63, label63, label63}, ".") + ".") // 193 octets
	fits, long := MustRel(label61), MustRel(label61+"0")
	n, err := fits.In(origin)
	if err != nil || n.WireLen() != 255 {
		t.Errorf("S1.3: %d octets: %v", n.WireLen(), err)
	}
	if n, err := long.In(origin); err == nil {
		t.Errorf("S1.3: a name of %d octets is accepted", n.WireLen())
	}
}

func TestName_parts(t *testing.T) {
	n := MustParse("*.www.example.org.")
	if got := n.Labels(); !slices.Equal(got, []string{"*", "www", "example", "org"}) || n.NumLabels() != 4 {
		t.Errorf("labels %q, number %d", got, n.NumLabels())
	}
	if !n.IsWildcard() || MustParse("www.org.").IsWildcard() || Root.IsWildcard() {
		t.Error("S1.1: * as leftmost label is a wildcard")
	}
	var up []string
	for p, ok := n.Parent(); ok; p, ok = p.Parent() {
		up = append(up, p.String())
	}
	if !slices.Equal(up, []string{"www.example.org.", "example.org.", "org.", "."}) {
		t.Errorf("parents %q", up)
	}
	if len(Root.Labels()) != 0 || Root.NumLabels() != 0 || Root.WireLen() != 1 || MustParse("a.").WireLen() != 3 {
		t.Error("the root has no labels and takes one octet")
	}
	for _, tc := range []struct {
		zone, sub string
		want      bool
	}{
		{"example.org.", "example.org.", true},
		{"example.org.", "www.example.org.", true},
		{"example.org.", "badexample.org.", false},
		{"example.org.", "org.", false},
		{".", "org.", true},
		{".", ".", true},
		{"org.", ".", false},
	} {
		if got := MustParse(tc.zone).Encloses(MustParse(tc.sub)); got != tc.want {
			t.Errorf("%s encloses %s: %t", tc.zone, tc.sub, got)
		}
	}
	var zero Name
	if zero.Encloses(zero) || Root.Encloses(zero) || zero.Encloses(Root) || !zero.IsZero() || zero.WireLen() != 0 || zero.Labels() != nil {
		t.Error("the zero value is no name")
	}
	if r, ok := MustParse("a.b.org.").Rel(MustParse("org.")); !ok || r != MustRel("a.b") {
		t.Errorf("a.b.org. in org. is %q", r)
	}
	if r, ok := Root.Rel(Root); !ok || !r.IsApex() {
		t.Errorf("the root in itself is %q", r)
	}
	rel := MustRel("a.b")
	p, ok := rel.Parent()
	top, ok2 := p.Parent()
	if _, more := top.Parent(); p != MustRel("b") || top != Apex || !ok || !ok2 || more {
		t.Errorf("parents of a.b: %q, %q, and more: %t", p, top, more)
	}
}

// Key converts a name to a part of a storage key (`www.example.org.` becomes `org.example.www.`), and FromKey converts
// it back. Keys are stored, so their form must never change, and FromKey accepts only the output of Key.
func TestKey_form(t *testing.T) {
	for _, tc := range []struct{ name, key string }{
		{".", ""},
		{"org.", "org."},
		{"www.example.org.", "org.example.www."},
		{"0/25.2.0.192.in-addr.arpa.", "arpa.in-addr.192.0.2.0~25."},
		{"*.example.org.", "org.example.*."},
	} {
		n := MustParse(tc.name)
		if n.Key() != tc.key {
			t.Errorf("key of %s is %q, want %q", n, n.Key(), tc.key)
		}
		if back, err := FromKey(tc.key); err != nil || back != n {
			t.Errorf("FromKey(%q) = %q, %v", tc.key, back, err)
		}
	}
	if MustRel("a.b").Key() != "b.a." || Apex.Key() != "" {
		t.Errorf("relative keys: %q, %q", MustRel("a.b").Key(), Apex.Key())
	}
	for _, key := range []string{"org", ".", "org..", ".org.", "Org.", "a/b.", "@.", "*.a.b.", "a b.", "\xff.", "ü.", strings.Repeat("a.", 200)} {
		if n, err := FromKey(key); err == nil {
			t.Errorf("FromKey(%q) = %q; Key never writes it", key, n)
		}
		if r, err := RelFromKey(key); err == nil {
			t.Errorf("RelFromKey(%q) = %q; Key never writes it", key, r)
		}
	}
	// Stored A-labels remain valid under newer IDNA tables.
	if n, err := FromKey("org.xn--zzzzzz."); err != nil {
		t.Errorf("FromKey of a stored A-label: %q, %v", n, err)
	}
}

func TestMarshalText_roundTrip(t *testing.T) {
	for _, text := range []string{"", ".", "www.example.org.", "xn--zzzzzz.org."} {
		var n Name
		if err := n.UnmarshalText([]byte(text)); err != nil || n.String() != text {
			t.Errorf("UnmarshalText(%q) = %q, %v", text, n, err)
		}
		if back, err := n.MarshalText(); err != nil || string(back) != text {
			t.Errorf("MarshalText(%q) = %q, %v", n, back, err)
		}
	}
	for _, text := range []string{"", "@", "www", "a.b", "*"} {
		var r Rel
		if err := r.UnmarshalText([]byte(text)); err != nil || r.String() != text {
			t.Errorf("UnmarshalText(%q) = %q, %v", text, r, err)
		}
	}
	var n Name
	if err := n.UnmarshalText([]byte("www")); err == nil {
		t.Error("a relative text became a Name")
	}
	if err := n.UnmarshalText([]byte("WWW.Org.")); err != nil || n != MustParse("www.org.") {
		t.Errorf("UnmarshalText reads what Parse takes: %q, %v", n, err)
	}
	var r Rel
	if err := r.UnmarshalText([]byte("www.")); err == nil {
		t.Error("an absolute text became a Rel")
	}
	if err := r.UnmarshalText([]byte("WWW")); err != nil || r != MustRel("www") {
		t.Errorf("UnmarshalText reads what ParseRel takes: %q, %v", r, err)
	}
}

func TestParse_allocatesNothing(t *testing.T) {
	names := []string{"www.example.org.", "*.example.org.", "_acme-challenge.a.b.c.example.org."}
	if n := testing.AllocsPerRun(100, func() {
		for _, text := range names {
			must.Get(Parse(text))(t)
		}
	}); n != 0 {
		t.Errorf("parsing canonical names allocates %v times", n)
	}
	a, b := MustParse(names[0]), MustParse(names[2])
	if n := testing.AllocsPerRun(100, func() { _, _ = a.Compare(b), a.Encloses(b); a.Parent(); b.Rel(a) }); n != 0 {
		t.Errorf("comparing names allocates %v times", n)
	}
}

// A policy sees the characters of a name that passes CheckSpelling, and no Unicode characters mapped to them (S1.2).
func TestCheckSpelling_policies(t *testing.T) {
	for _, tc := range []struct{ text, mapped string }{
		{"＊.x.example.org.", `"*.x.example.org."`},
		{"＿acme-challenge.example.org.", `"_acme-challenge.example.org."`},
		{"a℀b", `"aa/cb"`},
		{"www。example.org.", `"www.example.org."`},
		{"www.example．org.", `"www.example.org."`},
		{"www.example.org｡", `"www.example.org."`},
		{"＠", `"@"`},
		{"*.＠", `"*.@"`},
		{"w＊.例え", `"w*.xn--r8jz45g"`},
		{"*.xn--", "leaves nothing"},
		{"*.\u00ad", "leaves nothing"},
		{"a\xff", "UTF-8"},
		{strings.Repeat("\u00ad", 510) + "＊", "1023 bytes"},
	} {
		if err := CheckSpelling(tc.text); err == nil || !strings.Contains(err.Error(), tc.mapped) {
			t.Errorf("S1.2: %q: %v; want it to say %s", tc.text, err, tc.mapped)
		}
	}
	for _, text := range []string{"*.x.example.org.", "_acme-challenge.Bücher.example.", "0/25.例え.テスト.", "ＷＷＷ.example.org.", "@", ".", "", "xn--bcher-kva.", "a..ü"} {
		if err := CheckSpelling(text); err != nil {
			t.Errorf("S1.2: %q: %v", text, err)
		}
	}
}

func TestRel_Encloses(t *testing.T) {
	for _, c := range []struct {
		top, sub string
		want     bool
	}{
		{"@", "@", true}, {"@", "www", true}, {"www", "@", false}, {"www", "www", true}, {"www", "a.www", true},
		{"www", "awww", false}, {"a.www", "www", false},
	} {
		if got := MustRel(c.top).Encloses(MustRel(c.sub)); got != c.want {
			t.Errorf("%s encloses %s: %t", c.top, c.sub, got)
		}
	}
}
