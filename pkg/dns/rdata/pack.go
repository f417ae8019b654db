// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"net/netip"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Packer packs the values of one zone, as Value.Pack does for one. The origin is packed once, and values are packed
// without resolving their text first. It is immutable.
type Packer struct {
	top []byte // wire form of the origin, empty for the zero Name
}

// NewPacker makes the packer of a zone named origin. The zero Name is enough for values without relative names.
func NewPacker(origin name.Name) *Packer {
	p := &Packer{}
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

// AppendLabels appends the wire form of the labels of owner, none for the apex. The zone's name is not among them.
func AppendLabels(wire []byte, owner name.Rel) []byte {
	if owner.IsApex() {
		return wire
	}
	return appendLabels(wire, owner.String())
}

// appendLabels: names of this type have no escapes (S1.2).
func appendLabels(wire []byte, text string) []byte {
	for {
		dot := strings.IndexByte(text, '.')
		if dot < 0 {
			return append(append(wire, byte(len(text))), text...)
		}
		wire = append(append(wire, byte(dot)), text[:dot]...)
		text = text[dot+1:]
	}
}

// Append appends the canonical, uncompressed wire form (RFC 4034 §6.2) of v. On
// an error wire is as it was; the octets behind its end may have changed.
func (p *Packer) Append(wire []byte, v Value) ([]byte, error) {
	if v.Type == A {
		if addr, err := netip.ParseAddr(v.Text); err == nil && addr.Is4() {
			four := addr.As4()
			return append(wire, four[:]...), nil
		}
	}
	packed, err := encodeText(v.Type, v.Text, oneValue, p.top, wire)
	if err != nil {
		return wire, fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	return packed, nil
}

// Pack returns the canonical, uncompressed wire form (RFC 4034 §6.2) of the
// value in a zone named origin.
func (v Value) Pack(origin name.Name) ([]byte, error) {
	return NewPacker(origin).Append(make([]byte, 0, 32+len(v.Text)), v)
}
