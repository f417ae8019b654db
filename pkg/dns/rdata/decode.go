// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/hex"
	"errors"
	"net/netip"
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

func appendGroups(text, octets []byte, size int, separator byte) []byte {
	for i := 0; i < len(octets); i += size {
		if i > 0 {
			text = append(text, separator)
		}
		text = hex.AppendEncode(text, octets[i:i+size])
	}
	return text
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
	last := -1
	for first := true; len(d.rest) > 0; {
		head := d.readOctets(2)
		window, length := int(head[0]), int(head[1])
		if window <= last || length == 0 || length > 32 {
			d.fail(errors.New("the windows of the bit map are not in order, or empty, or too long (RFC 4034 §4.1.2)"))
			return text
		}
		last = window
		bits := d.readOctets(length)
		if bits[length-1] == 0 {
			d.fail(errors.New("the bit map has trailing zero octets (RFC 4034 §4.1.2)"))
			return text
		}
		// The first bit is the highest of the first octet.
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
