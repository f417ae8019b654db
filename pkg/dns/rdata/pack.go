// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"net/netip"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Packer converts the values of a zone to wire form. It is immutable.
type Packer struct {
	top []byte // empty for the zero Name
}

// NewPacker returns a Packer for a zone. The origin may be zero if no name is relative.
func NewPacker(origin name.Name) *Packer {
	p := &Packer{}
	if !origin.IsZero() {
		p.top = AppendName(make([]byte, 0, origin.WireLen()), origin)
	}
	return p
}

// AppendName appends the uncompressed wire form of n (RFC 1035 §3.1). The name must not be zero.
func AppendName(wire []byte, n name.Name) []byte {
	text := n.String()
	if text != "." {
		wire = appendLabels(wire, text[:len(text)-1])
	}
	return append(wire, 0)
}

func AppendLabels(wire []byte, owner name.Rel) []byte {
	if owner.IsApex() {
		return wire
	}
	return appendLabels(wire, owner.String())
}

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

// Append appends the canonical, uncompressed wire form of v (RFC 4034 §6.2) to wire. After an error, the result is wire
// without v.
func (p *Packer) Append(wire []byte, v Value) ([]byte, error) {
	if v.Type == A { // the most frequent type is parsed without splitting the text into words
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

// Pack returns the canonical, uncompressed wire form (RFC 4034 §6.2) in the zone origin.
func (v Value) Pack(origin name.Name) ([]byte, error) {
	return NewPacker(origin).Append(make([]byte, 0, 32+len(v.Text)), v)
}
