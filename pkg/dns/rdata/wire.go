// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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
	for i, field := range f.fields[:min(len(f.fields), len(tokens))] { // the last fields may be optional, by checkCount
		var err error
		k := field.kind
		own := tokens[i:min(i+k.tokens.most, len(tokens))]
		switch quoted := slices.IndexFunc(own, token.isQuoted); {
		case quoted >= 0 && !k.mayBeQuoted:
			err = fmt.Errorf("%s is quoted, but %s has no quotes; remove them", quote(own[quoted].text), k.words)
		case k == kindGateway:
			// The gateway type, already in wire, decides the form.
			wire, err = appendGateway(wire, wire[start+gatewayType], tokens[i].text, top)
		default:
			wire, err = appendField(wire, k, own, top)
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

// appendField appends a field of kind k from the first token, or from all tokens for forms that take the rest.
func appendField(wire []byte, k *kind, tokens []token, top []byte) ([]byte, error) {
	first := tokens[0]
	switch k.form {
	case formNumber:
		value, err := parseMnemonic(first, k.mnemonics, 8*k.octets)
		octets := binary.BigEndian.AppendUint32(nil, uint32(value))
		return append(wire, octets[4-k.octets:]...), err
	case formSeconds:
		value, err := ParseSeconds(first.text)
		return binary.BigEndian.AppendUint32(wire, value), err
	case formName:
		return appendName(wire, first.text, top)
	case formAddress:
		return appendAddress(wire, k, first.text)
	case formString:
		return appendOneString(wire, first.text)
	case formTag:
		return appendTag(wire, first.text)
	case formOctets:
		return appendOctets(wire, first.text), nil
	case formStrings:
		for _, t := range tokens {
			wire = appendStrings(wire, t.text)
		}
		return wire, nil
	case formHex:
		return appendHex(wire, tokens)
	case formBase64:
		return appendBase64(wire, tokens)
	case formGroups:
		return appendGroups(wire, k, first.text)
	case formTypes:
		return appendTypes(wire, tokens)
	case formParams:
		return appendParams(wire, tokens)
	}
	return appendLOC(wire, tokens)
}

// encodeGeneric appends the octets of the generic form, such as "\# 4 0a000001" (RFC 3597 §5).
func encodeGeneric(text string, wire []byte) ([]byte, error) {
	var space [8]token
	fields, err := splitText(text, syntax{}, space[:0])
	if err != nil {
		return nil, err
	}
	if len(fields) < 2 || slices.ContainsFunc(fields, token.isQuoted) {
		return nil, errors.New("\\# takes the number of octets and the octets as hexadecimal digits, " +
			"as in \"\\# 4 0a000001\" (RFC 3597 §5)")
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
			return nil, fmt.Errorf("field %d (%s): %w", i+1, field.kind.words, *d.err)
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
func (d *decoder) readField(k *kind, text []byte) []byte {
	switch k.form {
	case formNumber:
		return strconv.AppendUint(text, d.readNumber(k.octets), 10)
	case formSeconds:
		return strconv.AppendUint(text, d.readNumber(4), 10)
	case formName:
		return d.readName(text)
	case formAddress:
		return d.readAddress(text, k.octets)
	case formString:
		return appendString(text, d.readString())
	case formTag:
		return d.readTag(text)
	case formOctets:
		return appendString(text, d.readRest(0))
	case formStrings:
		text = appendString(text, d.readString())
		for len(d.rest) > 0 {
			text = appendString(append(text, ' '), d.readString())
		}
		return text
	case formHex:
		return appendUpperHex(text, d.readRest(1))
	case formBase64:
		return base64.StdEncoding.AppendEncode(text, d.readRest(1))
	case formGroups:
		return d.readGroups(text, k)
	case formTypes:
		return d.readTypes(text)
	case formParams:
		return d.readParams(text)
	}
	return d.readLOC(text)
}
