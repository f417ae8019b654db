// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
)

// decoder reads the fields of record data (RDATA) from their wire form. After an error it returns zeros, so a caller
// needs to check err only once, after a field or a loop.
type decoder struct {
	rest []byte
	// mark, if not noMark, is the last label of names that are relative in the record's text (chooseMark).
	mark byte
	// err is a pointer because otherwise an escaping error would move the octets to the heap.
	err *error
}

func newDecoder(wire []byte, mark byte) decoder { return decoder{wire, mark, new(error)} }

var errShort = errors.New("the octets end in the middle of a field")

func (d *decoder) fail(err error) {
	if *d.err == nil {
		*d.err = err
	}
	d.rest = nil
}

func (d *decoder) readOctets(n int) []byte {
	if len(d.rest) < n {
		d.fail(errShort)
		return make([]byte, n)
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) readRest(least int) []byte {
	if len(d.rest) < least {
		d.fail(errShort)
	}
	rest := d.rest
	d.rest = nil
	return rest
}

func (d *decoder) readNumber(octets int) (value uint64) {
	for _, c := range d.readOctets(octets) {
		value = value<<8 | uint64(c)
	}
	return value
}

func (d *decoder) readGroups(text []byte, k *kind) []byte {
	for range k.octets / k.group {
		text = append(hex.AppendEncode(text, d.readOctets(k.group)), k.separator)
	}
	return text[:len(text)-1]
}

func (d *decoder) readTag(text []byte) []byte {
	tag := strings.ToLower(string(d.readString()))
	if err := checkTag(tag); err != nil {
		d.fail(err)
	}
	return append(text, tag...)
}

func (d *decoder) readString() []byte { return d.readOctets(int(d.readOctets(1)[0])) }

// readName reads an uncompressed name and appends the text, such as "mail.example.org.". If the last label is the mark
// (chooseMark), the text is relative, such as "mail".
func (d *decoder) readName(text []byte) []byte {
	start, wireLen := len(text), 0
	for {
		n := int(d.readOctets(1)[0])
		wireLen += 1 + n
		// The mark, which ends a relative name in place of the zone's name, may be beyond the limit.
		isMark := d.isMark(n)
		switch {
		// The two highest bits make a compression pointer (RFC 1035 §4.1.4).
		case n > 63:
			d.fail(errors.New("a compressed name; write it out"))
			return text
		case wireLen > 255 && !(isMark && wireLen == 256):
			d.fail(errors.New("a name of more than 255 octets (RFC 1035 §2.3.4)"))
			return text
		case n == 0 && len(text) == start:
			return append(text, '.')
		case n == 0:
			return text
		case isMark:
			d.rest = d.rest[2:]
			if len(text) == start {
				return append(text, '@')
			}
			return text[:len(text)-1] // without the dot
		}
		text = append(appendLabel(text, d.readOctets(n)), '.')
	}
}

// isMark reports whether the next label, of n octets, is the mark and the last of its name.
func (d *decoder) isMark(n int) bool {
	return n == 1 && d.mark != noMark && len(d.rest) > 1 && d.rest[0] == d.mark && d.rest[1] == 0
}

func (d *decoder) readAddress(text []byte, octets int) []byte {
	addr, _ := netip.AddrFromSlice(d.readOctets(octets))
	return addr.AppendTo(text)
}

// readTypes appends the mnemonics of a bit map, with blanks between them.
func (d *decoder) readTypes(text []byte) []byte {
	start := len(text)
	for last := -1; len(d.rest) > 0; {
		head := d.readOctets(2)
		window, length := int(head[0]), int(head[1])
		bits := d.readOctets(length)
		if window <= last || length == 0 || length > 32 || bits[length-1] == 0 {
			d.fail(errors.New("the windows of the bit map are not in order, empty, too long, or end in zero octets (RFC 4034 §4.1.2)"))
			return text
		}
		last = window
		// The first bit is the highest of the first octet.
		for i := range 8 * length {
			if bits[i/8]&(0x80>>(i%8)) != 0 {
				text = append(append(text, Type(window*256+i).String()...), ' ')
			}
		}
	}
	return text[:max(start, len(text)-1)]
}

// readGateway appends the gateway of an IPSECKEY, whose form depends on the gateway type (RFC 4025 §2.5).
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
