// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"pgregory.net/rapid"
)

func mustParse(t testing.TB, text string) Pattern {
	t.Helper()
	return must.Get(Parse(text))(t)
}

func nameIn(t testing.TB, text, zone string) name.Name {
	t.Helper()
	return must.Get(name.ParseIn(text, name.MustParse(zone)))(t)
}

// The first cases are the rows of the table in S4.6, and the others are its sentences.
func TestMatch_S4_6(t *testing.T) {
	for _, row := range []struct{ pattern, allows, refuses string }{
		{"*", "www a.b.c * _dmarc", "@"},
		{"@", "@", "www"},
		{"*.dev", "t.dev a.b.dev", "dev a.prod"},
		{"foo*", "foo foobar", "fo a.foobar"},
		{"*.env-*", "www.env-dev a.b.env-dev", "www.prod env-dev"},
		{"www.*", "www.a", "admin.a www.a.b www"},
		{"*.*", "a.b a.b.c", "a"},
		{"www.*.example.org.", "www.test", "www.subdomain.test"},
		{"ab*ba", "abba abxba", "aba"},

		// With a trailing dot a pattern is absolute, otherwise relative.
		{"www.example.org.", "www", "www.example.org @"},
		{"www.example.org", "www.example.org", "www"},
		{"example.org.", "@", "www"},
		// "@" as the last label is the zone's name.
		{"*.@", "www a.b", "@"},
		{"www.@", "www", "a.www @"},
		// A leading "*" matches one or more labels, also in absolute patterns.
		{"*.example.org.", "a a.b", "@"},
		{"*.org.", "a a.b", "@"},
		{"*.", "a a.b", "@"},
		// "*" never matches the apex, in any label.
		{"*.org.", "a", "@"},
		{"ex*.org.", "", "@ a"},
		{"example.*.", "", "@ a"},
		{"www.ex*le.org.", "www", "@ a"},
		// A "*" within a label may match nothing, and a label may have several.
		{"*foo", "foo barfoo", "fo a.foo"},
		{"a*b*c", "abc axbxc abbc", "acb ab"},
		{"a*a*a", "aaa axaxa", "aa a"},
		{"*a*", "a ba ab bab", "b"},
		// A label "*" elsewhere matches exactly one label.
		{"a.*.b", "a.x.b", "a.b a.x.y.b"},
		{"*.*.*", "a.b.c a.b.c.d", "a.b"},
		// Names and patterns are mapped before the comparison (S1.2).
		{"WWW", "www", "ww"},
		{"bücher", "bücher xn--bcher-kva BÜCHER", "bucher"},
		{"*。dev", "a.dev", "dev"},
		{"www．example．org。", "www", "@"},
		{"xn--bcher-kva", "bücher", "@"},
		{"r3---x", "r3---x", "r3--x"},
		// The next patterns are for other zones.
		{"*.other.org.", "", "@ a other.org"},
		{".", "", "@ a"},
		{"org.", "", "@ a"},
	} {
		p := mustParse(t, row.pattern)
		zone := name.MustParse("example.org.")
		for _, text := range strings.Fields(row.allows) {
			if !p.Match(nameIn(t, text, "example.org."), zone) {
				t.Errorf("%q refuses %q", row.pattern, text)
			}
		}
		for _, text := range strings.Fields(row.refuses) {
			if p.Match(nameIn(t, text, "example.org."), zone) {
				t.Errorf("%q allows %q", row.pattern, text)
			}
		}
		if want := row.allows != ""; p.CanMatch(zone) != want {
			t.Errorf("%q: CanMatch %v, want %v", row.pattern, !want, want)
		}
	}
}

func TestMatch_outsideTheZone(t *testing.T) {
	zone := name.MustParse("example.org.")
	for _, text := range []string{"*.org.", "www.example.net.", "*.", "*", "www"} {
		for _, n := range []string{"www.example.net.", "www.xexample.org.", "org.", "."} {
			if mustParse(t, text).Match(name.MustParse(n), zone) {
				t.Errorf("%q matches %s in %s", text, n, zone)
			}
		}
	}
	if (Pattern{}).Match(name.MustParse("www.example.org."), zone) || (Pattern{}).CanMatch(zone) {
		t.Error("the zero Pattern matches")
	}
}

// The root is a valid zone (S1.5).
func TestMatch_root(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "org.", true}, {"*", "a.org.", true}, {"*", ".", false}, {"@", ".", true}, {".", ".", true}, {"*.", "org.", true},
		{"*.", ".", false}, {"org", "org.", true}, {"org.", "org.", true}, {"*.org", "a.org.", true}, {"*.org.", "org.", false},
	} {
		if got := mustParse(t, row.pattern).Match(name.MustParse(row.name), name.Root); got != row.want {
			t.Errorf("%q in the root zone, %s: %v, want %v", row.pattern, row.name, got, row.want)
		}
	}
}

// A rule for an underscore name passes the claims of others only if its pattern has the underscore label literally,
// such as `_acme-challenge.*`. Patterns such as `*` or `_*` match the name, but do not name it.
func TestNamesUnderscore_S4_14(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"_acme-challenge.*", "_acme-challenge.www", true},
		{"_acme-challenge.*", "_dmarc.www", false}, // no match
		{"_acme-challenge.*.example.org.", "_acme-challenge.www", true},
		{"_dmarc", "_dmarc", true},
		{"*", "_dmarc", false},
		{"_*", "_dmarc", false},
		{"_acme-*.*", "_acme-challenge.www", false},
		{"*.www", "_acme-challenge.www", false},
		{"www", "www", false}, // no underscore label
		{"*._domainkey", "s1._domainkey", true},
		{"*._domainkey.*", "s1._domainkey.www", true},
		{"_443._tcp.*", "_443._tcp.www", true},
		{"*._tcp.*", "_443._tcp.www", false},
		{"_443.*.www", "_443._tcp.www", false},
		{"a_b", "a_b", false}, // "_" within the label
	} {
		if got := mustParse(t, row.pattern).NamesUnderscore(nameIn(t, row.name, "example.org."),
			name.MustParse("example.org.")); got != row.want {
			t.Errorf("%q names the underscore of %q: %v, want %v", row.pattern, row.name, got, row.want)
		}
	}
	// The zone's own labels have no holder in the zone.
	zone := name.MustParse("_tcp.example.org.")
	if mustParse(t, "www._tcp.example.org.").NamesUnderscore(nameIn(t, "www", "_tcp.example.org."), zone) {
		t.Error("www in _tcp.example.org. has no underscore label below the zone")
	}
	if !mustParse(t, "_x.*.example.org.").NamesUnderscore(nameIn(t, "_x", "_tcp.example.org."), zone) {
		t.Error("_x is named; the zone's _tcp need not be")
	}
}

func TestParse_refusals(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", "a..b": "empty label", ".a": "empty label", "..": "empty label", "@.": "leave out", "@.a": "last label", "a.@.b": "last label",
		"**": "one \"*\"", "a**b": "one \"*\"", "a b": "owner name", `a\.b`: "owner name", "a;": "owner name", "$x": "owner name", "a@": "owner name", "\x00": "owner name",
		"bü*": "internationalised", "xn--*": "IDNA", "xn--bcher-kva*": "internationalised", "xn--a.*": "IDNA",
		strings.Repeat("a", 64): "limit is 63", strings.Repeat("a", 40) + "*" + strings.Repeat("b", 24): "limit is 63", strings.Repeat("a.", 600): "limit is 1024",
	} {
		p, err := Parse(text)
		if err == nil {
			t.Errorf("%q was read as %q", text, p)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q does not say %q", text, err, want)
		}
	}
}

func TestString_isCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"*.@": "*", "@": "@", "A.@": "a", "Bücher.": "xn--bcher-kva.", "a。b": "a.b", ".": ".", "*.": "*.", "FOO*": "foo*",
	} {
		p := mustParse(t, text)
		if p.String() != want {
			t.Errorf("%q: %q, want %q", text, p, want)
		}
		if again := mustParse(t, p.String()); again.String() != want {
			t.Errorf("%q read again: %q", p, again)
		}
	}
}

// CanMatch counts octets.
func TestCanMatch_length(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." // 193 octets
	for _, row := range []struct {
		pattern string
		want    bool
	}{
		{strings.Repeat("d", 61), true},
		{strings.Repeat("d", 62), false},
		{strings.Repeat("d", 61) + "*", true},
		{"*." + strings.Repeat("d", 59), true},
		{"*." + strings.Repeat("d", 60), false},
		{"*." + strings.Repeat("d", 61) + "." + long, false},
		{"*." + strings.Repeat("d", 59) + "." + long, true},
		{strings.Repeat("d", 61) + "." + long, true},
		{strings.Repeat("d", 62) + "." + long, false},
		{"*.c*.", true},
	} {
		if got := mustParse(t, row.pattern).CanMatch(name.MustParse(long)); got != row.want {
			t.Errorf("%.70q in a zone of 193 octets: %v, want %v", row.pattern, got, row.want)
		}
	}
}

// bruteMatch implements S4.6 literally: it tries every number of labels for a leading "*", and every number of
// characters for any other "*".
func bruteMatch(pattern, n, zone string) bool {
	labels := func(text string) []string {
		if text = strings.TrimRight(text, "."); text == "" { // two dots, under the root zone
			return nil
		}
		return strings.Split(text, ".")
	}
	if n == zone && strings.Contains(pattern, "*") {
		return false
	}
	if n != zone && zone != "." && !strings.HasSuffix(n, "."+zone) {
		return false
	}
	switch {
	case pattern == "@":
		pattern = zone
	case strings.HasSuffix(pattern, ".@"):
		pattern = strings.TrimSuffix(pattern, "@") + zone
	case !strings.HasSuffix(pattern, "."):
		pattern += "." + zone
	}
	var glob func(p, s string) bool
	glob = func(p, s string) bool {
		if p == "" {
			return s == ""
		}
		if p[0] == '*' {
			return glob(p[1:], s) || s != "" && glob(p, s[1:])
		}
		return s != "" && p[0] == s[0] && glob(p[1:], s[1:])
	}
	var all func(p, s []string) bool
	all = func(p, s []string) bool {
		if len(p) == 0 || len(s) == 0 {
			return len(p) == len(s)
		}
		return glob(p[0], s[0]) && all(p[1:], s[1:])
	}
	p, s := labels(pattern), labels(n)
	if len(p) == 0 || p[0] != "*" {
		return all(p, s)
	}
	for taken := 1; taken <= len(s); taken++ {
		if all(p[1:], s[taken:]) {
			return true
		}
	}
	return false
}

// Few letters and short labels, so that names and patterns match often.
var (
	nameLabels    = rapid.StringMatching(`_?[ab]{1,4}`)
	patternLabels = rapid.OneOf(nameLabels, rapid.Just("*"), rapid.StringMatching(`_?(\*?[ab]{1,2}){1,2}\*?`))
	zones         = rapid.SampledFrom([]string{".", "a.", "a.b.", "ab.a.b.", "_a.b."})
)

func drawName(t *rapid.T, zone string) string {
	below := rapid.SliceOfN(nameLabels, 0, 4).Draw(t, "name")
	if len(below) == 0 {
		return zone
	}
	if rapid.IntRange(0, 9).Draw(t, "wildcard") == 0 {
		below[0] = "*"
	}
	return joinName(below, zone)
}

func joinName(labels []string, zone string) string {
	return strings.Join(labels, ".") + "." + strings.TrimPrefix(zone, ".")
}

func drawPattern(t *rapid.T) string {
	text := strings.Join(rapid.SliceOfN(patternLabels, 1, 4).Draw(t, "pattern"), ".")
	return text + rapid.SampledFrom([]string{"", "", ".", ".@", ".a.b."}).Draw(t, "end")
}

func TestMatch_agreesWithBruteForce(t *testing.T) {
	matches := 0
	rapid.Check(t, func(t *rapid.T) {
		zone := zones.Draw(t, "zone")
		text := drawPattern(t)
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			n := drawName(t, zone)
			want := bruteMatch(text, n, zone)
			if got := p.Match(name.MustParse(n), name.MustParse(zone)); got != want {
				t.Fatalf("%q in zone %s, name %s: %v, want %v", text, zone, n, got, want)
			}
			if want {
				matches++
				if !p.CanMatch(name.MustParse(zone)) {
					t.Fatalf("%q in zone %s matches %s, yet CanMatch is false", text, zone, n)
				}
				at, ok := name.MustParse(n).Rel(name.MustParse(zone))
				for ; ok; at, ok = at.Parent() {
					if !p.MayMatchBelow(at, name.MustParse(zone)) {
						t.Fatalf("%q in zone %s matches %s, yet MayMatchBelow is false for %s", text, zone, n, at)
					}
				}
			}
		}
	})
	if matches < 20 && !testing.Short() { // a short run draws a fifth
		t.Fatalf("only %d matches: the test says little", matches)
	}
}

// CanMatch returns true exactly if a pattern can match a name of the zone.
func TestCanMatch_agreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, text := zones.Draw(t, "zone"), drawPattern(t)
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		witness := ""
		for _, below := range listCandidates(text, zone) {
			if bruteMatch(text, below, zone) {
				witness = below
			}
		}
		if got := p.CanMatch(name.MustParse(zone)); got != (witness != "") {
			t.Fatalf("%q in zone %s: CanMatch %v, witness %q", text, zone, got, witness)
		}
	})
}

// listCandidates returns names in the zone that include a match if there is any. Below the zone, each star becomes
// nothing or "x".
func listCandidates(pattern, zone string) []string {
	all := []string{zone}
	labels := strings.Split(strings.TrimSuffix(strings.TrimSuffix(pattern, ".@"), "."), ".")
	for i := range labels {
		if labels[i] == "*" {
			labels[i] = "x"
		}
		labels[i] = strings.ReplaceAll(labels[i], "*", "")
	}
	for keep := 1; keep <= len(labels); keep++ {
		all = append(all, joinName(labels[:keep], zone))
	}
	return all
}

func TestNamesUnderscore_impliesMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, text := zones.Draw(t, "zone"), drawPattern(t)
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		n := drawName(t, zone)
		if !p.NamesUnderscore(name.MustParse(n), name.MustParse(zone)) {
			return
		}
		if !bruteMatch(text, n, zone) {
			t.Fatalf("%q does not match %s in %s but names its underscore", text, n, zone)
		}
		below := strings.TrimSuffix(n, zone)
		for _, label := range strings.Split(below, ".") {
			if strings.HasPrefix(label, "_") && !strings.Contains("."+text+".", "."+label+".") {
				t.Fatalf("%q names %s of %s, which is not in it", text, label, n)
			}
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"*", "@", "*.dev", "foo*", "*.@", "a**b", "bücher", "*。dev", "xn--*", ".", "_acme-challenge.*", "*a*a*a*"} {
		f.Add(seed, "www.example.org.", "example.org.")
	}
	f.Fuzz(func(t *testing.T, text, n, zone string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q is written %q, which is read as %q, %v", text, p, again, err)
		}
		owner, err := name.Parse(n)
		if err != nil {
			return
		}
		apex, err := name.Parse(zone)
		if err != nil {
			return
		}
		got := p.Match(owner, apex)
		if strings.Count(p.String(), "*") <= 4 && len(n) < 100 { // brute force is exponential
			if want := bruteMatch(p.String(), owner.String(), apex.String()); got != want {
				t.Fatalf("%q (%q) in zone %s, name %s: %v, want %v", text, p, apex, owner, got, want)
			}
		}
		if got && !p.CanMatch(apex) {
			t.Fatalf("%q matches %s in %s, yet CanMatch is false", p, owner, apex)
		}
		if p.NamesUnderscore(owner, apex) && !got {
			t.Fatalf("%q names the underscore of %s without matching it", p, owner)
		}
	})
}

// makeWorstPattern returns the pattern and label that would take a backtracking matcher years.
func makeWorstPattern(t testing.TB) (Pattern, name.Name, name.Name) {
	zone := name.MustParse("example.org.")
	return mustParse(t, strings.Repeat("*a", 31)+"*b"), nameIn(t, strings.Repeat("a", 63)+"."+strings.Repeat("a", 63)+"."+
		strings.Repeat("a", 63), "example.org."), zone
}

func TestMatch_isLinear(t *testing.T) {
	p, n, zone := makeWorstPattern(t)
	start := time.Now()
	for range 1000 {
		if p.Match(n, zone) {
			t.Fatal("no b, yet a match")
		}
	}
	if elapsed := time.Since(start); elapsed > 2*time.Second {
		t.Errorf("1000 matches took %v", elapsed)
	}
}

// S4.8.
func TestOnly_S4_12(t *testing.T) {
	zone, _ := name.Parse("example.org.")
	for text, want := range map[string]string{
		"a.b": "a.b.example.org.", "@": "example.org.", "a.@": "a.example.org.", "WWW": "www.example.org.", "www.example.org.": "www.example.org.",
		"_dmarc.b": "_dmarc.b.example.org.", "*.b": "", "a*": "", "a.*": "", "www.other.org.": "",
	} {
		p := must.Get(Parse(text))(t)
		n, ok := p.LiteralName(zone)
		if ok != (want != "") || ok && n.String() != want {
			t.Errorf("%q matches only %v, %v; not %q", text, n, ok, want)
		}
		if ok && !p.IsLiteralFor(n, zone) {
			t.Errorf("%q does not name %s", text, n)
		}
	}
}

// NamesAbove lists the names of a zone above all names that a pattern can match: its literal labels at the end, without
// the first label. For example, `a.b.c` has the names `b.c` and `c`.
func TestNamesAbove_S2_1(t *testing.T) {
	zone := name.MustParse("example.org.")
	for text, want := range map[string]string{
		"*": "", "@": "", "www": "", "a.b": "b", "*.b": "b", "a.b.c": "c b.c", "*.b.c": "c b.c", "*.b*.c": "c", "a.*.c": "c", "a.*": "",
		"b*.c": "c", "*.b.example.org.": "b", "a.b.example.org.": "b", "*.org.": "", "*.example.org.": "", "example.org.": "", "*.B.@": "b",
		"a.*.org.": "",
	} {
		var got []string
		for _, n := range mustParse(t, text).NamesAbove(zone) {
			got = append(got, strings.TrimSuffix(n.String(), ".example.org."))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := name.MustParse(zones.Draw(t, "zone"))
		p, err := Parse(drawPattern(t))
		if err != nil {
			t.Skip(err)
		}
		for range 20 {
			n := name.MustParse(drawName(t, zone.String()))
			for _, above := range p.NamesAbove(zone) {
				if p.Match(n, zone) && (above == n || !above.Encloses(n) || !zone.Encloses(above) || above == zone) {
					t.Fatalf("%q in zone %s matches %s, which is not below %s", p, zone, n, above)
				}
			}
		}
	})
}
