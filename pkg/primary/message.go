// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	maxMessage = 65535 // RFC 1035 §4.2.2: the length field over TCP has two octets
	// pointerReach is the first offset that no compression pointer can name (RFC 1035 §4.1.4).
	pointerReach = 1 << 14
)

// message packs one DNS message. It holds the two length octets of TCP in front, so that
// a message leaves in one write, and is used again for the next one of a transfer.
//
// Names in it are canonical (lower case), so suffixes that are equal as text are equal on
// the wire; suffixes that are not are at worst not compressed.
type message struct {
	buf     []byte // two length octets, then the message
	limit   int    // the message's greatest size, what follows the answers already taken off
	answers int
	offsets map[string]uint16 // name suffix → where it stands
}

const lengthOctets = 2

func newMessage() *message {
	return &message{buf: make([]byte, lengthOctets, lengthOctets+maxMessage+overshoot), offsets: map[string]uint16{}}
}

// overshoot is room for the record that turns out not to fit; S5.6 keeps values below 4 KiB.
const overshoot = 8 << 10

// begin starts a message. question is echoed byte for byte; qname is what it names, and
// answers point at it only where it is spelled in canonical form: a pointer to EXAMPLE.org
// would hand the questioner's spelling on as the owner's.
func (m *message) begin(id, flags uint16, question []byte, qname name.Name, limit int) {
	b := m.buf[:lengthOctets]
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, flags)
	qdcount := uint16(0)
	if len(question) > 0 {
		qdcount = 1
	}
	b = binary.BigEndian.AppendUint16(b, qdcount)
	b = append(b, 0, 0, 0, 0, 0, 0)
	clear(m.offsets)
	m.limit, m.answers = limit, 0
	m.buf = b
	if len(question) == 0 {
		return
	}
	m.buf = append(m.buf, question...)
	if !qname.IsZero() && isCanonical(question) {
		text := qname.String()
		for off := headerLen; text != "." && text != ""; {
			m.offsets[text] = uint16(off)
			dot := strings.IndexByte(text, '.')
			off, text = off+dot+1, text[dot+1:]
		}
	}
}

func isCanonical(question []byte) bool {
	for _, c := range question[:len(question)-4] {
		if 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

func (m *message) size() int { return len(m.buf) - lengthOctets }

// errTooLarge says that one record alone does not fit a message; limits of the API (S5.6)
// keep every record far below.
var errTooLarge = errors.New("the record does not fit a DNS message")

// add appends an answer. fits is false when the message has no room left for it; the
// message then stands as it was before and is to be sent, the record goes into the next.
func (m *message) add(e dns.Entry) (fits bool, err error) {
	mark := len(m.buf)
	if err := m.pack(e); err != nil {
		m.buf = m.buf[:mark]
		return false, fmt.Errorf("%s %s: %w", e.Name, e.Type, err)
	}
	if m.size() > m.limit {
		m.buf = m.buf[:mark]
		if m.answers == 0 {
			return false, fmt.Errorf("%s %s: %w", e.Name, e.Type, errTooLarge)
		}
		return false, nil
	}
	m.answers++
	return true, nil
}

// addOPT appends an OPT record with an extended rcode's upper bits (RFC 6891 §6.1.3).
func (m *message) addOPT(rcode uint16) {
	m.buf = append(m.buf, 0, 0, typeOPT)
	m.buf = binary.BigEndian.AppendUint16(m.buf, udpLimit)
	m.buf = append(m.buf, byte(rcode>>4), 0, 0, 0, 0, 0)
	b := m.buf[lengthOctets:]
	binary.BigEndian.PutUint16(b[10:], binary.BigEndian.Uint16(b[10:])+1)
}

const optLen = 11

// finish writes the counts that were open and returns the message without length octets.
func (m *message) finish() []byte {
	b := m.buf[lengthOctets:]
	binary.BigEndian.PutUint16(b[6:], uint16(m.answers))
	return b
}

func (m *message) pack(e dns.Entry) error {
	if err := m.packName(e.Name.String(), true); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint16(m.buf, uint16(e.Type))
	b = binary.BigEndian.AppendUint16(b, classIN)
	b = binary.BigEndian.AppendUint32(b, e.TTL)
	m.buf = append(b, 0, 0)
	at := len(m.buf)
	if err := m.packData(e); err != nil {
		return err
	}
	length := len(m.buf) - at
	if length > maxMessage {
		return errTooLarge
	}
	binary.BigEndian.PutUint16(m.buf[at-2:], uint16(length))
	return nil
}

// packData packs the types a zone is full of by itself and leaves the others to rdata,
// which answers the same (TestPackData_sameAsRdata). Names are compressed in the types of
// RFC 1035 only (RFC 3597 §4).
func (m *message) packData(e dns.Entry) error {
	switch e.Type {
	case rdata.A, rdata.AAAA:
		addr, err := netip.ParseAddr(e.Data)
		if err != nil {
			return err
		}
		if addr.Is4() != (e.Type == rdata.A) || addr.Zone() != "" {
			return fmt.Errorf("%s is no address of this type", e.Data)
		}
		if addr.Is4() {
			a := addr.As4()
			m.buf = append(m.buf, a[:]...)
		} else {
			a := addr.As16()
			m.buf = append(m.buf, a[:]...)
		}
		return nil
	case rdata.NS, rdata.CNAME, rdata.PTR:
		return m.packName(e.Data, true)
	case rdata.MX:
		preference, host, _ := strings.Cut(e.Data, " ")
		n, err := strconv.ParseUint(preference, 10, 16)
		if err != nil {
			return err
		}
		m.buf = binary.BigEndian.AppendUint16(m.buf, uint16(n))
		return m.packName(host, true)
	case rdata.SOA:
		return m.packSOA(e.Data)
	}
	wire, err := rdata.Value{Type: e.Type, Text: e.Data}.Pack(name.Root)
	m.buf = append(m.buf, wire...)
	return err
}

func (m *message) packSOA(data string) error {
	for range 2 {
		var host string
		host, data, _ = strings.Cut(data, " ")
		if err := m.packName(host, true); err != nil {
			return err
		}
	}
	for range 5 {
		var field string
		field, data, _ = strings.Cut(data, " ")
		n, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return err
		}
		m.buf = binary.BigEndian.AppendUint32(m.buf, uint32(n))
	}
	if data != "" {
		return fmt.Errorf("%q is left over behind the SOA's seven fields", data)
	}
	return nil
}

// packName packs an absolute name in presentation form, escapes included.
func (m *message) packName(text string, compress bool) error {
	if text == "" || text[len(text)-1] != '.' {
		return fmt.Errorf("%q is no absolute name", text)
	}
	start := len(m.buf)
	for text != "." && text != "" {
		if compress {
			if off, ok := m.offsets[text]; ok {
				m.buf = binary.BigEndian.AppendUint16(m.buf, 0xC000|off)
				return nil
			}
			if off := len(m.buf) - lengthOctets; off < pointerReach {
				m.offsets[text] = uint16(off)
			}
		}
		rest, err := m.packLabel(text)
		if err != nil {
			return err
		}
		if len(m.buf)-start > 254 {
			return fmt.Errorf("%q is longer than 255 octets", text)
		}
		text = rest
	}
	m.buf = append(m.buf, 0)
	return nil
}

// packLabel packs the first label of text and returns what follows its dot.
func (m *message) packLabel(text string) (rest string, err error) {
	at := len(m.buf)
	m.buf = append(m.buf, 0)
	i := strings.IndexAny(text, `.\`)
	if i >= 0 && text[i] == '.' {
		m.buf = append(m.buf, text[:i]...)
	} else {
		for i = 0; i < len(text) && text[i] != '.'; i++ {
			c := text[i]
			if c == '\\' {
				if i++; i >= len(text) {
					return "", fmt.Errorf("%q ends in a backslash", text)
				}
				c = text[i]
				if '0' <= c && c <= '9' {
					n, err := strconv.ParseUint(text[i:min(i+3, len(text))], 10, 8)
					if err != nil || i+3 > len(text) {
						return "", fmt.Errorf("%q: an escape is a backslash and three digits up to 255", text)
					}
					c = byte(n)
					i += 2
				}
			}
			m.buf = append(m.buf, c)
		}
	}
	length := len(m.buf) - at - 1
	if length == 0 || length > 63 || i >= len(text) {
		return "", fmt.Errorf("%q: a label has 1 to 63 octets and ends in a dot", text)
	}
	m.buf[at] = byte(length)
	return text[i+1:], nil
}
