// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// encodeText appends the wire form of a value to wire. Relative names are completed by top, the wire form of the zone's
// name. If top is empty, a relative name is an error.
func encodeText(t Type, text string, src source, top, wire []byte) ([]byte, error) {
	text = trimBlanks(text)
	if isGeneric(text) {
		return encodeGeneric(text, wire)
	}
	f := formatOf(t)
	if f == nil {
		return nil, fmt.Errorf("type %s has no presentation format here; write \\#, the number of octets and the octets in hex, "+
			"as in \"\\# 4 0a000001\" (RFC 3597 §5)", t)
	}
	isBareText := src != zoneFile && t.isText() && text != "" && text[0] != '"'
	if isBareText {
		return encodeBareText(strings.TrimRight(text, " \t"), wire)
	}
	var space [16]token
	tokens, err := splitFields(f, text, src, space[:0])
	if err != nil {
		return nil, err
	}
	return f.encodeFields(tokens, top, wire)
}

// encodeFields appends the fields of a value. An error names the field.
func (f *format) encodeFields(tokens []token, top, wire []byte) ([]byte, error) {
	start := len(wire)
	for i, field := range f.fields {
		if i >= len(tokens) {
			break // optional fields, by checkCount
		}
		var err error
		if k := field.kind; tokens[i].quoted && k != kindString && k != kindStrings && k != kindOctets && k != kindTag {
			err = fmt.Errorf("%s is quoted, but %s has no quotes; remove them", quote(tokens[i].text), kindWords[k])
		} else if k == kindGateway {
			// The gateway type, already in wire, decides the form.
			wire, err = appendGateway(wire, wire[start+gatewayType], tokens[i].text, top)
		} else {
			wire, err = appendField(wire, k, tokens[i:], top)
		}
		if err != nil && field.name != "" {
			return nil, fmt.Errorf("%s: %w", field.name, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return wire, nil
}

// appendField appends a field of kind k from the first token, or from all tokens for kinds that take the rest.
func appendField(wire []byte, k kind, tokens []token, top []byte) ([]byte, error) {
	first := tokens[0]
	switch k {
	case kindUint8:
		value, err := parseUint(first, 8)
		return append(wire, byte(value)), err
	case kindUint16:
		value, err := parseUint(first, 16)
		return binary.BigEndian.AppendUint16(wire, uint16(value)), err
	case kindUint32:
		value, err := parseUint(first, 32)
		return binary.BigEndian.AppendUint32(wire, uint32(value)), err
	case kindAlgorithm:
		value, err := parseMnemonic(first, algorithmNames, 8)
		return append(wire, byte(value)), err
	case kindCertificateType:
		value, err := parseMnemonic(first, certificateNames, 16)
		return binary.BigEndian.AppendUint16(wire, uint16(value)), err
	case kindSeconds:
		value, err := ParseSeconds(first.text)
		return binary.BigEndian.AppendUint32(wire, value), err
	case kindName:
		return appendName(wire, first.text, top)
	case kindIPv4:
		addr, err := netip.ParseAddr(first.text)
		if err != nil || !addr.Is4() {
			return nil, fmt.Errorf("%s is not an IPv4 address; write four decimal numbers 0-255 with dots, as in \"192.0.2.1\"",
				quote(first.text))
		}
		return addr.AppendBinary(wire)
	case kindIPv6:
		addr, err := netip.ParseAddr(first.text)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return nil, fmt.Errorf("%s is not an IPv6 address; write hex groups with colons, as in \"2001:db8::1\"", quote(first.text))
		}
		return addr.AppendBinary(wire)
	case kindString:
		return appendOneString(wire, first.text)
	case kindTag:
		if err := checkTag(first.text); err != nil {
			return nil, err
		}
		return appendOneString(wire, strings.ToLower(first.text))
	case kindOctets:
		return appendOctets(wire, first.text), nil
	case kindStrings:
		for _, t := range tokens {
			wire = appendStrings(wire, t.text)
		}
		return wire, nil
	case kindHex:
		return appendHex(wire, tokens)
	case kindBase64:
		return appendBase64(wire, tokens)
	case kindEUI48:
		return appendEUI(wire, first.text, 6)
	case kindEUI64:
		return appendEUI(wire, first.text, 8)
	case kindLocator64:
		return appendLocator64(wire, first.text)
	case kindTypes:
		return appendTypes(wire, tokens)
	case kindParams:
		return appendParams(wire, tokens)
	case kindLOC:
		return appendLOC(wire, tokens)
	}
	return nil, fmt.Errorf("no reader for %s", kindWords[k])
}

// encodeGeneric appends the octets of the generic form, such as "\# 4 0a000001" (RFC 3597 §5).
func encodeGeneric(text string, wire []byte) ([]byte, error) {
	var space [8]token
	fields, err := splitText(text, syntax{}, space[:0])
	if err != nil {
		return nil, err
	}
	if len(fields) < 2 {
		return nil, errors.New("\\# takes the number of octets and the octets in hex, as in \"\\# 4 0a000001\" (RFC 3597 §5)")
	}
	length, err := parseUint(fields[1], 16)
	if err != nil {
		return nil, fmt.Errorf("length after \\#: %w", err)
	}
	start := len(wire)
	if wire, err = appendHex(wire, fields[2:]); err != nil {
		return nil, err
	}
	if n := len(wire) - start; n != int(length) {
		return nil, fmt.Errorf("\\# announces %d octets and %d follow; correct the length", length, n)
	}
	return wire, nil
}

func isGeneric(text string) bool {
	return strings.HasPrefix(text, `\#`) && (len(text) == 2 || text[2] == ' ' || text[2] == '\t')
}

// decodeWire appends the canonical text of wire to text. A type without a format has the generic form.
func decodeWire(t Type, wire []byte, mark byte, text []byte) ([]byte, error) {
	f := formatOf(t)
	if f == nil {
		text = append(text, `\# `...)
		text = strconv.AppendInt(text, int64(len(wire)), 10)
		if len(wire) > 0 {
			text = append(text, ' ')
		}
		return appendUpperHex(text, wire), nil
	}
	d := newDecoder(wire, mark)
	for i, field := range f.fields {
		if i > 0 {
			text = append(text, ' ')
		}
		if field.kind == kindGateway {
			text = d.readGateway(text, wire[gatewayType])
		} else {
			text = d.readField(field.kind, text)
		}
		if *d.err != nil {
			return nil, fmt.Errorf("field %d (%s): %w", i+1, kindWords[field.kind], *d.err)
		}
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d octets too many; %s", len(d.rest), f.describeFields())
	}
	// Remove the blank before an absent last field.
	if n := len(text); n > 0 && text[n-1] == ' ' {
		text = text[:n-1]
	}
	return text, nil
}

// readField appends the text of a field of kind k. After an error, the text is incomplete.
func (d *decoder) readField(k kind, text []byte) []byte {
	switch k {
	case kindUint8, kindAlgorithm:
		return strconv.AppendUint(text, uint64(d.readOctets(1)[0]), 10)
	case kindUint16, kindCertificateType:
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(d.readOctets(2))), 10)
	case kindUint32, kindSeconds:
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint32(d.readOctets(4))), 10)
	case kindName:
		return d.readName(text)
	case kindIPv4:
		return d.readAddress(text, 4)
	case kindIPv6:
		return d.readAddress(text, 16)
	case kindString:
		return appendString(text, d.readString())
	case kindTag:
		octets := d.readString()
		if err := checkTag(string(octets)); err != nil {
			d.fail(err)
		}
		for _, c := range octets {
			text = append(text, toLower(c))
		}
		return text
	case kindOctets:
		return appendString(text, d.readRest(0))
	case kindStrings:
		text = appendString(text, d.readString())
		for len(d.rest) > 0 {
			text = appendString(append(text, ' '), d.readString())
		}
		return text
	case kindHex:
		return appendUpperHex(text, d.readRest(1))
	case kindBase64:
		return base64.StdEncoding.AppendEncode(text, d.readRest(1))
	case kindEUI48:
		return appendGroups(text, d.readOctets(6), 1, '-')
	case kindEUI64:
		return appendGroups(text, d.readOctets(8), 1, '-')
	case kindLocator64:
		return appendGroups(text, d.readOctets(8), 2, ':')
	case kindTypes:
		return d.readTypes(text)
	case kindParams:
		return d.readParams(text)
	case kindLOC:
		return d.readLOC(text)
	}
	d.fail(fmt.Errorf("no reader for %s", kindWords[k]))
	return text
}
