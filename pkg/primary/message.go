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

const maxMessage = 65535 // RFC 1035 §4.2.2: two length octets over TCP

// udpLimit is the maximum size of a UDP message in octets. Such a message is not fragmented on any link.
const udpLimit = 1232

// message builds a DNS message in buf. The first two octets of buf are the length prefix for TCP (RFC 1035 §4.2.2), so
// that both take a single write.
type message struct {
	buf []byte
	// limit is the maximum size of the message in octets, without OPT and TSIG.
	limit int
	// counts holds the number of records in the answer, authority and additional sections.
	counts [3]uint16
	// full is true if a record did not fit. The caller then sends the message and begins the next with the record.
	full  bool
	names compressor
}

func newMessage() *message {
	return &message{buf: make([]byte, lengthOctets, lengthOctets+maxMessage+overshoot), names: newCompressor(transferSlots)}
}

func newSmallMessage() *message {
	return &message{buf: make([]byte, lengthOctets, 512), names: newCompressor(answerSlots)}
}

// overshoot is the room for a record that exceeds the limit, until addRecord removes it.
const overshoot = 8 << 10

// beginMessage starts a message with header and question. zone is the name that owners are relative to. limit is in
// octets, without OPT and TSIG.
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
		// Answers point to the question's name only if it is in lower case, because a pointer to EXAMPLE.org would copy
		// the client's spelling into owners.
		if named := question[:len(question)-4]; len(named) > 1 && bytes.Equal(named, m.names.zone) {
			b = m.names.appendZone(b)
			question = question[len(named):]
		}
		b = append(b, question...)
	}

	m.buf = b
}

var errTooLarge = errors.New("the record does not fit a DNS message")

// addAnswer adds a record to the answer section. fits is false if the message is full, and the err is errTooLarge if
// not even an empty message has room.
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

// addRecord adds a record whose owner is already in the buffer, from ownerStart on. If the record does not fit,
// addRecord removes the owner too, sets full and returns false.
func (m *message) addRecord(ownerStart, section int, t rdata.Type, ttl uint32, data []byte) bool {
	b := append(m.buf, byte(t>>8), byte(t), 0, classIN, byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), 0, 0)
	dataStart := len(b)
	b = m.appendData(b, t, data)
	// A longer record exceeds the limit below, so a wrong length is never sent.
	if length := len(b) - dataStart; length <= maxMessage {
		binary.BigEndian.PutUint16(b[dataStart-2:], uint16(length))
	}
	if len(b)-lengthOctets > m.limit {
		m.buf, m.full = b[:ownerStart], true
		return false
	}
	m.buf = b
	m.counts[section]++
	return true
}

// appendData appends rdata to b, with names compressed only in RFC 1035 types (RFC 3597 §4).
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

func (m *message) addOPT(rcode uint16) {
	m.buf = append(m.buf, 0, 0, typeOPT)
	m.buf = binary.BigEndian.AppendUint16(m.buf, udpLimit)
	m.buf = append(m.buf, byte(rcode>>4), 0, 0, 0, 0, 0)
	m.counts[sectionAdditional]++
}

const optLen = 11

func (m *message) finishMessage() []byte {
	b := m.buf[lengthOctets:]
	for i, n := range m.counts {
		binary.BigEndian.PutUint16(b[6+2*i:], n)
	}
	return b
}
