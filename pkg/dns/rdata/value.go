// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"math/bits"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Value is rdata as its author wrote it, in canonical spelling: single spaces, names in lower case, relative names
// still relative, and "@" for the zone. Text must come from a Parse function or Resolve, or methods may fail.
type Value struct {
	Type Type
	Text string
}

func (v Value) String() string { return v.Text }

// Parse parses a value in presentation format, or in the generic form "\# length hex" (RFC 3597 §5). The generic form
// becomes the type's own form. A value has at most 4 KiB on the wire.
//
// If the type is TXT or SPF, a value without a leading quote is the text itself, without blanks at its ends: "it's (a)
// \"test\"" and `C:\temp` need no quotes or escapes. A value with a leading quote consists only of quoted strings, with
// the escapes of RFC 1035 §5.1.
func Parse(t Type, text string) (Value, error) {
	v, err := parseValue(t, text, oneValue)
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v, nil
}

// ParseStored parses a stored value without CheckLoadable, so that a value admitted by an earlier version can be
// removed.
func ParseStored(t Type, text string) (Value, error) {
	v, err := parseValue(t, text, stored)
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v, nil
}

// FromRR parses a zone file's rdata with names relative to origin, and returns it with absolute names. Unlike Parse, it
// accepts several bare strings as TXT data (RFC 1035 §5.1), and 65,535 octets. Data of a type that CheckRecord rejects
// is not parsed.
func FromRR(t Type, text string, origin name.Name) (string, error) {
	if t != SOA && t.CheckRecord() != nil && !isGeneric(trimBlanks(text)) {
		return formatUnparsed(t, text)
	}
	v, err := parseValue(t, text, zoneFile)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", t, quote(text), err)
	}
	return v.Resolve(origin)
}

// formatUnparsed returns the fields of a type that no Record can have, with single blanks between them.
func formatUnparsed(t Type, text string) (string, error) {
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

// parseValue returns the value in canonical spelling, by encoding and decoding the text. Relative names stay relative
// by a mark (chooseMark).
func parseValue(t Type, text string, from source) (Value, error) {
	limit := from.limit()
	// The longest text has every octet as \DDD, with the quotes and blanks of the shortest strings.
	if len(text) > 5*limit {
		return Value{}, fmt.Errorf("%d bytes of text; a value has at most %d octets on the wire", len(text), limit)
	}
	var top [3]byte
	mark := byte(noMark)
	// Names in octets are absolute, and need no mark.
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
	v := Value{t, text} // no copy if canonical
	if string(canonical) != text {
		v.Text = string(canonical)
	}
	return v, nil
}

// ParseWire parses rdata in uncompressed wire form, as Parse does the generic form.
func ParseWire(t Type, wire []byte) (Value, error) {
	var textSpace [512]byte
	canonical, err := readWire(t, wire, noMark, oneValue, textSpace[:0])
	if err != nil {
		return Value{}, fmt.Errorf("%s rdata: %w", t, err)
	}
	return Value{t, string(canonical)}, nil
}

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

// Resolve returns the text with absolute names, in the zone origin. It returns an error if a name exceeds 255 octets.
func (v Value) Resolve(origin name.Name) (string, error) {
	text, err := v.resolveNames(origin)
	if err != nil {
		return "", fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	return text, nil
}

// resolveNames returns the text with each relative name completed by origin, or v.Text if no name is relative.
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
		// A number, or a name that is absolute already.
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

// Absolute returns another tool's value with absolute names. Every name in text counts as complete, even without the
// last dot: "10 mail.example.org" becomes "10 mail.example.org.". Absolute returns text unchanged if the type has no
// names, text is invalid, or a name is "@".
func Absolute(t Type, text string) string {
	f := formatOf(t)
	if !f.hasNames() {
		return text
	}
	v, err := Parse(t, text)
	if err != nil {
		return text
	}
	fields, _ := splitText(v.Text, f.syntax, nil) // Parse has checked the syntax
	for i, field := range fields {
		// "@" would become the root.
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

// Spellings returns the texts of all Values that equal v in the zone origin, because each name may be relative or
// absolute: "10 mail" and "10 mail.example.org.", for example.
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
	// Append each form of a field to each text so far.
	texts := []string{""}
	for i, field := range fields {
		forms := spellField(field, f.isName(i, fields), origin)
		var longer []string
		for _, text := range texts {
			for _, form := range forms {
				longer = append(longer, strings.TrimPrefix(text+" "+form, " "))
			}
		}
		texts = longer
	}
	return texts, nil
}

// spellField returns the texts of a field that mean the same in origin. Only a name in the zone has two.
func spellField(field token, isName bool, origin name.Name) []string {
	if field.quoted {
		return []string{`"` + field.text + `"`}
	}
	forms := []string{field.text}
	if !isName {
		return forms
	}
	absolute, err := name.Parse(field.text)
	if err != nil {
		return forms
	}
	if relative, inZone := absolute.Rel(origin); inZone {
		forms = append(forms, relative.String())
	}
	return forms
}

// Host returns the last name in the value as written, such as the target of an SRV, or "" if the type has no names.
func (v Value) Host() string {
	f := formatOf(v.Type)
	if f == nil || f.names == 0 {
		return ""
	}
	index := bits.Len64(f.names) - 1
	// In MX and SRV, the host is the last field.
	if index == len(f.fields)-1 {
		return v.Text[strings.LastIndexByte(v.Text, ' ')+1:]
	}
	rest := v.Text // no field before it is quoted
	for range index {
		_, rest, _ = strings.Cut(rest, " ")
	}
	host, _, _ := strings.Cut(rest, " ")
	return host
}

// Target returns Host as an absolute name in the zone origin, or false if there is no Host, or no entry can have the
// name.
func (v Value) Target(origin name.Name) (name.Name, bool) {
	host := v.Host()
	if host == "" {
		return name.Name{}, false
	}
	n, err := name.ParseIn(host, origin)
	return n, err == nil
}

func absoluteText(text string) bool {
	before, dot := strings.CutSuffix(text, ".")
	return dot && !endsEscaped(before)
}

func relativeWireLen(text string) int {
	n := 1
	for i := 0; i < len(text); n++ {
		_, size := unescape(text[i:])
		i += size
	}
	return n
}
