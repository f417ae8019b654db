// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func renderFile(text string, opts ReadOptions) []string {
	var out []string
	for rr, err := range Read(strings.NewReader(text), opts) {
		var bad *LineError
		switch {
		case errors.As(err, &bad):
			out = append(out, fmt.Sprintf("%d! %s | %s", bad.Line, bad.Reason, bad.Fix))
		case err != nil:
			out = append(out, "error "+err.Error())
		default:
			out = append(out, fmt.Sprintf("%d %s %d %s %s", rr.Line, rr.Name, rr.TTL, rr.Type, rr.Data))
			if rr.Note != "" {
				out = append(out, "note: "+rr.Note)
			}
		}
	}
	return out
}

// Read follows each sentence of RFC 1035 §5.1.
func TestRead_syntax(t *testing.T) {
	org := ReadOptions{Origin: name.MustParse("example.org.")}
	const fixTTL = ` | write seconds or units, as in "$TTL 3600" or "$TTL 1h"`
	guess := ReadOptions{Guess: func() name.Name { return name.MustParse("guess.example.") }}
	for _, tc := range []struct {
		what, text string
		opts       ReadOptions
		want       []string
	}{
		{"nothing", "", org, nil},
		{"blank lines and comments", "\n  \t\n; all\n   ; of it\n", org, nil},
		{"owner, ttl, class in both orders", "a 5 IN A 192.0.2.1\nb IN 6 A 192.0.2.1\nc 7 A 192.0.2.1\nd IN A 192.0.2.1\n", org, []string{
			"1 a.example.org. 5 A 192.0.2.1", "2 b.example.org. 6 A 192.0.2.1", "3 c.example.org. 7 A 192.0.2.1", "4 d.example.org. 7 A 192.0.2.1"}},
		{"the last owner is taken over", "a 5 A 192.0.2.1\n  A 192.0.2.2\n\tAAAA ::1\n", org, []string{
			"1 a.example.org. 5 A 192.0.2.1", "2 a.example.org. 5 A 192.0.2.2", "3 a.example.org. 5 AAAA ::1"}},
		{"a refused owner is not", "a 5 A 192.0.2.1\nb..c A 192.0.2.1\n A 192.0.2.2\nd A 192.0.2.3\n", org, []string{
			"1 a.example.org. 5 A 192.0.2.1",
			`2! name "b..c" has an empty label | write one dot between labels and none in front`,
			"3! the line has no owner name and there is none above that it could take over | begin the line with the name",
			"4 d.example.org. 5 A 192.0.2.3"}},
		{"the SOA names the zone and its minimum the TTL", "example.com. IN SOA ns root (\n 1 ; serial\n 2 3 ; refresh, retry\n 4\n 5 )\n NS ns\nwww A 192.0.2.1", ReadOptions{}, []string{
			"1 example.com. 5 SOA ns.example.com. root.example.com. 1 2 3 4 5", "6 example.com. 5 NS ns.example.com.", "7 www.example.com. 5 A 192.0.2.1"}},
		{"$TTL outlasts explicit TTLs", "$TTL 1h\na A 192.0.2.1\nb 5 A 192.0.2.1\nc A 192.0.2.1\n", org, []string{
			"2 a.example.org. 3600 A 192.0.2.1", "3 b.example.org. 5 A 192.0.2.1", "4 c.example.org. 3600 A 192.0.2.1"}},
		{"so does the minimum of an SOA without TTL, as in BIND", "@ SOA ns h 1 2 3 4 5\na 60 A 192.0.2.1\nb A 192.0.2.1\n", org, []string{
			"1 example.org. 5 SOA ns.example.org. h.example.org. 1 2 3 4 5",
			"2 a.example.org. 60 A 192.0.2.1", "3 b.example.org. 5 A 192.0.2.1"}},
		{"TTL units", "a 1w2D3h4M5s A 192.0.2.1\nb 0 A 192.0.2.1\nc 2147483647 A 192.0.2.1\n", org, []string{
			"1 a.example.org. 788645 A 192.0.2.1", "2 b.example.org. 0 A 192.0.2.1", "3 c.example.org. 2147483647 A 192.0.2.1"}},
		{"S5.5: TTL limit", "a 2147483648 A 192.0.2.1\nb 99999999999999999999 A 192.0.2.1\nc 3551w A 192.0.2.1", org, []string{
			`1! TTL "2147483648" is not a time of 0 to 2147483647 seconds (RFC 2181 §8) | write seconds, or units as in "1h30m"`,
			`2! TTL "99999999999999999999" is not a time of 0 to 2147483647 seconds (RFC 2181 §8) | write seconds, or units as in "1h30m"`,
			`3! TTL "3551w" is not a time of 0 to 2147483647 seconds (RFC 2181 §8) | write seconds, or units as in "1h30m"`}},
		{"no TTL", "a A 192.0.2.1\n", org, []string{`1! the record has no TTL and there is none above | put "$TTL 3600" at the top of the file`}},
		{"S5.5: class", "a 5 CH A 192.0.2.1\nb 5 CLASS1 A 192.0.2.1\nc 5 CLASS3 A 192.0.2.1", org, []string{
			"1! class CH | only records of class IN are read", "2 b.example.org. 5 A 192.0.2.1", "3! class CLASS3 | only records of class IN are read"}},
		{"$ORIGIN", "$ORIGIN dev\na 5 CNAME b\n$ORIGIN example.com.\na 5 CNAME @\n@ NS c\n", org, []string{
			"2 a.dev.example.org. 5 CNAME b.dev.example.org.", "4 a.example.com. 5 CNAME example.com.", "5 example.com. 5 NS c.example.com."}},
		{"a bad $ORIGIN leaves nothing relative", "$ORIGIN a..b.\nwww 5 A 192.0.2.1\nw.org. 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			"3 w.org. 5 A 192.0.2.1"}},
		{"nor in data", "$ORIGIN a..b.\nw.org. 5 CNAME www\nw.org. 5 MX 10 @\n@ 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			`3! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			`4! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`}},
		{"nor below an SOA", "$ORIGIN a..b.\nw.org. 5 SOA a.org. b.org. 1 2 3 4 5\nwww 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2 w.org. 5 SOA a.org. b.org. 1 2 3 4 5`,
			`3! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`}},
		{"an $ORIGIN without a name", "$ORIGIN\nwww 5 A 192.0.2.1\n$ORIGIN example.com.\nwww 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN takes one name | write it absolute, as in "$ORIGIN example.org."`,
			`2! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			"4 www.example.com. 5 A 192.0.2.1"}},
		{"nor a relative $ORIGIN", "$ORIGIN a..b.\n$ORIGIN sub\nwww 5 A 192.0.2.1\n" +
			"$ORIGIN c.org.\n$ORIGIN sub\nwww 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			`3! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`,
			"6 www.sub.c.org. 5 A 192.0.2.1"}},
		{"a second bad $ORIGIN counts from itself", "$ORIGIN a..b.\n$ORIGIN b..c.\nwww 5 A 192.0.2.1\n", org, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2! $ORIGIN: name "b..c." has an empty label | write one dot between labels and none in front`,
			`3! a name is relative to the $ORIGIN of line 2, which is refused | correct that line`}},
		{"an SOA's owner without its last dot is the zone", "Example.org 5 SOA ns h 1 2 3 4 5\n" +
			"\tNS ns\nexample.org 5 A 192.0.2.1\n\tAAAA 2001:db8::1\nwww.Example.org 5 A 192.0.2.1\nexample 5 A 192.0.2.1\n" +
			"$ORIGIN example.org.\nexample.org 5 A 192.0.2.1\n", org, []string{
			"1 example.org. 5 SOA ns.example.org. h.example.org. 1 2 3 4 5",
			`note: the owner "Example.org" lacks its last dot, as Cloudflare writes it, and is taken as the zone's name example.org.`,
			"2 example.org. 5 NS ns.example.org.",
			`3! the owner "example.org" means example.org.example.org. here, because its last dot lacks, as in the SOA | ` +
				`write "example.org."`,
			"4! the line has no owner name and there is none above that it could take over | begin the line with the name",
			`5! the owner "www.Example.org" means www.example.org.example.org. here, because its last dot lacks, as in the SOA | ` +
				`write "www.Example.org."`,
			"6 example.example.org. 5 A 192.0.2.1", "8 example.org.example.org. 5 A 192.0.2.1"}},
		{"but not below an $ORIGIN, where com is com.com.", "$ORIGIN com.\ncom 5 SOA ns h 1 2 3 4 5\n", org, []string{
			"2 com.com. 5 SOA ns.com. h.com. 1 2 3 4 5"}},
		{"nor another relative name", "org 5 SOA ns h 1 2 3 4 5\n", org, []string{
			"1 org.example.org. 5 SOA ns.example.org. h.example.org. 1 2 3 4 5"}},
		{"a CAA tag in upper case", "a 5 CAA 0 ISSUE \"ca.example.net\"\na CAA 0 issue \"B.example\"\n", org, []string{
			`1 a.example.org. 5 CAA 0 issue "ca.example.net"`,
			`note: the tag "ISSUE" is served in lower case, which means the same (RFC 8659 §4.1)`,
			`2 a.example.org. 5 CAA 0 issue "B.example"`}},
		{"a bad $TTL leaves the one above", "$TTL 1h\n$TTL 1h30\na A 192.0.2.1\n", org, []string{
			`2! $TTL, without which the TTL above holds, 3600 s: TTL "1h30" is not a time of 0 to 2147483647 seconds (RFC 2181 §8)` +
				` | write seconds, or units as in "1h30m"`,
			"3 a.example.org. 3600 A 192.0.2.1"}},
		{"or the last TTL", "a 60 A 192.0.2.1\n$TTL\nb A 192.0.2.1\n", org, []string{
			"1 a.example.org. 60 A 192.0.2.1",
			"2! $TTL takes one time, and without it the TTL above holds, 60 s" + fixTTL,
			"3 b.example.org. 60 A 192.0.2.1"}},
		{"or the zone's", "$TTL x\nb A 192.0.2.1\n", ReadOptions{Origin: org.Origin, TTL: new(uint32)}, []string{
			"1! $TTL takes one time, and without it the TTL of the zone holds, 0 s" + fixTTL,
			"2 b.example.org. 0 A 192.0.2.1"}},
		{"parentheses in parentheses, as BIND reads them", "a 5 TXT ( ( one\n two ) \"(\" three ( ) )\nb 5 A ((192.0.2.1))\n", org, []string{
			`1 a.example.org. 5 TXT "one" "two" "(" "three"`, "3 b.example.org. 5 A 192.0.2.1"}},
		{"a guess holds where nothing says the origin", "$TTL 5\n@ IN SOA ns h 1 2 3 4 5\nwww A 192.0.2.1\n", guess, []string{
			"2 guess.example. 5 SOA ns.guess.example. h.guess.example. 1 2 3 4 5", "3 www.guess.example. 5 A 192.0.2.1"}},
		{"an SOA with an absolute owner says it", "example.com. 5 SOA ns h 1 2 3 4 5\nwww A 192.0.2.1\n", guess, []string{
			"1 example.com. 5 SOA ns.example.com. h.example.com. 1 2 3 4 5", "2 www.example.com. 5 A 192.0.2.1"}},
		{"$ORIGIN says it", "$ORIGIN example.com.\nwww 5 A 192.0.2.1\n", guess, []string{"2 www.example.com. 5 A 192.0.2.1"}},
		{"no guess after a bad $ORIGIN", "$ORIGIN a..b.\nwww 5 A 192.0.2.1\n", guess, []string{
			`1! $ORIGIN: name "a..b." has an empty label | write one dot between labels and none in front`,
			`2! a name is relative to the $ORIGIN of line 1, which is refused | correct that line`}},
		{"$INCLUDE", "$INCLUDE /etc/passwd\na 5 A 192.0.2.1\n", org, []string{
			"1! $INCLUDE is not followed | put the records of the other file here, or load it by itself", "2 a.example.org. 5 A 192.0.2.1"}},
		{"other directives", "$UNIX x\n$TTL\n$TTL soon\n$ORIGIN\n", org, []string{
			`1! "$UNIX" is not a directive | the directives are $ORIGIN and $TTL`,
			"2! $TTL takes one time, and without it a record needs a TTL of its own" + fixTTL,
			"3! $TTL takes one time, and without it a record needs a TTL of its own" + fixTTL,
			`4! $ORIGIN takes one name | write it absolute, as in "$ORIGIN example.org."`}},
		{"quotes keep what comments and parentheses would take", "a 5 TXT \"b;c (d\" ; comment\nb 5 TXT a\\;b \\( ; x\nc 5 TXT ( one\n \"two ) ;\" ; x\n three )\n", org, []string{
			`1 a.example.org. 5 TXT "b;c (d"`, `2 b.example.org. 5 TXT "a;b" "("`, `3 c.example.org. 5 TXT "one" "two ) ;" "three"`}},
		{"an open quote ends with its line", "a 5 TXT \"b\nc 5 A 192.0.2.1\n", org, []string{
			`1! a quoted string is not closed on its line | close it, and write \010 for a newline in it`, "2 c.example.org. 5 A 192.0.2.1"}},
		{"an open parenthesis does not swallow the rest", "a 5 A ( 192.0.2.1\nb 5 A 192.0.2.2\nc 5 A ( 192.0.2.3 )\n", org, []string{
			"1! a parenthesis is not closed | end the record with )", "2 b.example.org. 5 A 192.0.2.2", "3 c.example.org. 5 A 192.0.2.3"}},
		{"a closing parenthesis alone", "a 5 A 192.0.2.1 )\nb 5 A 192.0.2.2\n", org, []string{
			"1! a closing parenthesis without an opening one | remove it or quote it", "2 b.example.org. 5 A 192.0.2.2"}},
		{"S1.3: escapes in owners", `\119ww 5 A 192.0.2.1` + "\n" + `\*.a 5 A 192.0.2.1` + "\n" + `a\.b 5 A 192.0.2.1` + "\n" + `a\ b 5 A 192.0.2.1` + "\n" + `a\9 5 A 192.0.2.1`, org, []string{
			"1 www.example.org. 5 A 192.0.2.1", "2 *.a.example.org. 5 A 192.0.2.1",
			`3! name "a\\.b" has an escape that stands for no character of an owner name | labels are letters, digits, "-", "_" and "/"`,
			`4! name "a b": " " is not allowed in an owner name | labels are letters, digits, "-", "_", "/", and "*" alone as the leftmost label`,
			`5! name "a\\9" has an escape that stands for no character of an owner name | labels are letters, digits, "-", "_" and "/"`}},
		{"a wildcard in octal", `\052.a 5 A 192.0.2.1` + "\n 5 A 192.0.2.2\n" + `x\052 5 A 192.0.2.3`, org, []string{
			`1! the label \052 is "*" in octal, as Route 53 writes a wildcard, but "4" in a zone file | write "*"`,
			"2! the line has no owner name and there is none above that it could take over | begin the line with the name",
			"3 x4.example.org. 5 A 192.0.2.3"}},
		{"a slash in octal", `0\05764 5 NS ns` + "\n" + `0/64 5 NS ns`, org, []string{
			`1! \057 is "/" in octal, as Route 53 writes it, but "9" in a zone file | write "/" or "9"`,
			"2 0/64.example.org. 5 NS ns.example.org."}},
		{"a time stamp of Windows", "pc [AGE:3731000] 1200 CAA 0 Issue x\n [AGE:3731000]\tA\t192.0.2.1\n", org, []string{
			`1 pc.example.org. 1200 CAA 0 issue "x"`,
			"note: the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted" +
				`; the tag "Issue" is served in lower case, which means the same (RFC 8659 §4.1)`,
			"2 pc.example.org. 1200 A 192.0.2.1",
			"note: the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted"}},
		{"a contact of Azure without its last dot", "@ 5 SOA ns h.azuredns-hostmaster.microsoft.com 1 2 3 4 5\n" +
			"@ SOA ns azuredns-hostmaster.microsoft.com ( 1 2 3 4 5 )\n", org, []string{
			"1 example.org. 5 SOA ns.example.org. h.azuredns-hostmaster.microsoft.com.example.org. 1 2 3 4 5",
			"2 example.org. 5 SOA ns.example.org. azuredns-hostmaster.microsoft.com. 1 2 3 4 5",
			"note: the contact azuredns-hostmaster.microsoft.com lacks its last dot, as Azure writes it, and is taken as absolute"}},
		{"S1.2: U-labels", "bücher 5 A 192.0.2.1\n", org, []string{"1 xn--bcher-kva.example.org. 5 A 192.0.2.1"}},
		{"types by number", "a 5 TYPE1 \\# 4 C0000201\nb 5 TYPE65280 \\# 2 ( AB\n CD )\n", org, []string{
			"1 a.example.org. 5 A 192.0.2.1", `2 b.example.org. 5 TYPE65280 \# 2 ABCD`}},
		{"bad data names the type", "a 5 A 192.0.2\na 5 WHAT 1\na 5 IN\na 5 MX 10\n", org, []string{
			`1! A rdata "192.0.2": "192.0.2" is not an IPv4 address | write four decimal numbers 0-255 with dots, as in "192.0.2.1"`,
			`2! type "WHAT" is not known | write a mnemonic such as "AAAA", or "TYPE" and a number (RFC 3597 §5)`,
			`3! the record has no type | write "name TTL IN type data"`,
			`4! MX rdata "10": 1 field | MX has preference (a number 0-65535), exchange (a domain name), for example: 10 mail.example.org.`}},
		{"line ends and a byte order mark", "\ufeffa 5 A 192.0.2.1\r\nb A 192.0.2.2", org, []string{
			"1 a.example.org. 5 A 192.0.2.1", "2 b.example.org. 5 A 192.0.2.2"}},
		{"$GENERATE", "$GENERATE 1-1000000 a$ A 192.0.2.$\na 5 A 192.0.2.1\n", org, []string{
			"1! $GENERATE is not expanded | let BIND write the records out: named-compilezone -o EXPANDED ZONE FILE",
			"2 a.example.org. 5 A 192.0.2.1"}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			if got := renderFile(tc.text, tc.opts); !slices.Equal(got, tc.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
		})
	}
}

// Of a number of seconds or a base64 text, Read takes the same texts as BIND, and rejects the same.
func TestRead_judgesLikeBIND(t *testing.T) {
	tool := rig.Need(rig.Find("named-compilezone", "hack/install-peers.sh"))(t)
	const head = "@ 60 IN SOA ns.zone.example. h.zone.example. 1 7200 3600 1209600 60\n@ 60 NS ns.example.net.\n"
	for text, want := range map[string]bool{
		head + "a 1h30 A 192.0.2.1\n":  false,
		head + "a 1h30m A 192.0.2.1\n": true,
		head + "a 1m1h A 192.0.2.1\n":  true,
		head + "a 90 A 192.0.2.1\n":    true,
		head + "$TTL 1d1\n":            false,
		"@ 60 IN SOA ns.zone.example. h.zone.example. 1 2h5 3600 1209600 60\n@ 60 NS ns.example.net.\n": false,
		head + "a 60 CERT 1 0 0 VJ==\n": false,
		head + "a 60 CERT 1 0 0 VA==\n": true,
	} {
		in := filepath.Join(t.TempDir(), "in.zone")
		must.Succeed(t, os.WriteFile(in, []byte(text), 0o600))
		said, err := exec.Command(tool, "-i", "none", "-o", os.DevNull, zone.String(), in).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("BIND: %v, want %v:\n%s%s", err, want, text, said)
		}
		if got := renderFile(text, ReadOptions{Origin: zone}); want == strings.Contains(strings.Join(got, "\n"), "! ") {
			t.Errorf("%s: Read takes it: want %v: %q", text, want, got)
		}
	}
}

func TestRead_longLine(t *testing.T) {
	text := "a. 5 TXT \"" + strings.Repeat("x", maxLine) + "\"\nb. 5 A 192.0.2.1\nc. 5 TXT (" + strings.Repeat(" x\n", maxLine) + ")\n"
	got := renderFile(text, ReadOptions{})
	if len(got) < 3 || !strings.Contains(got[0], "a line of more than") || got[1] != "2 b. 5 A 192.0.2.1" || !strings.Contains(got[2], "3! a parenthesis is not closed") {
		t.Errorf("%.300q", got[:min(3, len(got))])
	}
}

// The number of lines that are read again is limited, because a small file would otherwise take forever.
func TestRead_openParentheses(t *testing.T) {
	got := renderFile(strings.Repeat("a. 5 TXT ( x\n\n;\n", 2000), ReadOptions{})
	if len(got) == 0 {
		t.Fatal("no line was reported")
	}
	for _, line := range got {
		if !strings.Contains(line, "parenthes") {
			t.Fatal(line)
		}
	}
}

func TestRead_readerFails(t *testing.T) {
	broken := errors.New("disk on fire")
	var got []string
	for rr, err := range Read(io.MultiReader(strings.NewReader("a. 5 A 192.0.2.1\nb. 5 A 192.0.2.2\n"), iotest.ErrReader(broken)), ReadOptions{}) {
		got = append(got, fmt.Sprint(rr.Name, err))
		if err != nil && !errors.Is(err, broken) {
			t.Errorf("%v; want it to wrap %v", err, broken)
		}
	}
	if len(got) != 3 || !strings.Contains(got[2], "after line 2") {
		t.Errorf("%q", got)
	}
}

func TestRead_stops(t *testing.T) {
	for _, text := range []string{"a. 5 A 192.0.2.1\nb. 5 A 192.0.2.1\n", "x\ny\n", "\"\n\"\n"} {
		n := 0
		for range Read(strings.NewReader(text), ReadOptions{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d", text, n)
		}
	}
}

func FuzzZonefile(f *testing.F) {
	for _, text := range []string{
		"", "$TTL 1h\n@ SOA a b 1 2 3 4 5\n NS a\n", "a. 5 IN TXT \"b;c\" ( d ; e\n ) \n", "$GENERATE 1-3 a$. 5 A 192.0.2.$\n",
		"\\119.a 5 A 1.2.3.4", "a 5 TYPE1 \\# 4 01020304\n", "( \n)\n(", "\"", "$ORIGIN a.\n$INCLUDE b\n", "\ufeff\r\n", "a. 5 HTTPS 1 . alpn=\"h2,h3\"\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, lines := 0, strings.Count(text, "\n")+1
		for rr, err := range Read(strings.NewReader(text), ReadOptions{Origin: name.MustParse("example.org.")}) {
			if n++; n > lines {
				t.Fatalf("%d results from %d lines", n, lines)
			}
			var bad *LineError
			switch {
			case rr.Line < 1 || rr.Line > lines:
				t.Fatalf("line %d of %d", rr.Line, lines)
			case errors.As(err, &bad):
				if bad.Line != rr.Line || bad.Reason == "" || len(bad.Error()) > 2500 {
					t.Fatalf("%d: %v", rr.Line, bad)
				}
			case err != nil:
				t.Fatal(err)
			default:
				checkLine(t, rr)
			}
		}
	})
}

// Read takes the files of the exporters in docs/coming-from.md. After repairs, which correct each slip of the exporter,
// BIND has the same records.
func TestRead_exports(t *testing.T) {
	const stamp = "the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted"
	for file, tc := range map[string]struct {
		repairs []string
		said    []string // notes, and refused lines with "!"
	}{
		"cloudflare.txt": {repairs: []string{"zone.example\t", "zone.example.\t"},
			said: []string{`7 the owner "zone.example" lacks its last dot, as Cloudflare writes it, ` +
				"and is taken as the zone's name zone.example."}},
		"azure.txt": {repairs: []string{"azuredns-hostmaster.microsoft.com ", "azuredns-hostmaster.microsoft.com. "},
			said: []string{"10 the contact azuredns-hostmaster.microsoft.com lacks its last dot, as Azure writes it, " +
				"and is taken as absolute"}},
		"google.txt": {},
		"route53.txt": {repairs: []string{"@\t60\tAWS\t", ";", `\052`, ";", `0\057`, ";"}, said: []string{
			"5! an alias of Route 53 is no record of DNS",
			`6! the label \052 is "*" in octal, as Route 53 writes a wildcard, but "4" in a zone file`,
			`7! \057 is "/" in octal, as Route 53 writes it, but "9" in a zone file`}},
		"powerdns.txt": {},
		"windows.txt": {repairs: []string{"[AGE:3731000]", "", "[AGE:3731007]", "", "[AGE:3731042]", ""},
			said: []string{"25 " + stamp, "26 " + stamp, "27 " + stamp, "30 " + stamp}},
		"dnscontrol.txt": {},
		"octodns.txt":    {},
	} {
		t.Run(file, func(t *testing.T) {
			text := string(must.Get(os.ReadFile(filepath.Join("testdata/exports", file)))(t))
			var got, said []string
			for _, line := range renderFile(text, ReadOptions{Origin: zone}) {
				number, what, _ := strings.Cut(line, " ")
				switch {
				case number == "note:":
					n, _, _ := strings.Cut(said[len(said)-1], " ")
					said[len(said)-1] = n + " " + what
				case strings.HasSuffix(number, "!"):
					reason, _, _ := strings.Cut(what, " | ")
					said = append(said, number+" "+reason)
				default:
					got, said = append(got, what), append(said, number+" ")
				}
			}
			said = slices.DeleteFunc(said, func(line string) bool { return strings.HasSuffix(line, " ") })
			if !slices.Equal(said, tc.said) {
				t.Errorf("said\n\t%s\nwant\n\t%s", strings.Join(said, "\n\t"), strings.Join(tc.said, "\n\t"))
			}
			repaired := strings.NewReplacer(tc.repairs...).Replace(text)
			var want []string
			for _, e := range readZone(t, compileZone(t, []byte(repaired))) {
				want = append(want, fmt.Sprintf("%s %d %s %s", e.Name, e.TTL, e.Type, e.Data))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(want) < 5 {
				t.Errorf("got\n\t%s\nBIND has\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
