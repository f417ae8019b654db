// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode"

	"kubi.zone/kubizone/test/must"
)

func TestEscape_leavesPrintableCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"www.example.org. A":            "www.example.org. A",
		"müller.例え":                     "müller.例え",
		"a\x1b[31mred\a":                `a\u001b[31mred\u0007`,
		"a\xff\x00b":                    `a\xff\u0000b`,
		"one\ntwo\r\tthree":             `one\ntwo\r\tthree`,
		"\u0080\u009b\u009f\x7f\u00a0":  `\u0080\u009b\u009f\u007f\u00a0`,
		"right\u202eleft\u2066\u2069":   `right\u202eleft\u2066\u2069`,
		"\u2028\u2029\ufeff\U000e0041x": `\u2028\u2029\ufeff\udb40\udc41x`,
		"a\ufffdb\xe2\x80":              "a\ufffdb" + `\xe2\x80`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestFprintf_keepsArgumentsInTheirLineAndColumn(t *testing.T) {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		text string
		err  error
	}{{"a\nb", errors.New("c\td")}, {"e\v\f\xff", nil}} {
		const format = "%s\t%v\t%q\t%5d|%-4s|%+v\n"
		must.Get(Fprintf(table, format, row.text, row.err, row.text, 7, "x", struct{ S string }{"\x1b"}))(t)
	}
	must.Succeed(t, table.Flush())
	want := `a\nb             c\td  "a\nb"            7|x   |{S:\u001b}` + "\n" +
		`e\u000b\u000c\xff  <nil>  "e\v\f\xff"        7|x   |{S:\u001b}` + "\n"
	squeeze := func(text string) string { return regexp.MustCompile(" +").ReplaceAllString(text, " ") }
	if got := squeeze(out.String()); got != squeeze(want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestFprintf_leavesTheArguments(t *testing.T) {
	args := []any{"a\nb", 7}
	for range 2 {
		var out bytes.Buffer
		if must.Get(Fprintf(&out, "%s %d", args...))(t); out.String() != `a\nb 7` || args[0] != "a\nb" {
			t.Errorf("%s of %q", &out, args)
		}
	}
}

func TestPrintError_givesEachJoinedErrorALine(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("a\nkubizone: all is well\x1b[2K"), `p: a\nkubizone: all is well\u001b[2K`},
		{errors.Join(errors.New("a"), errors.Join(errors.New("b\rc"), nil, errors.New("d"))), "p: a\n" + `b\rc` + "\nd"},
		{fmt.Errorf("%w and %w", errors.New("a"), errors.New("b\n")), `p: a and b\n`},
	} {
		var out bytes.Buffer
		PrintError(&out, "p", c.err)
		if out.String() != c.want+"\n" {
			t.Errorf("%q, want %q", out.String(), c.want)
		}
	}
}

// Output is printable at every split of the text, and JSON stays the same document.
func FuzzWriter(f *testing.F) {
	f.Add("a\u202e\x1b\u009b\U000e0041\xff\tb\n", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out bytes.Buffer
		document := must.Get(json.Marshal(text))(t)
		cut = min(max(cut, 0), len(document))
		w := NewWriter(&out)
		for _, part := range [][]byte{document[:cut], document[cut:]} {
			must.Get(w.Write(part))(t)
		}
		var want, got string
		must.Succeed(t, json.Unmarshal(document, &want))
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		out.Reset()
		w = NewWriter(&out)
		cut = min(cut, len(text))
		fmt.Fprint(w, text[:cut])
		fmt.Fprint(w, text[cut:]+" ")
		if bad := strings.IndexFunc(out.String(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); bad >= 0 {
			t.Errorf("%q: octet %d of %q", text, bad, out.String())
		}
		if got, want := out.String(), string(appendEscaped(nil, text+" ", layout)); got != want {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
	})
}

func TestCount_hasSingularAndPlural(t *testing.T) {
	for want, got := range map[string]string{"0 Records": Count(0, "Record"), "1 Record": Count(1, "Record"),
		"2 zones": Count(int64(2), "zone"), "1 entry": Count(1, "entry"), "25 entries": Count(25, "entry")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	text := []byte(strings.Repeat("www.example.org.\t3600\tIN\tAAAA\t2001:db8::1\n", 800))
	b.SetBytes(int64(len(text)))
	w := NewWriter(&bytes.Buffer{})
	for b.Loop() {
		w.(*writer).to.(*bytes.Buffer).Reset()
		must.Get(w.Write(text))(b)
	}
}
