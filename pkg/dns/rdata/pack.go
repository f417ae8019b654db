// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Packer packs the values of one zone. It is Value.Pack for many of them: the
// origin is packed once, and a type whose fields are plain goes from its
// defined text to the wire without a resolved text between. It is immutable.
type Packer struct {
	origin name.Name
	top    []byte // wire form of origin, empty for the zero Name
}

// NewPacker is the packer of a zone named origin; the zero Name does for
// values without relative names.
func NewPacker(origin name.Name) *Packer {
	p := &Packer{origin: origin}
	if !origin.IsZero() {
		p.top = AppendName(make([]byte, 0, origin.WireLen()), origin)
	}
	return p
}

// AppendName appends the uncompressed wire form of n (RFC 1035 §3.1); n is not
// the zero Name.
func AppendName(wire []byte, n name.Name) []byte {
	text := n.String()
	if text != "." {
		wire = appendLabels(wire, text[:len(text)-1])
	}
	return append(wire, 0)
}

// AppendLabels appends the labels of owner as on the wire, none for the apex:
// what stands in front of the zone's name.
func AppendLabels(wire []byte, owner name.Rel) []byte {
	if owner.IsApex() {
		return wire
	}
	return appendLabels(wire, owner.String())
}

// appendLabels: names of this type have no escapes (S1.3).
func appendLabels(wire []byte, text string) []byte {
	length := len(wire)
	wire = append(append(wire, 0), text...)
	for i := length + 1; i < len(wire); i++ {
		if wire[i] == '.' {
			wire[length] = byte(i - length - 1)
			length = i
		}
	}
	wire[length] = byte(len(wire) - length - 1)
	return wire
}

// Append appends the canonical, uncompressed wire form (RFC 4034 §6.2) of v. On
// an error wire is as it was; the octets behind its end may have changed.
func (p *Packer) Append(wire []byte, v Value) ([]byte, error) {
	if v.Type == A {
		if four, ok := parseIPv4(v.Text); ok {
			return append(wire, four[:]...), nil
		}
	}
	packed, err := p.append(wire, v)
	if err != nil {
		return wire, fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	return packed, nil
}

func (p *Packer) append(wire []byte, v Value) ([]byte, error) {
	plan, text := planOf(v.Type), v.Text
	plain := plan.simple && !strings.HasPrefix(text, `\#`) && (!v.Type.isText() || strings.HasPrefix(text, `"`))
	if !plain || plan.hasNames() && len(p.top) == 0 {
		var err error
		if text, err = v.resolve(p.origin); err != nil {
			return nil, err
		}
	}
	if !plain {
		packed, _, err := encode(v.Type, text, oneValue, wire)
		return packed, err
	}
	var space [16]token
	fields, err := splitFields(v.Type, plan, text, oneValue, space[:0])
	if err != nil {
		return nil, err
	}
	// No mnemonics, so no library: a canonical text has none.
	return encodeFields(v.Type, plan, fields, p.top, wire)
}

// parseIPv4 reads four decimal numbers without leading zeros; what else may be
// an address is for netip to say.
func parseIPv4(text string) (four [4]byte, ok bool) {
	at, number, digits := 0, 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isDigit(c) && (digits == 0 || number > 0) && digits < 3:
			number = number*10 + int(c-'0')
			digits++
		case c == '.' && digits > 0 && number <= 255 && at < 3:
			four[at] = byte(number)
			at, number, digits = at+1, 0, 0
		default:
			return four, false
		}
	}
	if at != 3 || digits == 0 || number > 255 {
		return four, false
	}
	four[3] = byte(number)
	return four, true
}
