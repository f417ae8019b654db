// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

const (
	headerLen = 12

	flagQR = 1 << 15
	flagAA = 1 << 10
	flagTC = 1 << 9
	flagRD = 1 << 8

	opcodeQuery  = 0
	opcodeNotify = 4
	opcodeUpdate = 5

	typeSOA   = 6
	typeOPT   = 41
	typeTKEY  = 249
	typeTSIG  = 250
	typeIXFR  = 251
	typeAXFR  = 252
	typeMAILB = 253
	typeMAILA = 254
	typeANY   = 255

	classIN  = 1
	classANY = 255

	rcodeSuccess  = 0
	rcodeFormErr  = 1
	rcodeServFail = 2
	rcodeNXDomain = 3
	rcodeNotImp   = 4
	rcodeRefused  = 5
	rcodeYXDomain = 6
	rcodeNotAuth  = 9
	rcodeBadVers  = 16 // with the upper bits in OPT (RFC 6891 §6.1.3)

	sectionAnswer     = 0
	sectionAuthority  = 1
	sectionAdditional = 2
)

type request struct {
	id       uint16
	flags    uint16
	opcode   int
	question []byte    // as sent, or empty
	qname    name.Name // zero if no zone can have the name
	qtype    uint16
	qclass   uint16

	hasOPT     bool
	udpSize    int // 512 without OPT
	optVersion uint8

	signature *tsig.Signature // nil means unsigned

	hasSerial bool // a query's authority section has an SOA (RFC 1995 §3)
	serial    uint32
}

type reading int

const (
	readable  reading = iota
	malformed         // answer FORMERR
	unwanted          // drop: no header, or a response; answers could loop
)

func readRequest(msg []byte) (request, reading) {
	if len(msg) < headerLen || msg[2]&0x80 != 0 {
		return request{}, unwanted
	}
	return readMessage(msg)
}

// hasOpcode reads the opcode of a datagram of any length (RFC 1035 §4.1.1).
func hasOpcode(msg []byte, opcode int) bool {
	return len(msg) >= headerLen && int(msg[2]>>3)&0xF == opcode
}

// readMessage parses a message of at least headerLen octets. It decodes only the names of the question and the TSIG, so
// that the time is linear in the size. If the message is malformed, only id, flags and opcode are valid.
func readMessage(msg []byte) (request, reading) {
	r := request{
		id:      binary.BigEndian.Uint16(msg),
		flags:   binary.BigEndian.Uint16(msg[2:]),
		udpSize: 512,
	}
	r.opcode = int(r.flags>>11) & 0xF

	// 1. The header, with a single question at most.
	questions := binary.BigEndian.Uint16(msg[4:])
	// Other opcodes need no question (RFC 1035 §4.1.2, RFC 2136 §3.1.1).
	if required := r.opcode == opcodeQuery || r.opcode == opcodeUpdate; questions > 1 || required && questions == 0 {
		return r, malformed
	}

	// 2. The question. A compressed name could only point into the header or ahead.
	off := headerLen
	if questions == 1 {
		end, compressed, ok := skipName(msg, off)
		if !ok || compressed || end+4 > len(msg) {
			return r, malformed
		}
		text, _, err := mdns.UnpackDomainName(msg, off)
		if err != nil {
			return r, malformed
		}
		// A name unfit for a zone, such as `a b.example.org.`, stays zero, and is answered all the same.
		r.qname, _ = name.Parse(text)
		r.qtype = binary.BigEndian.Uint16(msg[end:])
		r.qclass = binary.BigEndian.Uint16(msg[end+2:])
		off = end + 4
		r.question = msg[headerLen:off]
	}

	// 3. The records. OPT, TSIG and the SOA of an IXFR are read, and all others skipped.
	for section := 0; section < 3; section++ {
		count := int(binary.BigEndian.Uint16(msg[6+2*section:]))
		for i := 0; i < count; i++ {
			rr, next, ok := readRecord(msg, off)
			if !ok || r.signature != nil { // TSIG must be last (RFC 8945 §5.1)
				return r, malformed
			}
			if !r.parseRecord(msg, rr, section) {
				return r, malformed
			}
			off = next
		}
	}

	if off != len(msg) {
		return r, malformed
	}
	return r, readable
}

type record struct {
	offset, dataAt, dataEnd int
	rtype, class            uint16
	ttl                     uint32
}

// parseRecord reads a record with a meaning to the server, and returns false if the record is malformed or in the wrong
// place.
func (r *request) parseRecord(msg []byte, rr record, section int) bool {
	switch rr.rtype {
	case typeOPT:
		return section == sectionAdditional && r.parseOPT(msg, rr)
	case typeTSIG:
		return section == sectionAdditional && r.parseTSIG(msg, rr)
	case typeSOA:
		return section != sectionAuthority || r.parseSOA(msg, rr)
	}
	return true
}

// parseOPT returns false for a second OPT, or for an OPT with an owner (RFC 6891 §6.1.1).
func (r *request) parseOPT(msg []byte, rr record) bool {
	if r.hasOPT || msg[rr.offset] != 0 {
		return false
	}
	r.hasOPT = true
	r.optVersion = uint8(rr.ttl >> 16)
	r.udpSize = max(512, int(rr.class))
	return optionsAddUp(msg[rr.dataAt:rr.dataEnd])
}

func (r *request) parseTSIG(msg []byte, rr record) bool {
	if rr.class != classANY || rr.ttl != 0 {
		return false
	}
	r.signature = readSignature(msg, rr)
	return r.signature != nil
}

// parseSOA reads the serial of an IXFR from the first SOA, and returns false if the SOA is malformed. In an UPDATE this
// section has changes.
func (r *request) parseSOA(msg []byte, rr record) bool {
	if r.opcode != opcodeQuery || r.hasSerial {
		return true
	}
	off := rr.dataAt
	// Skip primary and contact, which may be compressed, to reach the five numbers.
	for range 2 {
		next, _, ok := skipName(msg[:rr.dataEnd], off)
		if !ok {
			return false
		}
		off = next
	}
	// Serial, refresh, retry, expire and minimum.
	if rr.dataEnd-off != 20 {
		return false
	}
	r.hasSerial, r.serial = true, binary.BigEndian.Uint32(msg[off:])
	return true
}

// readSignature reads a TSIG record (RFC 8945 §4.2), or returns nil if its parts do not fill the record. MAC and other
// data are slices of msg.
func readSignature(msg []byte, rr record) *tsig.Signature {
	key, _, err := mdns.UnpackDomainName(msg, rr.offset)
	if err != nil {
		return nil
	}

	algorithm, off, err := mdns.UnpackDomainName(msg[:rr.dataEnd], rr.dataAt)
	// Time (6 octets), fudge (2) and length of the MAC (2) follow.
	if err != nil || rr.dataEnd-off < 10 {
		return nil
	}

	s := &tsig.Signature{Offset: rr.offset, Key: mdns.CanonicalName(key), Algorithm: mdns.CanonicalName(algorithm)}
	s.Time = uint64(binary.BigEndian.Uint16(msg[off:]))<<32 | uint64(binary.BigEndian.Uint32(msg[off+2:]))
	s.Fudge = binary.BigEndian.Uint16(msg[off+6:])
	macLen := int(binary.BigEndian.Uint16(msg[off+8:]))

	off += 10
	// Behind the MAC: original ID, error and length of the other data.
	if rr.dataEnd-off < macLen+6 {
		return nil
	}
	s.MAC = msg[off : off+macLen]
	off += macLen

	s.OriginID = binary.BigEndian.Uint16(msg[off:])
	s.Err = binary.BigEndian.Uint16(msg[off+2:])
	otherLen := int(binary.BigEndian.Uint16(msg[off+4:]))
	off += 6

	if rr.dataEnd-off != otherLen {
		return nil
	}
	s.OtherData = msg[off:rr.dataEnd]
	return s
}

// readRecord returns the record at an offset and the offset of the next. ok is false if the record is cut.
func readRecord(msg []byte, off int) (rr record, next int, ok bool) {
	end, _, ok := skipName(msg, off)
	if !ok || end+10 > len(msg) {
		return rr, 0, false
	}
	rr = record{
		offset: off,
		rtype:  binary.BigEndian.Uint16(msg[end:]),
		class:  binary.BigEndian.Uint16(msg[end+2:]),
		ttl:    binary.BigEndian.Uint32(msg[end+4:]),
		dataAt: end + 10,
	}
	rr.dataEnd = rr.dataAt + int(binary.BigEndian.Uint16(msg[end+8:]))
	return rr, rr.dataEnd, rr.dataEnd <= len(msg)
}

// skipName returns the offset behind a name. It follows no pointer. ok is false if the name is cut, too long, or has an
// unknown kind of label.
func skipName(msg []byte, off int) (next int, compressed, ok bool) {
	for start := off; off < len(msg) && off-start < 255; {
		switch c := int(msg[off]); {
		case c == 0:
			return off + 1, false, true
		case c&0xC0 == 0xC0:
			return off + 2, true, off+2 <= len(msg)
		case c&0xC0 != 0: // obsolete label types (RFC 6891 §5)
			return 0, false, false
		default:
			off += c + 1
		}
	}
	return 0, false, false
}

// optionsAddUp reports whether the EDNS options exactly fill the OPT record. They are otherwise ignored.
func optionsAddUp(data []byte) bool {
	for len(data) > 0 {
		if len(data) < 4 {
			return false
		}
		length := int(binary.BigEndian.Uint16(data[2:]))
		if data = data[4:]; length > len(data) {
			return false
		}
		data = data[length:]
	}
	return true
}

func (q request) clone() request {
	q.question = bytes.Clone(q.question)
	if q.signature != nil {
		s := *q.signature
		s.MAC = bytes.Clone(s.MAC)
		q.signature = &s
	}
	return q
}

func (q request) priorMAC() []byte {
	if q.signature == nil {
		return nil
	}
	return q.signature.MAC
}

func (q request) replyFlags(more, rcode uint16) uint16 {
	return flagQR | uint16(q.opcode)<<11 | q.flags&flagRD | more | rcode&0xF
}
