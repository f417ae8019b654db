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

// decoder reads wire rdata from the front.
type decoder struct {
	rest []byte
	mark byte
}

var errShort = errors.New("the octets end in the middle of a field")

func (d *decoder) take(n int) ([]byte, error) {
	if len(d.rest) < n {
		return nil, errShort
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken, nil
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
	d := decoder{wire, mark}
	var err error
	for i, k := range p.fields {
		if i >= len(p.fields)-p.optional && len(d.rest) == 0 {
			break
		}
		if i > 0 {
			text = append(text, ' ')
		}
		if text, err = d.readField(t, k, text, wire); err != nil {
			return nil, fmt.Errorf("field %d (%s): %w", i+1, kindWords[k], err)
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

func (d *decoder) readField(t Type, k kind, text, wire []byte) ([]byte, error) {
	switch k {
	case kindUint8:
		octets, err := d.take(1)
		if err != nil {
			return nil, err
		}
		return strconv.AppendUint(text, uint64(octets[0]), 10), nil
	case kindUint16:
		octets, err := d.take(2)
		if err != nil {
			return nil, err
		}
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(octets)), 10), nil
	case kindUint32:
		octets, err := d.take(4)
		if err != nil {
			return nil, err
		}
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint32(octets)), 10), nil
	case kindRRType:
		octets, err := d.take(2)
		if err != nil {
			return nil, err
		}
		return append(text, Type(binary.BigEndian.Uint16(octets)).String()...), nil
	case kindName:
		return d.readName(text)
	case kindIPv4, kindIPv6:
		return d.readAddress(text, k)
	case kindString:
		octets, err := d.readString()
		if err != nil {
			return nil, err
		}
		return appendString(text, octets), nil
	case kindDigits, kindDecimal, kindTag:
		octets, err := d.readString()
		if err != nil {
			return nil, err
		}
		if err := checkBareString(k, string(octets)); err != nil {
			return nil, err
		}
		for _, c := range octets {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			text = append(text, c)
		}
		return text, nil
	case kindOctets:
		octets := d.rest
		d.rest = nil
		return appendString(text, octets), nil
	case kindStrings:
		if len(d.rest) == 0 {
			return nil, errShort
		}
		for first := true; len(d.rest) > 0; first = false {
			octets, err := d.readString()
			if err != nil {
				return nil, err
			}
			if !first {
				text = append(text, ' ')
			}
			text = appendString(text, octets)
		}
		return text, nil
	case kindHex:
		if len(d.rest) == 0 {
			return nil, errShort
		}
		text = appendUpperHex(text, d.rest)
		d.rest = nil
		return text, nil
	case kindBase64:
		if len(d.rest) == 0 {
			return nil, errShort
		}
		text = base64.StdEncoding.AppendEncode(text, d.rest)
		d.rest = nil
		return text, nil
	case kindLOC:
		return d.readLOC(text)
	default:
		return d.readRareField(t, k, text, wire)
	}
}

// readRareField reads the kinds of fields that are rare in zones.
func (d *decoder) readRareField(t Type, k kind, text, wire []byte) ([]byte, error) {
	switch k {
	case kindEUI48, kindEUI64:
		n := 6
		if k == kindEUI64 {
			n = 8
		}
		octets, err := d.take(n)
		if err != nil {
			return nil, err
		}
		for i, c := range octets {
			if i > 0 {
				text = append(text, '-')
			}
			text = hex.AppendEncode(text, []byte{c})
		}
		return text, nil
	case kindLocator64:
		octets, err := d.take(8)
		if err != nil {
			return nil, err
		}
		for i := 0; i < 8; i += 2 {
			if i > 0 {
				text = append(text, ':')
			}
			text = hex.AppendEncode(text, octets[i:i+2])
		}
		return text, nil
	case kindTypes:
		return d.readTypes(text)
	case kindSalt:
		octets, err := d.readString()
		if err != nil {
			return nil, err
		}
		if len(octets) == 0 {
			return append(text, '-'), nil
		}
		return appendUpperHex(text, octets), nil
	case kindHash32:
		octets, err := d.readString()
		if err != nil {
			return nil, err
		}
		if len(octets) == 0 {
			return nil, errShort
		}
		return base32.HexEncoding.WithPadding(base32.NoPadding).AppendEncode(text, octets), nil
	case kindParams:
		return d.readParams(text)
	case kindPrefixes:
		return d.readPrefixes(text)
	case kindDiscovery:
		octets, err := d.take(1)
		if err != nil {
			return nil, err
		}
		text = append(text, '0'+octets[0]>>7, ' ')
		return strconv.AppendUint(text, uint64(octets[0]&0x7f), 10), nil
	case kindGateway:
		return d.readGateway(text, gatewayType(t, wire))
	case kindHIP:
		return d.readHIP(text)
	}
	return nil, fmt.Errorf("no reader for %s", kindWords[k])
}

// readString reads a length octet and as many octets.
func (d *decoder) readString() ([]byte, error) {
	length, err := d.take(1)
	if err != nil {
		return nil, err
	}
	return d.take(int(length[0]))
}

// readName reads an uncompressed name. One that ends in the mark was relative.
func (d *decoder) readName(text []byte) ([]byte, error) {
	start, total := len(text), 0
	for {
		length, err := d.take(1)
		if err != nil {
			return nil, err
		}
		n := int(length[0])
		switch total += 1 + n; {
		case n > 63:
			return nil, errors.New("a compressed name; write it out")
		case total > 255 && !d.markEnds(n, total):
			return nil, errors.New("a name of more than 255 octets (RFC 1035 §2.3.4)")
		case n == 0 && len(text) == start:
			return append(text, '.'), nil
		case n == 0:
			return text, nil
		}
		label, err := d.take(n)
		if err != nil {
			return nil, err
		}
		if d.mark != noMark && n == 1 && label[0] == d.mark && len(d.rest) > 0 && d.rest[0] == 0 {
			d.rest = d.rest[1:]
			if len(text) == start {
				return append(text, '@'), nil
			}
			return text[:len(text)-1], nil
		}
		text = appendLabel(text, label)
		text = append(text, '.')
	}
}

func (d *decoder) readAddress(text []byte, k kind) ([]byte, error) {
	n := 4
	if k == kindIPv6 {
		n = 16
	}
	octets, err := d.take(n)
	if err != nil {
		return nil, err
	}
	addr, _ := netip.AddrFromSlice(octets)
	return addr.AppendTo(text), nil
}

// readTypes reads a bit map of RR types (RFC 4034 §4.1.2).
func (d *decoder) readTypes(text []byte) ([]byte, error) {
	last := -1
	for first := true; len(d.rest) > 0; {
		head, err := d.take(2)
		if err != nil {
			return nil, err
		}
		window, length := int(head[0]), int(head[1])
		if window <= last || length == 0 || length > 32 {
			return nil, errors.New("the windows of the bit map are not in order, or empty, or too long (RFC 4034 §4.1.2)")
		}
		last = window
		bits, err := d.take(length)
		if err != nil {
			return nil, err
		}
		if bits[length-1] == 0 {
			return nil, errors.New("the bit map has trailing zero octets (RFC 4034 §4.1.2)")
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
	return text, nil
}

// readPrefixes reads the items of APL (RFC 3123 §4).
func (d *decoder) readPrefixes(text []byte) ([]byte, error) {
	for first := true; len(d.rest) > 0; first = false {
		head, err := d.take(4)
		if err != nil {
			return nil, err
		}
		afd, err := d.take(int(head[3] & 0x7f))
		if err != nil {
			return nil, err
		}
		var octets []byte
		switch family := binary.BigEndian.Uint16(head); family {
		case 1:
			octets = make([]byte, 4)
		case 2:
			octets = make([]byte, 16)
		default:
			return nil, fmt.Errorf("address family %d; this type has 1 (IPv4) and 2 (IPv6)", family)
		}
		if len(afd) > len(octets) || int(head[2]) > 8*len(octets) || len(afd) > 0 && afd[len(afd)-1] == 0 {
			return nil, errors.New("a prefix longer than its address, or with trailing zero octets (RFC 3123 §4)")
		}
		copy(octets, afd)
		addr, _ := netip.AddrFromSlice(octets)
		prefix := netip.PrefixFrom(addr, int(head[2]))
		if !first {
			text = append(text, ' ')
		}
		if head[3]&0x80 != 0 {
			text = append(text, '!')
		}
		text = append(text, '0'+head[1], ':')
		text = prefix.AppendTo(text)
	}
	return text, nil
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
func (d *decoder) readGateway(text []byte, gatewayType byte) ([]byte, error) {
	switch gatewayType {
	case 0:
		return append(text, '.'), nil
	case 1:
		return d.readAddress(text, kindIPv4)
	case 2:
		return d.readAddress(text, kindIPv6)
	case 3:
		return d.readName(text)
	}
	return nil, errGatewayType(gatewayType)
}

// readHIP reads all of HIP (RFC 8005 §5).
func (d *decoder) readHIP(text []byte) ([]byte, error) {
	head, err := d.take(4)
	if err != nil {
		return nil, err
	}
	hit, err := d.take(int(head[0]))
	if err != nil {
		return nil, err
	}
	key, err := d.take(int(binary.BigEndian.Uint16(head[2:])))
	if err != nil {
		return nil, err
	}
	if len(hit) == 0 || len(key) == 0 {
		return nil, errShort
	}
	text = strconv.AppendUint(text, uint64(head[1]), 10)
	text = append(text, ' ')
	text = appendUpperHex(text, hit)
	text = append(text, ' ')
	text = base64.StdEncoding.AppendEncode(text, key)
	for len(d.rest) > 0 {
		text = append(text, ' ')
		if text, err = d.readName(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// markEnds reports that the next label, of n octets, with which the name is total octets long, is the mark that ends
// it. Of mark and root only the root belongs to the name.
func (d *decoder) markEnds(n, total int) bool {
	return d.mark != noMark && n == 1 && total == 255+1 && len(d.rest) > 1 && d.rest[0] == d.mark && d.rest[1] == 0
}
