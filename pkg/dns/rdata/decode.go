// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	mdns "github.com/miekg/dns"
)

// decoder reads wire rdata from the front. After an error it has no octets left and reads zeros, so that its callers
// check err once, at the end of a field or of a loop.
type decoder struct {
	rest []byte
	mark byte
	err  *error // apart, so that an error that escapes does not take the octets to the heap
}

func newDecoder(wire []byte, mark byte) decoder { return decoder{wire, mark, new(error)} }

var errShort = errors.New("the octets end in the middle of a field")

// fail keeps the first error.
func (d *decoder) fail(err error) {
	if *d.err == nil {
		*d.err = err
	}
	d.rest = nil
}

// take returns the next n octets, or n zeros after an error.
func (d *decoder) take(n int) []byte {
	if len(d.rest) < n {
		d.fail(errShort)
		return make([]byte, n)
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

// takeRest returns all octets that are left, at least the given number of them.
func (d *decoder) takeRest(least int) []byte {
	if len(d.rest) < least {
		d.fail(errShort)
	}
	rest := d.rest
	d.rest = nil
	return rest
}

// decodeWire appends the canonical text of wire rdata. It checks the octets as strictly as encodeText checks text: they
// may come from "\# length hex".
func decodeWire(t Type, wire []byte, mark byte, text []byte) ([]byte, error) {
	p := planOf(t)
	if !p.known() {
		text = append(text, `\# `...)
		text = strconv.AppendInt(text, int64(len(wire)), 10)
		if len(wire) > 0 {
			text = append(text, ' ')
		}
		return appendUpperHex(text, wire), nil
	}
	d := newDecoder(wire, mark)
	for i, k := range p.fields {
		if i >= len(p.fields)-p.optional && len(d.rest) == 0 {
			break
		}
		if i > 0 {
			text = append(text, ' ')
		}
		if text = d.readField(t, k, text, wire); *d.err != nil {
			return nil, fmt.Errorf("field %d (%s): %w", i+1, kindWords[k], *d.err)
		}
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d octets too many; %s", len(d.rest), p.usage())
	}
	// A last field that may be absent leaves its blank behind.
	if n := len(text); n > 0 && text[n-1] == ' ' {
		text = text[:n-1]
	}
	return text, nil
}

// readField appends the text of the next field, which is of kind k.
func (d *decoder) readField(t Type, k kind, text, wire []byte) []byte {
	switch k {
	case kindUint8:
		return strconv.AppendUint(text, uint64(d.take(1)[0]), 10)
	case kindUint16:
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(d.take(2))), 10)
	case kindUint32:
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint32(d.take(4))), 10)
	case kindRRType:
		return append(text, Type(binary.BigEndian.Uint16(d.take(2))).String()...)
	case kindName:
		return d.readName(text)
	case kindIPv4:
		return d.readAddress(text, 4)
	case kindIPv6:
		return d.readAddress(text, 16)
	case kindString:
		return appendString(text, d.readString())
	case kindDigits, kindDecimal, kindTag:
		octets := d.readString()
		if err := checkBareString(k, string(octets)); err != nil {
			d.fail(err)
		}
		for _, c := range octets {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			text = append(text, c)
		}
		return text
	case kindOctets:
		return appendString(text, d.takeRest(0))
	case kindStrings:
		text = appendString(text, d.readString())
		for len(d.rest) > 0 {
			text = appendString(append(text, ' '), d.readString())
		}
		return text
	case kindHex:
		return appendUpperHex(text, d.takeRest(1))
	case kindBase64:
		return base64.StdEncoding.AppendEncode(text, d.takeRest(1))
	case kindLOC:
		return d.readLOC(text)
	}
	return d.readRareField(t, k, text, wire)
}

// readRareField reads the kinds of fields that are rare in zones.
func (d *decoder) readRareField(t Type, k kind, text, wire []byte) []byte {
	switch k {
	case kindEUI48, kindEUI64:
		n := 6
		if k == kindEUI64 {
			n = 8
		}
		for i, c := range d.take(n) {
			if i > 0 {
				text = append(text, '-')
			}
			text = hex.AppendEncode(text, []byte{c})
		}
		return text
	case kindLocator64:
		octets := d.take(8)
		for i := 0; i < 8; i += 2 {
			if i > 0 {
				text = append(text, ':')
			}
			text = hex.AppendEncode(text, octets[i:i+2])
		}
		return text
	case kindTypes:
		return d.readTypes(text)
	case kindSalt:
		octets := d.readString()
		if len(octets) == 0 {
			return append(text, '-')
		}
		return appendUpperHex(text, octets)
	case kindHash32:
		octets := d.readString()
		if len(octets) == 0 {
			d.fail(errShort)
		}
		return base32.HexEncoding.WithPadding(base32.NoPadding).AppendEncode(text, octets)
	case kindParams:
		return d.readParams(text)
	case kindPrefixes:
		return d.readPrefixes(text)
	case kindDiscovery:
		octet := d.take(1)[0]
		return strconv.AppendUint(append(text, '0'+octet>>7, ' '), uint64(octet&0x7f), 10)
	case kindGateway:
		return d.readGateway(text, gatewayType(t, wire))
	case kindHIP:
		return d.readHIP(text)
	}
	d.fail(fmt.Errorf("no reader for %s", kindWords[k]))
	return text
}

// readString reads a length octet and as many octets.
func (d *decoder) readString() []byte { return d.take(int(d.take(1)[0])) }

// readName reads an uncompressed name. One that ends in the mark was relative.
func (d *decoder) readName(text []byte) []byte {
	start, total := len(text), 0
	for {
		n := int(d.take(1)[0])
		switch total += 1 + n; {
		case n > 63:
			d.fail(errors.New("a compressed name; write it out"))
			return text
		case total > 255 && !d.markEnds(n, total):
			d.fail(errors.New("a name of more than 255 octets (RFC 1035 §2.3.4)"))
			return text
		case n == 0 && len(text) == start:
			return append(text, '.')
		case n == 0:
			return text
		}
		label := d.take(n)
		if d.mark != noMark && n == 1 && label[0] == d.mark && len(d.rest) > 0 && d.rest[0] == 0 {
			d.rest = d.rest[1:]
			if len(text) == start {
				return append(text, '@')
			}
			return text[:len(text)-1]
		}
		text = append(appendLabel(text, label), '.')
	}
}

func (d *decoder) readAddress(text []byte, octets int) []byte {
	addr, _ := netip.AddrFromSlice(d.take(octets))
	return addr.AppendTo(text)
}

// readTypes reads a bit map of RR types (RFC 4034 §4.1.2).
func (d *decoder) readTypes(text []byte) []byte {
	last := -1
	for first := true; len(d.rest) > 0; {
		head := d.take(2)
		window, length := int(head[0]), int(head[1])
		if window <= last || length == 0 || length > 32 {
			d.fail(errors.New("the windows of the bit map are not in order, or empty, or too long (RFC 4034 §4.1.2)"))
			return text
		}
		last = window
		bits := d.take(length)
		if bits[length-1] == 0 {
			d.fail(errors.New("the bit map has trailing zero octets (RFC 4034 §4.1.2)"))
			return text
		}
		for i := 0; i < 8*length; i++ {
			if bits[i/8]&(0x80>>(i%8)) == 0 {
				continue
			}
			if !first {
				text = append(text, ' ')
			}
			first = false
			text = append(text, Type(window*256+i).String()...)
		}
	}
	return text
}

// readPrefixes reads the items of APL (RFC 3123 §4).
func (d *decoder) readPrefixes(text []byte) []byte {
	for first := true; len(d.rest) > 0; first = false {
		head := d.take(4)
		afd := d.take(int(head[3] & 0x7f))
		var octets []byte
		switch family := binary.BigEndian.Uint16(head); family {
		case 1:
			octets = make([]byte, 4)
		case 2:
			octets = make([]byte, 16)
		default:
			d.fail(fmt.Errorf("address family %d; this type has 1 (IPv4) and 2 (IPv6)", family))
			return text
		}
		if len(afd) > len(octets) || int(head[2]) > 8*len(octets) || len(afd) > 0 && afd[len(afd)-1] == 0 {
			d.fail(errors.New("a prefix longer than its address, or with trailing zero octets (RFC 3123 §4)"))
			return text
		}
		copy(octets, afd)
		addr, _ := netip.AddrFromSlice(octets)
		if !first {
			text = append(text, ' ')
		}
		if head[3]&0x80 != 0 {
			text = append(text, '!')
		}
		text = netip.PrefixFrom(addr, int(head[2])).AppendTo(append(text, '0'+head[1], ':'))
	}
	return text
}

// gatewayType returns the second octet of both types that have one, without the discovery bit of AMTRELAY (RFC 8777
// §4.1).
func gatewayType(t Type, wire []byte) byte {
	if uint16(t) == mdns.TypeAMTRELAY {
		return wire[1] & 0x7f
	}
	return wire[1]
}

// readGateway reads the gateway of IPSECKEY (RFC 4025 §2.5) and AMTRELAY.
func (d *decoder) readGateway(text []byte, gatewayType byte) []byte {
	switch gatewayType {
	case 0:
		return append(text, '.')
	case 1:
		return d.readAddress(text, 4)
	case 2:
		return d.readAddress(text, 16)
	case 3:
		return d.readName(text)
	}
	d.fail(errGatewayType(gatewayType))
	return text
}

// readHIP reads all of HIP (RFC 8005 §5).
func (d *decoder) readHIP(text []byte) []byte {
	head := d.take(4)
	hit := d.take(int(head[0]))
	key := d.take(int(binary.BigEndian.Uint16(head[2:])))
	if len(hit) == 0 || len(key) == 0 {
		d.fail(errShort)
		return text
	}
	text = strconv.AppendUint(text, uint64(head[1]), 10)
	text = appendUpperHex(append(text, ' '), hit)
	text = base64.StdEncoding.AppendEncode(append(text, ' '), key)
	for len(d.rest) > 0 {
		text = d.readName(append(text, ' '))
	}
	return text
}

// markEnds reports that the next label, of n octets, with which the name is total octets long, is the mark that ends
// it. Of mark and root only the root belongs to the name.
func (d *decoder) markEnds(n, total int) bool {
	return d.mark != noMark && n == 1 && total == 255+1 && len(d.rest) > 1 && d.rest[0] == d.mark && d.rest[1] == 0
}
