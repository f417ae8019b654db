// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"net/netip"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type responder struct {
	classes *classes
	clock   func() time.Time
}

// sender is the source of a message. tls is nil if the message came in clear.
type sender struct {
	addr    netip.Addr
	overTCP bool
	tls     *tlsPeer
}

func (s sender) transport() string {
	switch {
	case s.tls != nil:
		return "tls"
	case s.overTCP:
		return "tcp"
	}
	return "udp"
}

// answer is the reaction to a DNS message. At most one of msg, transfer and update is set. If none is, the message is
// dropped.
type answer struct {
	// msg is the reply to send, without length octets.
	msg      []byte
	transfer *transfer
	update   *pendingUpdate
	// admitted is true if a class admits the source, or an update key signed the message.
	admitted bool
	// tenant is the namespace whose classes admit the source; "" if a class of the platform does.
	tenant string

	// For logs and statistics:

	zone name.Name
	// refusal is the reason why msg has no data, or "". advice is the remedy to log for the client's owner.
	refusal string
	advice  string
	fault   error
	// asked is the kind of transfer that the message asks for, or "".
	asked string
	// extended holds the upper bits of the response code, sent in OPT.
	extended uint16
	// difference is true if msg is a complete IXFR.
	difference bool
}

type pendingUpdate struct {
	updates.Message
	request request
	key     *updater
	overTCP bool
}

func headerOnly(q request, rcode uint16) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcode), nil, name.Name{}, maxMessage)
	return m.finishMessage()
}

func (r *responder) replyStatus(q request, key *tsig.SigningKey, rcode uint16) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcode), q.question, q.qname, maxMessage)
	return r.finishReply(m, q, key, rcode)
}

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

// replyBadSignature answers a request with a bad TSIG. An unsigned answer is never longer than the request, because the
// sender's address may be forged (RFC 8945 §5.2, §5.3.2).
func (r *responder) replyBadSignature(q request, v tsig.Verdict, requestLen int) []byte {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(0, rcodeNotAuth), q.question, q.qname, maxMessage)
	if q.hasOPT {
		m.addOPT(rcodeNotAuth)
	}

	reply := m.finishMessage()
	const timersOnly = false
	signature := q.signature

	switch v.Err {
	case tsig.BadTime: // signed, with this server's time
		stamp := tsig.Stamp{Time: signature.Time, Fudge: signature.Fudge, Err: v.Err, OtherData: make([]byte, 6)}
		now := uint64(r.clock().Unix())
		for i := range stamp.OtherData {
			stamp.OtherData[i] = byte(now >> (8 * (5 - i)))
		}
		signed, _ := v.Key.Sign(reply, signature.MAC, stamp, timersOnly)
		return signed
	case tsig.BadTrunc:
		stamp := tsig.StampAt(r.clock())
		stamp.Err = v.Err
		signed, _ := v.Key.Sign(reply, signature.MAC, stamp, timersOnly)
		return signed
	}

	// BADKEY or BADSIG
	unsigned, ok := tsig.AppendUnsigned(reply, signature, v.Err)
	if !ok || len(unsigned) > requestLen {
		return headerOnly(q, rcodeNotAuth)
	}
	return unsigned
}

// replySOA answers with the SOA alone: to an up-to-date peer, or to an IXFR over UDP, which the peer repeats over TCP.
func (r *responder) replySOA(q request, key *tsig.SigningKey, zone *zoneview.Snapshot, overTCP bool) answer {
	m := newSmallMessage()
	m.beginMessage(q.id, q.replyFlags(flagAA, rcodeSuccess), q.question, q.qname, roomFor(q, key, overTCP))

	record, fault := zone.PackedSOA()
	if fault == nil {
		_, fault = m.addAnswer(record.Owner, record.Type, record.TTL, record.Rdata[0])
	}

	if fault != nil {
		// An SOA too large for a datagram may fit a TCP message. Over TCP there is nothing larger.
		more, rcode := uint16(flagTC), uint16(rcodeSuccess)
		if overTCP {
			more, rcode = 0, rcodeServFail
		}
		m.beginMessage(q.id, q.replyFlags(more, rcode), q.question, q.qname, maxMessage)
		if !overTCP && errors.Is(fault, errTooLarge) {
			fault = nil // the peer retries over TCP
		}
	}

	return answer{msg: r.finishReply(m, q, key, rcodeSuccess), fault: fault}
}

// unsignedLimit limits unsigned answers over UDP, so that forged sources gain no more amplification than before EDNS.
const unsignedLimit = 512

// roomFor returns the maximum size of a reply in octets, without OPT and TSIG, which are added at the end.
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
