// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const maxMessage = 65535 // RFC 1035 §4.2.2: the length field over TCP has two octets

// udpLimit is the largest answer sent over UDP, in octets: it passes any link unfragmented. Unsigned questions get
// less (unsignedLimit).
const udpLimit = 1232

// message packs one DNS message. It holds the two length octets of TCP in front, so that
// a message leaves in one write, and is used again for the next one of a transfer. All its
// answers are of one zone. A record is packed before it is added; here it gets its place.
type message struct {
	buf    []byte    // two length octets, then the message
	limit  int       // the message's greatest size, what follows the answers already taken off
	counts [3]uint16 // records of the answer, authority and additional sections
	full   bool      // an answer did not fit: the next message begins before the next answer
	names  compressor
}

func newMessage() *message {
	return &message{buf: make([]byte, lengthOctets, lengthOctets+maxMessage+overshoot), names: newCompressor(transferSlots)}
}

func newSmallMessage() *message {
	return &message{buf: make([]byte, lengthOctets, 512), names: newCompressor(answerSlots)}
}

// overshoot is room for the record that turns out not to fit; S5.8 keeps values below 4 KiB.
const overshoot = 8 << 10

// beginMessage starts a message about zone, which may be the zero Name where there will be no
// answers. question is echoed byte for byte; answers point at it only where it is the
// zone's name in canonical form: a pointer to EXAMPLE.org would hand the questioner's
// spelling on as the owner's.
func (m *message) beginMessage(id, flags uint16, question []byte, zone name.Name, limit int) {
	b := m.buf[:lengthOctets]
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, flags)
	qdcount := uint16(0)
	if len(question) > 0 {
		qdcount = 1
	}
	b = binary.BigEndian.AppendUint16(b, qdcount)
	b = append(b, 0, 0, 0, 0, 0, 0)
	m.names.forgetNames(zone)
	m.limit, m.counts, m.full = limit, [3]uint16{}, false
	if len(question) > 0 {
		if named := question[:len(question)-4]; len(named) > 1 && bytes.Equal(named, m.names.zone) {
			b = m.names.appendZone(b)
			question = question[len(named):]
		}
		b = append(b, question...)
	}
	m.buf = b
}

// errTooLarge says that one record alone does not fit a message; limits of the API (S5.8)
// keep every record far below.
var errTooLarge = errors.New("the record does not fit a DNS message")

// addAnswer appends an answer; data is its canonical, uncompressed rdata. fits is false when the
// message has no room left for it; the message then stands as it was before and is to be
// sent, the record goes into the next.
func (m *message) addAnswer(owner name.Rel, t rdata.Type, ttl uint32, data []byte) (fits bool, err error) {
	if m.full {
		return false, nil
	}
	mark := len(m.buf)
	m.buf = m.names.appendOwner(m.buf, owner)
	if fits = m.addRecord(mark, sectionAnswer, t, ttl, data); !fits && m.counts[sectionAnswer] == 0 {
		err = fmt.Errorf("%s %s: %w", owner, t, errTooLarge)
	}
	return fits, err
}

// addRecord appends a record to its owner, which stands at mark already. false: there is no room for it, and the
// message stands as it was before the owner.
func (m *message) addRecord(mark, section int, t rdata.Type, ttl uint32, data []byte) bool {
	b := append(m.buf, byte(t>>8), byte(t), 0, classIN, byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), 0, 0)
	at := len(b)
	b = m.appendData(b, t, data)
	if length := len(b) - at; length <= maxMessage {
		binary.BigEndian.PutUint16(b[at-2:], uint16(length))
	}
	if len(b)-lengthOctets > m.limit {
		m.buf, m.full = b[:mark], true // what was remembered of its names is gone
		return false
	}
	m.buf = b
	m.counts[section]++
	return true
}

// appendData compresses the names of types of RFC 1035 and no others (RFC 3597 §4).
func (m *message) appendData(b []byte, t rdata.Type, data []byte) []byte {
	switch t {
	case rdata.NS, rdata.CNAME, rdata.PTR:
		b, data = m.names.appendName(b, data)
	case rdata.MX:
		if len(data) > 2 {
			b, data = m.names.appendName(append(b, data[:2]...), data[2:])
		}
	case rdata.SOA:
		b, data = m.names.appendName(b, data)
		b, data = m.names.appendName(b, data)
	}
	return append(b, data...)
}

// addOPT appends an OPT record with an extended rcode's upper bits (RFC 6891 §6.1.3).
func (m *message) addOPT(rcode uint16) {
	m.buf = append(m.buf, 0, 0, typeOPT)
	m.buf = binary.BigEndian.AppendUint16(m.buf, udpLimit)
	m.buf = append(m.buf, byte(rcode>>4), 0, 0, 0, 0, 0)
	m.counts[sectionAdditional]++
}

const optLen = 11

// finishMessage writes the counts that were open and returns the message without length octets.
func (m *message) finishMessage() []byte {
	b := m.buf[lengthOctets:]
	for i, n := range m.counts {
		binary.BigEndian.PutUint16(b[6+2*i:], n)
	}
	return b
}
