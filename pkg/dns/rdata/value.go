// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Value is one rdata as its author defined it, in canonical spelling: one
// space between fields, names in lower case, a name written relative still
// relative (no trailing dot), "@" for the zone itself. Values are comparable:
// == means the same definition.
//
// Only Parse and FromRR make a Value from foreign text. A Value composed of a Text that Parse returned is equally
// valid. With any other Text the methods fail.
type Value struct {
	Type Type
	Text string
}

// String returns Text.
func (v Value) String() string { return v.Text }

// Parse reads one value of type t in presentation format (S5.1–S5.3), or in
// the generic form "\# length hex" (RFC 3597 §5), which becomes the type's own
// form where there is one. It is strict: see split for what is refused, and at
// most 4 KiB on the wire (S5.6).
//
// In the types that hold a text (TXT, SPF, AVC, NINFO, UINFO) a value that does
// not begin with a quote is that text, octet by octet, blanks at its ends taken
// off: "v=DMARC1; p=none", "it's (a) \"test\"" and `C:\temp` need no quotes and no
// escapes, and a backslash is a backslash. It is written as quoted strings of
// at most 255 octets (S5.2). A value that begins with a quote is quoted strings
// and nothing else, with the escapes of RFC 1035 §5.1.
//
// It does not check whether t may be a Record; CheckRecord does.
func Parse(t Type, text string) (Value, error) {
	v, err := parseValue(t, text, oneValue)
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v, nil
}

// ParseStored reads a value of a stored object as Parse of the version that admitted it did. Text that is refused by
// now, or that the library altered, keeps the canonical spelling that it had, so that its entries can be found and
// removed. CheckLoadable judges whether servers load it.
func ParseStored(t Type, text string) (Value, error) {
	v, err := parseValue(t, text, stored)
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v, nil
}

// FromRR reads the rdata of a line in a zone file whose names are relative to
// origin, and returns it resolved. Unlike Parse it lets TXT data be several
// strings without quotes, as files write them (RFC 1035 §5.1), and take all of
// the 65,535 octets that the wire has for it.
func FromRR(t Type, text string, origin name.Name) (string, error) {
	v, err := parseValue(t, text, zoneFile)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v.Resolve(origin)
}

// source is the origin of the text of a value.
type source uint8

const (
	oneValue source = iota // a field of an API object, or a Value's Text
	zoneFile               // a line of a zone file
	stored                 // a field of an API object in the store, read whatever is refused by now
)

func (s source) limit() int {
	if s == zoneFile {
		return 65535
	}
	return maxValue
}

func parseValue(t Type, text string, from source) (Value, error) {
	limit := from.limit()
	// The longest text of a value has every octet as \DDD, with the quotes and blanks of the shortest strings.
	if len(text) > 5*limit {
		return Value{}, fmt.Errorf("%d bytes of text; a value has at most %d octets on the wire", len(text), limit)
	}
	var space [512]byte
	wire, mark, err := encodeText(t, text, from, space[:0])
	if err != nil {
		return Value{}, err
	}
	if len(wire) > limit {
		return Value{}, fmt.Errorf("%d octets on the wire, the limit is %d; split it into several records", len(wire), limit)
	}
	var textSpace [512]byte
	canonical, err := decodeWire(t, wire, mark, textSpace[:0])
	if err != nil {
		return Value{}, err
	}
	if from == oneValue {
		if err := CheckLoadable(t, wire); err != nil {
			return Value{}, err
		}
	}
	v := Value{t, text} // the caller's string where it is canonical, no copy
	if string(canonical) != text {
		v.Text = string(canonical)
	}
	if p := planOf(t); p.known() && !p.simple {
		// The library read this value. One that it reads differently the second time has no canonical text (promise 1).
		again, mark, err := encodeText(t, v.Text, stored, nil)
		if err == nil {
			textSpace := [512]byte{}
			canonical, err = decodeWire(t, again, mark, textSpace[:0])
		}
		if err != nil || string(canonical) != v.Text || !equalButCase(again, wire) {
			return Value{}, errors.New("the value cannot be written in a form that reads back the same; write it as \\# and hex (RFC 3597 §5)")
		}
	}
	return v, nil
}

// equalButCase compares octets without regard to the case of letters: names are lowered on the way.
func equalButCase(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if c != b[i] && (c|0x20 != b[i]|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Resolve returns the presentation text with every name absolute, as it stands
// in a zone named origin. It fails when a name would pass 255 octets.
func (v Value) Resolve(origin name.Name) (string, error) {
	text, err := v.resolveNames(origin)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	return text, nil
}

func (v Value) resolveNames(origin name.Name) (string, error) {
	p := planOf(v.Type)
	if !p.hasNames() || strings.HasPrefix(v.Text, `\# `) {
		return v.Text, nil
	}
	var fieldSpace [8]token
	fields, err := splitText(v.Text, syntaxOf(p), fieldSpace[:0])
	if err != nil {
		return "", err
	}
	if err := p.checkCount(fields); err != nil {
		return "", err
	}
	relative := false
	for i, f := range fields {
		if p.isName(i, fields) && !absoluteText(f.text) {
			relative = true
			break
		}
	}
	if !relative {
		return v.Text, nil
	}
	if origin.IsZero() {
		return "", errors.New("a relative name and no zone it could be relative to; end the name in a dot")
	}
	out := make([]byte, 0, len(v.Text)+len(origin.String())+1)
	for i, f := range fields {
		if i > 0 {
			out = append(out, ' ')
		}
		switch {
		case f.quoted:
			out = append(out, '"')
			out = append(out, f.text...)
			out = append(out, '"')
		case !p.isName(i, fields) || absoluteText(f.text):
			out = append(out, f.text...)
		case f.text == "@":
			out = append(out, origin.String()...)
		default:
			if n := relativeWireLen(f.text) + origin.WireLen(); n > 255 {
				return "", fmt.Errorf("name %s in zone %s is %d octets on the wire, the limit is 255 (RFC 1035 §2.3.4); shorten it", quote(f.text), origin, n)
			}
			out = append(out, f.text...)
			out = append(out, '.')
			if origin != name.Root {
				out = append(out, origin.String()...)
			}
		}
	}
	return string(out), nil
}

// Pack returns the canonical, uncompressed wire form (RFC 4034 §6.2) of the
// value in a zone named origin.
func (v Value) Pack(origin name.Name) ([]byte, error) {
	return NewPacker(origin).Append(make([]byte, 0, 32+len(v.Text)), v)
}

// Host returns the host of an NS, CNAME, DNAME, PTR, MX, SRV, SVCB or HTTPS value as it is defined, "" for other types.
func (v Value) Host() string {
	switch v.Type {
	case NS, CNAME, DNAME, PTR, MX, SRV:
		return v.Text[strings.LastIndexByte(v.Text, ' ')+1:]
	case SVCB, HTTPS:
		_, rest, _ := strings.Cut(v.Text, " ")
		host, _, _ := strings.Cut(rest, " ")
		return host
	}
	return ""
}

// Target returns that host, absolute in a zone named origin. It is false if there is none, or if the name cannot be an
// owner name (S1.4), so that no entry can stand at it.
func (v Value) Target(origin name.Name) (name.Name, bool) {
	host := v.Host()
	if host == "" {
		return name.Name{}, false
	}
	n, err := name.ParseIn(host, origin)
	return n, err == nil
}

// absoluteText reports that a name's text ends in a dot that is not escaped.
func absoluteText(text string) bool {
	if text == "" || text[len(text)-1] != '.' {
		return false
	}
	backslashes := 0
	for i := len(text) - 2; i >= 0 && text[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 0
}

// relativeWireLen is the length of the labels of a relative name on the wire.
func relativeWireLen(text string) int {
	n := 1
	for i := 0; i < len(text); n++ {
		_, size := unescape(text[i:])
		i += size
	}
	return n
}

// checkCount checks the number of fields against that of the type.
func (p *plan) checkCount(fields []token) error {
	least, most := p.fieldCounts()
	if len(fields) >= least && len(fields) <= most {
		return nil
	}
	plural := "s"
	if len(fields) == 1 {
		plural = ""
	}
	return errors.New(strconv.Itoa(len(fields)) + " field" + plural + "; " + p.usage())
}

// fieldCounts returns the least and the most fields that the text of a type has.
func (p *plan) fieldCounts() (least, most int) {
	const any = 1 << 20
	for _, k := range p.fields {
		switch k {
		case kindStrings, kindHex, kindBase64:
			least, most = least+1, any
		case kindTypes, kindParams, kindPrefixes:
			most = any
		case kindDiscovery:
			least, most = least+2, most+2
		case kindHIP:
			least, most = 3, any
		case kindLOC:
			least, most = 5, 12
		default:
			least, most = least+1, most+1
		}
	}
	return least - p.optional, most
}
