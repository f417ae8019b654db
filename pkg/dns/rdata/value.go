// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"math/bits"
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

// Parse reads one value of type t in presentation format (S5.1–S5.4), or in
// the generic form "\# length hex" (RFC 3597 §5), which becomes the type's own
// form where there is one. It is strict: see split for what is refused, and at
// most 4 KiB on the wire (S5.8).
//
// In the types that hold a text (TXT, SPF) a value that does not begin with a
// quote is that text, octet by octet, blanks at its ends taken
// off: "v=DMARC1; p=none", "it's (a) \"test\"" and `C:\temp` need no quotes and no
// escapes, and a backslash is a backslash. It is written as quoted strings of
// at most 255 octets (S5.3). A value that begins with a quote is quoted strings
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

// ParseStored reads a value of a stored object as Parse does, but for CheckLoadable: an earlier version admitted it,
// and its entries must be found to be removed.
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
// the 65,535 octets that the wire has for it. Data of a type that CheckRecord
// refuses is not read: it is returned as it is written.
func FromRR(t Type, text string, origin name.Name) (string, error) {
	if t != SOA && t.CheckRecord() != nil && !isGeneric(trimBlanks(text)) {
		return asWritten(t, text)
	}
	v, err := parseValue(t, text, zoneFile)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v.Resolve(origin)
}

// asWritten returns the text of a value as printable ASCII, with one blank between fields.
func asWritten(t Type, text string) (string, error) {
	fields, err := splitText(text, syntax{}, nil)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	var out []byte
	for i, f := range fields {
		if i > 0 {
			out = append(out, ' ')
		}
		if f.quoted {
			out = appendString(out, appendOctets(nil, f.text))
		} else {
			out = append(out, f.text...)
		}
	}
	return string(out), nil
}

func parseValue(t Type, text string, from source) (Value, error) {
	limit := from.limit()
	// The longest text of a value has every octet as \DDD, with the quotes and blanks of the shortest strings.
	if len(text) > 5*limit {
		return Value{}, fmt.Errorf("%d bytes of text; a value has at most %d octets on the wire", len(text), limit)
	}
	var top [3]byte
	mark := byte(noMark)
	if !isGeneric(trimBlanks(text)) {
		var err error
		if top, mark, err = chooseMark(formatOf(t), text); err != nil {
			return Value{}, err
		}
	}
	var space [512]byte
	wire, err := encodeText(t, text, from, top[:], space[:0])
	if err != nil {
		return Value{}, err
	}
	var textSpace [512]byte
	canonical, err := readWire(t, wire, mark, from, textSpace[:0])
	if err != nil {
		return Value{}, err
	}
	v := Value{t, text} // the caller's string where it is canonical, no copy
	if string(canonical) != text {
		v.Text = string(canonical)
	}
	return v, nil
}

// ParseWire reads the uncompressed wire form of one value of type t, as Parse reads its generic form.
func ParseWire(t Type, wire []byte) (Value, error) {
	var textSpace [512]byte
	canonical, err := readWire(t, wire, noMark, oneValue, textSpace[:0])
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata: %w", t, err)
	}
	return Value{t, string(canonical)}, nil
}

// readWire appends the canonical text of wire rdata, and judges it by the rules of its source.
func readWire(t Type, wire []byte, mark byte, from source, text []byte) ([]byte, error) {
	if limit := from.limit(); len(wire) > limit {
		return nil, fmt.Errorf("%d octets on the wire, the limit is %d; split it into several records", len(wire), limit)
	}
	text, err := decodeWire(t, wire, mark, text)
	if err == nil && from == oneValue {
		err = CheckLoadable(t, wire)
	}
	return text, err
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
	f := formatOf(v.Type)
	if !f.hasNames() || strings.HasPrefix(v.Text, `\# `) {
		return v.Text, nil
	}
	var fieldSpace [8]token
	fields, err := splitText(v.Text, f.syntax, fieldSpace[:0])
	if err != nil {
		return "", err
	}
	if err := f.checkCount(fields); err != nil {
		return "", err
	}
	if !f.hasRelativeName(fields) {
		return v.Text, nil
	}
	if origin.IsZero() {
		return "", errNoOrigin
	}
	out := make([]byte, 0, len(v.Text)+len(origin.String())+1)
	for i, field := range fields {
		if i > 0 {
			out = append(out, ' ')
		}
		switch {
		case field.quoted:
			out = append(out, '"')
			out = append(out, field.text...)
			out = append(out, '"')
		case !f.isName(i, fields) || absoluteText(field.text):
			out = append(out, field.text...)
		case field.text == "@":
			out = append(out, origin.String()...)
		default:
			if n := relativeWireLen(field.text) + origin.WireLen(); n > 255 {
				return "", fmt.Errorf("name %s in zone %s is %d octets on the wire, the limit is 255 (RFC 1035 §2.3.4); shorten it",
					quote(field.text), origin, n)
			}
			out = append(out, field.text...)
			out = append(out, '.')
			if origin != name.Root {
				out = append(out, origin.String()...)
			}
		}
	}
	return string(out), nil
}

// Absolute returns a value of another tool, in which every name is in full with its last dot or without, with that dot.
// It returns text itself if the type has no names, if text is no value of the type, or if it names a zone by "@".
func Absolute(t Type, text string) string {
	f := formatOf(t)
	if !f.hasNames() {
		return text
	}
	v, err := Parse(t, text)
	if err != nil {
		return text
	}
	fields, _ := splitText(v.Text, f.syntax, nil) // as Parse has
	for i, field := range fields {
		if field.text == "@" && f.isName(i, fields) {
			return text
		}
	}
	full, err := v.Resolve(name.Root)
	if err != nil {
		return text
	}
	return full
}

// Spellings returns the texts by which values mean what this one means in a zone named origin: each name in the zone is
// written relative or absolute.
func (v Value) Spellings(origin name.Name) ([]string, error) {
	resolved, err := v.Resolve(origin)
	if err != nil {
		return nil, err
	}
	f := formatOf(v.Type)
	if !f.hasNames() || strings.HasPrefix(resolved, `\# `) {
		return []string{resolved}, nil
	}
	fields, err := splitText(resolved, f.syntax, nil)
	if err != nil {
		return nil, err
	}
	all := []string{""}
	for i, field := range fields {
		forms := []string{field.text}
		if field.quoted {
			forms[0] = `"` + field.text + `"`
		} else if n, err := name.Parse(field.text); err == nil && f.isName(i, fields) {
			if rel, in := n.Rel(origin); in {
				forms = append(forms, rel.String())
			}
		}
		var longer []string
		for _, text := range all {
			for _, form := range forms {
				longer = append(longer, strings.TrimPrefix(text+" "+form, " "))
			}
		}
		all = longer
	}
	return all, nil
}

// Host returns the last name in the value as it is defined, such as the target of an SRV; "" for a type without names.
func (v Value) Host() string {
	f := formatOf(v.Type)
	if f == nil || f.names == 0 {
		return ""
	}
	at := bits.Len64(f.names) - 1
	if at == len(f.fields)-1 {
		return v.Text[strings.LastIndexByte(v.Text, ' ')+1:]
	}
	rest := v.Text // no string comes before such a name
	for range at {
		_, rest, _ = strings.Cut(rest, " ")
	}
	host, _, _ := strings.Cut(rest, " ")
	return host
}

// Target returns that host, absolute in a zone named origin. It is false if there is none, or if the name cannot be an
// owner name (S1.3), so that no entry can stand at it.
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
	before, dot := strings.CutSuffix(text, ".")
	return dot && !endsEscaped(before)
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
