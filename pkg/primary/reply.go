// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zoneview"
)

// responder makes answers to messages. It does no I/O and holds no lock (FuzzRespond).
type responder struct {
	classes *classes
	clock   func() time.Time
}

// answer is the action for a message: send msg, run transfer, or carry out update. If all three are nil, the message
// gets no answer.
type answer struct {
	msg      []byte // without length octets
	transfer *transfer
	update   *pendingUpdate
	// admitted says that the source may know of the zones of some class, by its address or by the key that it signed
	// with.
	admitted bool
	// tenant is the one that all these classes are of, "" where one is the platform's.
	tenant string

	// For the operator's log and figures only:
	zone       name.Name
	refusal    string // why nothing of a zone is in msg
	advice     string // what the client of an update key is to set
	fault      error  // what kept a zone from being answered
	extended   uint16 // the bits of msg's rcode that stand in OPT
	difference bool   // msg is a whole IXFR
}

// pendingUpdate is a message of an update key that has not been carried out.
type pendingUpdate struct {
	updates.Message
	request request
	key     *updater
	overTCP bool
}

// headerOnly answers with a header alone: twelve octets, never more than came.
func headerOnly(q request, rcode uint16) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcode), nil, name.Name{}, maxMessage)
	return m.finishMessage()
}

// replyStatus answers with an rcode and nothing else; its size is at most the request's.
func (r *responder) replyStatus(q request, key *tsig.SigningKey, rcode uint16) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcode), q.question, q.qname, maxMessage)
	return r.finishReply(m, q, key, rcode)
}

// finishReply adds what stands behind the answers: OPT if asked with one, TSIG if signed.
func (r *responder) finishReply(m *message, q request, key *tsig.SigningKey, rcode uint16) []byte {
	if q.hasOPT {
		m.addOPT(rcode)
	}
	b := m.finishMessage()
	if key != nil {
		b, _ = key.Sign(b, q.priorMAC(), tsig.StampAt(r.clock()), false)
	}
	return b
}

// replyBadSignature answers a signature that does not hold (RFC 8945 §5.2, §5.3.2): unsigned
// where key or MAC are in doubt, signed where only time or length is. asked is the size of
// the request, which an unsigned answer does not exceed: a key's name may have come
// compressed, and it goes back whole or not at all.
func (r *responder) replyBadSignature(q request, v tsig.Verdict, asked int) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcodeNotAuth), q.question, q.qname, maxMessage)
	if q.hasOPT {
		m.addOPT(rcodeNotAuth)
	}
	b := m.finishMessage()
	s := q.signature
	switch v.Err {
	case tsig.BadTime:
		p := tsig.Stamp{Time: s.Time, Fudge: s.Fudge, Err: v.Err, Other: make([]byte, 6)}
		now := uint64(r.clock().Unix())
		for i := range p.Other {
			p.Other[i] = byte(now >> (8 * (5 - i)))
		}
		b, _ = v.Key.Sign(b, s.MAC, p, false)
	case tsig.BadTrunc:
		p := tsig.StampAt(r.clock())
		p.Err = v.Err
		b, _ = v.Key.Sign(b, s.MAC, p, false)
	default:
		unsigned, ok := tsig.AppendUnsigned(b, s, v.Err)
		if !ok || len(unsigned) > asked {
			return headerOnly(q, rcodeNotAuth)
		}
		b = unsigned
	}
	return b
}

// replySOA answers an IXFR with the zone's SOA alone: there is nothing new (RFC 1995 §4), or what is new does not fit
// UDP (§2). An SOA that does not fit is TC.
func (r *responder) replySOA(q request, key *tsig.SigningKey, zone *zoneview.Snapshot, overTCP bool) answer {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(flagAA, rcodeSuccess), q.question, q.qname, roomFor(q, key, overTCP))
	record, fault := zone.PackedSOA()
	if fault == nil {
		_, fault = m.addAnswer(record.Owner, record.Type, record.TTL, record.Rdata[0])
	}
	if fault != nil {
		more, rcode := uint16(flagTC), uint16(rcodeSuccess)
		if overTCP {
			more, rcode = 0, rcodeServFail
		}
		m.beginMessage(q.id, q.replyFlags(more, rcode), q.question, q.qname, maxMessage)
		if !overTCP && errors.Is(fault, errTooLarge) {
			fault = nil // that is what TCP is for
		}
	}
	return answer{msg: r.finishReply(m, q, key, rcodeSuccess), fault: fault}
}

// unsignedLimit is the most octets of an unsigned answer over UDP. An attacker that forges an allowed address gets no
// more out of it than of DNS as it was before EDNS (attack 35).
const unsignedLimit = 512

// roomFor is what an answer may take before OPT and TSIG.
func roomFor(req request, key *tsig.SigningKey, overTCP bool) int {
	limit := maxMessage
	if !overTCP {
		limit = min(req.udpSize, udpLimit)
		if key == nil {
			limit = min(limit, unsignedLimit)
		}
	}
	if req.hasOPT {
		limit -= optLen
	}
	if key != nil {
		limit -= key.RecordLen()
	}
	return limit
}
