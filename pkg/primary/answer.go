// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// udpLimit is the largest answer sent over UDP, in octets: it passes any link unfragmented. Sources that nothing proves
// get less (unprovenLimit).
const udpLimit = 1232

// responder decides what a message is answered with. It does no I/O and holds no lock, so
// raw bytes can be thrown at it (FuzzRespond).
type responder struct {
	zones    Zones
	catalogs *zoneview.Set // as Zones, of the catalog zones
	roster   atomic.Pointer[roster]
	clock    func() time.Time
	cookies  *cookies
}

// answer is what to do about a message: send msg, run the transfer, or with neither say
// nothing.
type answer struct {
	msg      []byte // without length octets
	transfer *transfer
	// admitted: the source may know of the zones of some class, by its address or by the key that it signed with.
	admitted bool

	// For the operator's log and figures only:
	zone       name.Name
	refusal    string // why nothing of a zone is in msg
	fault      error  // what kept a zone from being answered
	extended   uint16 // the bits of msg's rcode that stand in OPT
	difference bool   // msg is a whole IXFR
}

// respond decides in an order that lets nobody learn a zone's name: form, signature,
// opcode, version, access, and only then the zone.
func (r *responder) respond(msg []byte, from netip.Addr, overTCP bool) answer {
	req, state := readRequest(msg)
	switch state {
	case unwanted:
		return answer{}
	case malformed:
		return answer{msg: bare(req, rcodeFormErr), refusal: "malformed"}
	}
	roster := r.roster.Load()
	var key *signingKey
	if req.signature != nil {
		v := roster.keys.verify(msg, req.signature, nil, r.clock())
		switch {
		case v.malformed:
			return answer{msg: bare(req, rcodeFormErr), zone: req.qname, refusal: "MAC of impossible length"}
		case v.err != 0:
			return answer{msg: r.refuseSignature(req, v, len(msg)), zone: req.qname, refusal: tsigErrors[v.err]}
		}
		key = v.key
	}
	reply := func(rcode uint16, why string) answer {
		return answer{msg: r.status(req, key, rcode), zone: req.qname, refusal: why, extended: rcode >> 4}
	}
	switch {
	case req.opcode == opcodeNotify:
		return reply(rcodeRefused, "NOTIFY") // nobody above a primary has news for it
	case req.opcode != opcodeQuery:
		return reply(rcodeNotImp, "opcode")
	case req.hasOPT && req.optVersion != 0:
		return reply(rcodeBadVers, "EDNS version")
	case req.qclass != classIN:
		return reply(rcodeRefused, "class")
	case metaType(req.qtype):
		return reply(rcodeRefused, "type")
	}
	open := roster.open(from, key)
	if len(open) == 0 {
		if key == nil {
			return reply(rcodeRefused, "unsigned and not allowed by its address")
		}
		return reply(rcodeRefused, "key not allowed from this address")
	}
	a := r.serve(req, key, open, from, overTCP, reply)
	a.admitted = true
	return a
}

// serve answers a peer that may know of the zones of the classes that are open to it. Others get no cookie: it would
// make answers longer than questions.
func (r *responder) serve(req request, key *signingKey, open []*Class, from netip.Addr, overTCP bool, reply func(rcode uint16, why string) answer) answer {
	req.from, req.answerCookie = from, req.cookie != nil
	req.proven = overTCP || key != nil || r.cookies.proves(req.cookie, from, r.clock())
	if req.qtype == typeAXFR && !overTCP {
		return reply(rcodeFormErr, "AXFR over UDP") // RFC 5936 §4.2 defines none
	}
	if req.qtype == typeIXFR && !req.hasSerial {
		return reply(rcodeFormErr, "IXFR without a serial")
	}
	if req.qtype != typeAXFR && req.qtype != typeIXFR {
		return r.lookup(req, key, open, overTCP)
	}
	zone, ok := r.find(open, req.qname)
	if !ok {
		return reply(rcodeNotAuth, "zone not served") // RFC 5936 §2.2.1
	}
	if req.qtype == typeAXFR {
		return answer{transfer: &transfer{zone: zone, request: req.kept(), key: key}}
	}
	switch serial.Serial(req.serial).Compare(zone.Serial()) {
	case serial.Equal, serial.After:
		return r.soa(req, key, zone, overTCP)
	}
	// A serial that cannot be compared is one that is behind.
	return r.incremental(req, key, zone, overTCP)
}

// metaType: no record has the type, and no question that is answered here.
func metaType(t uint16) bool {
	switch t {
	case 0, typeOPT, typeTKEY, typeTSIG, typeMAILB, typeMAILA:
		return true
	}
	return false
}

// find is the zone of that name in the first class that has it.
func (r *responder) find(open []*Class, fqdn name.Name) (*zoneview.Snapshot, bool) {
	for _, class := range open {
		if s, ok := class.find(r.zones, r.catalogs, fqdn); ok {
			return s, true
		}
	}
	return nil, false
}

// kept is the request with its question copied: a transfer outlives the buffer it came in.
func (q request) kept() request {
	q.question = append([]byte(nil), q.question...)
	if q.signature != nil {
		s := *q.signature
		s.mac = append([]byte(nil), s.mac...)
		q.signature = &s
	}
	return q
}

// priorMAC is what the MAC of a response begins with.
func (q request) priorMAC() []byte {
	if q.signature == nil {
		return nil
	}
	return q.signature.mac
}

func (q request) replyFlags(more, rcode uint16) uint16 {
	return flagQR | uint16(q.opcode)<<11 | q.flags&flagRD | more | rcode&0xF
}

// bare answers with a header alone: twelve octets, never more than came.
func bare(q request, rcode uint16) []byte {
	m := newSmallMessage()
	m.begin(q.id, q.replyFlags(0, rcode), nil, name.Name{}, maxMessage)
	return m.finish()
}

// status answers with an rcode and nothing else; its size is at most the request's.
func (r *responder) status(q request, key *signingKey, rcode uint16) []byte {
	m := newSmallMessage()
	m.begin(q.id, q.replyFlags(0, rcode), q.question, q.qname, maxMessage)
	return r.seal(m, q, key, rcode)
}

// seal adds what stands behind the answers: OPT if asked with one, TSIG if signed.
func (r *responder) seal(m *message, q request, key *signingKey, rcode uint16) []byte {
	if q.hasOPT {
		m.addOPT(rcode)
	}
	if q.answerCookie {
		at := len(m.buf)
		m.buf = r.cookies.make(m.buf, q.cookie[:clientCookieLen], q.from, r.clock())
		binary.BigEndian.PutUint16(m.buf[at-2:], cookieLen) // OPT ends with the length of its options
	}
	b := m.finish()
	if key != nil {
		b, _ = key.sign(b, q.priorMAC(), stampAt(r.clock()), false)
	}
	return b
}

// refuseSignature answers a signature that does not hold (RFC 8945 §5.2, §5.3.2): unsigned
// where key or MAC are in doubt, signed where only time or length is. asked is the size of
// the request, which an unsigned answer does not exceed: a key's name may have come
// compressed, and it goes back whole or not at all.
func (r *responder) refuseSignature(q request, v verdict, asked int) []byte {
	m := newSmallMessage()
	m.begin(q.id, q.replyFlags(0, rcodeNotAuth), q.question, q.qname, maxMessage)
	if q.hasOPT {
		m.addOPT(rcodeNotAuth)
	}
	b := m.finish()
	s := q.signature
	switch v.err {
	case tsigBadTime:
		p := stamp{time: s.time, fudge: s.fudge, err: v.err, other: make([]byte, 6)}
		now := uint64(r.clock().Unix())
		for i := range p.other {
			p.other[i] = byte(now >> (8 * (5 - i)))
		}
		b, _ = v.key.sign(b, s.mac, p, false)
	case tsigBadTrunc:
		p := stampAt(r.clock())
		p.err = v.err
		b, _ = v.key.sign(b, s.mac, p, false)
	default:
		keyWire, keyErr := wireName(s.key)
		algorithmWire, algorithmErr := wireName(s.algorithm)
		if keyErr != nil || algorithmErr != nil {
			return bare(q, rcodeNotAuth)
		}
		b = appendTSIG(b, keyWire, algorithmWire, nil, stamp{time: s.time, fudge: s.fudge, err: v.err})
		if len(b) > asked {
			return bare(q, rcodeNotAuth)
		}
	}
	return b
}

// soa answers an IXFR with the zone's SOA alone: there is nothing new (RFC 1995 §4), or what is new does not fit UDP
// (§2). An SOA that does not fit is TC.
func (r *responder) soa(q request, key *signingKey, zone *zoneview.Snapshot, overTCP bool) answer {
	m := newSmallMessage()
	m.begin(q.id, q.replyFlags(flagAA, rcodeSuccess), q.question, q.qname, r.room(q, key, overTCP))
	record, fault := zone.PackedSOA()
	if fault == nil {
		_, fault = m.add(record.Owner, record.Type, record.TTL, record.Rdata[0])
	}
	if fault != nil {
		more, rcode := uint16(flagTC), uint16(rcodeSuccess)
		if overTCP {
			more, rcode = 0, rcodeServFail
		}
		m.begin(q.id, q.replyFlags(more, rcode), q.question, q.qname, maxMessage)
		if !overTCP && errors.Is(fault, errTooLarge) {
			fault = nil // that is what TCP is for
		}
	}
	return answer{msg: r.seal(m, q, key, rcodeSuccess), fault: fault}
}
