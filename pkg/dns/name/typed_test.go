// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import "testing"

func TestParseTyped_S1_2(t *testing.T) {
	for text, want := range map[string]string{
		"www.example.org": "www.example.org.", " WWW.Example.org. ": "www.example.org.", ".": ".",
		"*.apps.example.org": "*.apps.example.org.", "bücher.test": "xn--bcher-kva.test.",
		"Straße.BÜCHER。test": "xn--strae-oqa.xn--bcher-kva.test.", "XN--BCHER-KVA.test": "xn--bcher-kva.test.",
		"": "", "  ": "", "a..b": "", "a b": "",
	} {
		got, err := ParseTyped(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, got.String(), err, want)
		}
	}
}

// A part of a name is found in any spelling that a person may type: case, script, composed or not, and A-labels.
func TestPart_In_S1_2(t *testing.T) {
	const straße, bücher = "xn--strae-oqa.xn--bcher-kva.test.", "www.xn--bcher-kva.example."
	for _, one := range []struct {
		part string
		in   string
		want bool
	}{
		{"", bücher, true}, {"WWW.", bücher, true}, {" www ", bücher, true}, {"büch", bücher, true}, {"BÜCHER", bücher, true},
		{"bu\u0308cher", bücher, true}, {"w.bücher.ex", bücher, true}, {"w。bücher．ex", bücher, true}, {"xn--bch", bücher, true},
		{"xn--strae-oqa.bücher", straße, true}, {"traß", straße, true}, {"ücher.test.", straße, true},
		{"straße", bücher, false}, {"strasse", straße, false}, {"büch", "buch.example.", false}, {"ü", "xn--invalid-\x00.", false},
		{"\u200d", bücher, false}, {"\xff", bücher, false},
	} {
		if got := ParsePart(one.part).In(one.in); got != one.want {
			t.Errorf("%q in %q: %t", one.part, one.in, got)
		}
	}
}

func TestToUnicode(t *testing.T) {
	for text, want := range map[string]string{
		"www.example.org.": "", "xn--bcher-kva.test.": "bücher.test.", "*._tcp.xn--bcher-kva.0/25.test.": "*._tcp.bücher.0/25.test.",
		"xn--a.test.": "", "xn--.test.": "", "r3---x.test.": "",
	} {
		if got := ToUnicode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func BenchmarkPart_In(b *testing.B) {
	for what, part := range map[string]string{"ascii": "absent", "unicode": "fehlt-ü"} {
		b.Run(what, func(b *testing.B) {
			p := ParsePart(part)
			for b.Loop() {
				p.In("xn--strae-oqa.xn--bcher-kva.example.")
			}
		})
	}
}
