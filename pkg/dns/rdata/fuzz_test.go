// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"maps"
	"pgregory.net/rapid"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// Every value that Parse accepts keeps the guarantees of the package.
func FuzzParseValue(f *testing.F) {
	for _, mnemonic := range slices.Sorted(maps.Keys(samples)) {
		for _, text := range samples[mnemonic] {
			f.Add(uint16(mustType(f, mnemonic)), text)
		}
	}
	f.Add(uint16(MX), `10 \@.\001.`)
	f.Add(uint16(TXT), `"\999`)
	f.Add(uint16(TXT), `v=DMARC1; p="(none)"\`)
	f.Add(uint16(TXT), `\#x ; \256 $TTL`)
	f.Add(uint16(TXT), `"a" b`)
	f.Add(uint16(A), `\# 4 01020304 05`)
	f.Add(uint16(CNAME), strings.Repeat(`\1`, 20))
	f.Fuzz(func(t *testing.T, number uint16, text string) {
		rt := Type(number)
		v, err := Parse(rt, text)
		if rt == TXT && bareIsLiteral(text) && len(text) < 4000 {
			wire, packErr := v.Pack(origin)
			if err != nil || packErr != nil || !bytes.Equal(joinStrings(t, wire), []byte(text)) {
				t.Fatalf("S5.3: bare text %q is %q, %v, %v", text, v.Text, err, packErr)
			}
		}
		if fromFile, fileErr := FromRR(rt, text, origin); fileErr == nil && err != nil && len(text) < maxValue && fromFile == "" {
			t.Fatalf("%s %q is nothing in a file", rt, text)
		}
		if err != nil {
			if v != (Value{}) || err.Error() == "" {
				t.Fatalf("%s %q: %v with error %v", rt, text, v, err)
			}
			return
		}
		checkValue(t, v)
	})
}

func joinStrings(t interface{ Fatal(...any) }, wire []byte) []byte {
	var all []byte
	for d := newDecoder(wire, noMark); len(d.rest) > 0; {
		all = append(all, d.readString()...)
		if *d.err != nil {
			t.Fatal(*d.err)
		}
	}
	return all
}

func FuzzDecode(f *testing.F) {
	for _, mnemonic := range slices.Sorted(maps.Keys(samples)) {
		for _, text := range samples[mnemonic] {
			rt := mustType(f, mnemonic)
			v := must.Get(Parse(rt, text))(f)
			wire := must.Get(v.Pack(origin))(f)
			f.Add(uint16(rt), wire)
		}
	}
	f.Fuzz(func(t *testing.T, number uint16, wire []byte) {
		checkWire(t, Type(number), wire)
	})
}

// checkWire parses octets in the generic form. Accepted octets are unchanged in wire form, except for the case of
// names, and ParseWire accepts the same octets.
func checkWire(t interface{ Fatalf(string, ...any) }, rt Type, wire []byte) {
	generic := string(appendUpperHex([]byte(`\# `+strconv.Itoa(len(wire))+" "), wire))
	v, err := Parse(rt, generic)
	if direct, errWire := ParseWire(rt, wire); direct != v || (errWire == nil) != (err == nil) {
		t.Fatalf("%s %x is %q (%v), and in the generic form %q (%v)", rt, wire, direct.Text, errWire, v.Text, err)
	}
	if err != nil {
		return
	}
	checkValue(t, v)
	back, err := v.Pack(name.Name{})
	if err != nil {
		t.Fatalf("%s %q: %v", rt, v.Text, err)
	}
	if !equalButCase(back, wire) {
		t.Fatalf("%s %x is %q, which packs to %x", rt, wire, v.Text, back)
	}
}

// fieldTexts generates valid and some invalid texts for a field.
func fieldTexts(k kind) *rapid.Generator[string] {
	number := rapid.SampledFrom([]string{"0", "1", "255", "256", "65535", "65536", "4294967295", "4294967296", "007", "-1", "+1", "1x", "RSASHA256", "PKIX"})
	switch k {
	case kindUint8, kindUint16, kindUint32, kindAlgorithm, kindCertificateType:
		return number
	case kindName:
		return rapid.OneOf(rapid.SampledFrom([]string{".", "@", "a", "A.b", "a.", "a..", `a\.b`, `\001`, `a\@`, "a..b", ".a", "xn--a.", "_x", "*", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127), strings.Repeat("a.", 128)}),
			rapid.StringMatching(`[a-zA-Z0-9._-]{1,20}`))
	case kindIPv4:
		return rapid.OneOf(rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3}){3}`), rapid.SampledFrom([]string{"::1", "1.2.3", "1.2.3.4.5", "01.2.3.4"}))
	case kindIPv6:
		return rapid.OneOf(rapid.StringMatching(`[0-9a-f]{0,5}(:[0-9a-f]{0,5}){1,8}`), rapid.SampledFrom([]string{"::", "::1", "::ffff:1.2.3.4", "1.2.3.4", "fe80::1%0", "::1.2.3.4"}))
	case kindHex:
		return rapid.StringMatching(`[0-9a-fA-F]{0,8}( [0-9a-fA-F]{1,4})?g?`)
	case kindBase64:
		return rapid.SampledFrom([]string{"AAAA", "AA==", "AB==", "A", "AAA", "AA AA", "!AAA", "aGVsbG8="})
	}
	return rapid.StringMatching(`(A )?(NS )?(AAAA )?(AAAA )?(HTTPS )?(TYPE65280)?`) // type numbers ascend, as in the library
}

// A text that is accepted here is also accepted by miekg/dns, with the same wire form.
func TestEncode_twin(t *testing.T) {
	plain := []kind{kindUint8, kindUint16, kindUint32, kindAlgorithm, kindCertificateType, kindName, kindIPv4, kindIPv6, kindHex, kindBase64, kindTypes}
	for _, f := range formats {
		isOdd := slices.ContainsFunc(f.fields, func(field field) bool { return !slices.Contains(plain, field.kind) })
		if isOdd || slices.Contains([]Type{DNSKEY, CDNSKEY}, f.rtype) {
			continue // the library drops fields after the key
		}
		t.Run(f.name, rapid.MakeCheck(func(t *rapid.T) {
			parts := make([]string, len(f.fields))
			for i, field := range f.fields {
				parts[i] = fieldTexts(field.kind).Draw(t, kindWords[field.kind])
			}
			text := strings.Join(parts, " ")
			local, err := encodeText(f.rtype, text, oneValue, AppendName(nil, origin), nil)
			if err != nil {
				return
			}
			if remote, err := packByLibrary(f.rtype, text, origin); err != nil || !equalButCase(local, remote) {
				t.Fatalf("S5.3: %s %q: %x, the library says %x, %v", f.name, text, local, remote, err)
			}
		}))
	}
}

func TestDecode_mutated(t *testing.T) {
	eachSample(t, func(t *testing.T, rt Type, text string) {
		v := must.Get(Parse(rt, text))(t)
		wire := must.Get(v.Pack(origin))(t)
		for i := range min(len(wire), 64) {
			for _, c := range []byte{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff} {
				broken := bytes.Clone(wire)
				broken[i] = c
				checkWire(t, rt, broken)
			}
			checkWire(t, rt, wire[:i])
			checkWire(t, rt, append(bytes.Clone(wire), wire[:i+1]...))
		}
	})
}

// Parsing a value of a common type allocates at most the returned text.
func TestParse_allocations(t *testing.T) {
	for _, tc := range []struct {
		rt   Type
		text string
		most float64
	}{
		{A, "192.0.2.1", 0}, {AAAA, "2001:db8::1", 0}, {NS, "ns1.example.net.", 0}, {CNAME, "WWW", 1},
		{MX, "10 mail", 0}, {SRV, "0 5 5060 sip", 0}, {TXT, `"v=spf1 -all"`, 0}, {TXT, "v=spf1 -all", 1}, {CAA, `0 issue "a"`, 0},
	} {
		if n := testing.AllocsPerRun(200, func() {
			must.Get(Parse(tc.rt, tc.text))(t)
		}); n > tc.most {
			t.Errorf("%s %s: %v allocations, want at most %v", tc.rt, tc.text, n, tc.most)
		}
	}
}
