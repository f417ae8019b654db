// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"net/netip"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// answerMessage returns the answer to a DNS message. The zone is looked up last, so that a source without access cannot
// find out whether the zone exists.
func (r *responder) answerMessage(msg []byte, from sender) (a answer) {
	// 1. Parse. A response gets no answer, because two servers could answer each other for ever.
	req, state := readRequest(msg)
	defer func() { a.asked = req.transferKind() }()
	switch state {
	case unwanted:
		return answer{}
	case malformed:
		return answer{msg: headerOnly(req, rcodeFormErr), refusal: "malformed"}
	}

	// 2. Verify the signature, before any other refusal (RFC 8945 §5.2). All steps use the same registry of keys and
	// classes.
	registry := r.classes.registry.Load()
	var key *tsig.SigningKey
	if req.signature != nil {
		verdict := registry.keys.Verify(msg, req.signature, nil, r.clock())
		switch {
		case verdict.Malformed:
			return answer{msg: headerOnly(req, rcodeFormErr), zone: req.qname, refusal: "MAC of impossible length"}
		case verdict.Err != 0:
			return answer{msg: r.replyBadSignature(req, verdict, len(msg)), zone: req.qname, refusal: tsig.ErrorNames[verdict.Err],
				advice: registry.adviseAlgorithm(verdict.OtherAlgorithm, req.signature.Algorithm, r.clock())}
		}
		key = verdict.Key
	}

	reply := func(rcode uint16, why string) answer {
		return answer{msg: r.replyStatus(req, key, rcode), zone: req.qname, refusal: why, extended: rcode >> 4}
	}

	// 3. Refuse messages never served here. The answers depend on no zone.
	updater := registry.updaterOf(key)
	switch {
	case req.opcode == opcodeNotify:
		return reply(rcodeRefused, "NOTIFY") // this server is never a secondary
	case req.opcode == opcodeUpdate && updater == nil:
		return reply(rcodeRefused, "UPDATE that no update key signed")
	case req.opcode != opcodeQuery && req.opcode != opcodeUpdate:
		return reply(rcodeNotImp, "opcode")
	case req.hasOPT && req.optVersion != 0:
		return reply(rcodeBadVers, "EDNS version")
	case req.qclass != classIN:
		return reply(rcodeRefused, "class")
	case isMetaType(req.qtype):
		return reply(rcodeRefused, "type")
	}

	// 4. An update key has rights of its own, whether or not a class has the source as a peer.
	if updater != nil {
		a = r.answerUpdater(req, msg, updater, from.addr, from.overTCP, reply)
		a.admitted, a.tenant = true, updater.Tenant
		return a
	}

	// 5. Find the admitting classes. Only then look for the zone.
	open, inClear := registry.classesFor(from, key, r.clock())
	if len(open) == 0 {
		for _, class := range inClear {
			r.classes.faults.noteFault(class, from.addr, TLSNotUsed, "it asks without the TLS of its class", r.clock())
		}
		if key == nil {
			return reply(rcodeRefused, "unsigned and not allowed by its address")
		}
		return reply(rcodeRefused, "key not allowed from this address")
	}

	if from.tls != nil {
		r.classes.faults.noteSuccess(open, from.addr)
	}
	a = r.answerPeer(req, key, open, from.overTCP, reply)
	a.admitted, a.tenant = true, tenantOf(open)
	return a
}

// answerPeer answers a query or transfer of an admitted peer from the zones in open, the classes that admit the peer. A
// transfer over TCP is returned unsent, because the connection writes its messages.
func (r *responder) answerPeer(req request, key *tsig.SigningKey, open []admittingClass, overTCP bool,
	reply func(rcode uint16, why string) answer) answer {
	switch req.qtype {
	case typeAXFR:
		if !overTCP {
			return reply(rcodeFormErr, "AXFR over UDP") // undefined (RFC 5936 §4.2)
		}
	case typeIXFR:
		if !req.hasSerial {
			return reply(rcodeFormErr, "IXFR without a serial")
		}
	default:
		return r.answerQuestion(req, key, open, overTCP)
	}

	zone, ok := findZone(open, req.qname)
	if !ok {
		return reply(rcodeNotAuth, "zone not served") // RFC 5936 §2.2.1
	}

	if req.qtype == typeAXFR {
		return answer{transfer: &transfer{zone: zone, request: req.clone(), key: key}}
	}

	// The peer is up to date, or ahead, for example after a restore: the SOA alone (RFC 1995 §2).
	if has := serial.Serial(req.serial); has == zone.Serial() || has.Ahead(zone.Serial()) {
		return r.replySOA(req, key, zone, overTCP)
	}
	// RFC 1982 does not order serials 2^31 apart. The client's counts as older.
	return r.answerDifference(req, key, zone, overTCP)
}

// transferKind returns KindAXFR or KindIXFR, or "" for another message.
func (q *request) transferKind() string {
	switch {
	case q.opcode == opcodeQuery && q.qtype == typeAXFR:
		return KindAXFR
	case q.opcode == opcodeQuery && q.qtype == typeIXFR:
		return KindIXFR
	}
	return ""
}

func isMetaType(t uint16) bool {
	switch t {
	case 0, typeOPT, typeTKEY, typeTSIG, typeMAILB, typeMAILA:
		return true
	}
	return false
}

// answerQuestion answers a query for records. refusal is set if no served zone encloses the name, and fault if stored
// records cannot be packed.
func (r *responder) answerQuestion(req request, key *tsig.SigningKey, open []admittingClass, overTCP bool) answer {
	fail := func(rcode uint16, why string, fault error) answer {
		return answer{msg: r.replyStatus(req, key, rcode), zone: req.qname, refusal: why, fault: fault}
	}

	// The last four octets of the question are type and class.
	q, ok := readName(req.question[:len(req.question)-4], true)
	if !ok {
		return fail(rcodeRefused, "zone not served", nil)
	}
	zone, ok := r.findEnclosing(open, q, rdata.Type(req.qtype))
	if !ok {
		return fail(rcodeRefused, "zone not served", nil)
	}

	res, fault := resolveQuestion(zone, q, rdata.Type(req.qtype), !overTCP)
	if fault != nil {
		return fail(rcodeServFail, "", fault)
	}
	return r.writeResult(req, key, zone, res, overTCP)
}

// findEnclosing returns the closest zone above a name, among the zones served to this peer.
func (r *responder) findEnclosing(open []admittingClass, q qname, qtype rdata.Type) (*zoneview.Snapshot, bool) {
	var own *zoneview.Snapshot
	for at, ok := q.zoneSuffix, true; ok; at, ok = at.Parent() {
		zone, found := findZone(open, at)
		if !found {
			continue
		}
		// The DS of example.org. belongs to org. (RFC 4035 §3.1.4.1). Without the parent here, the zone itself denies
		// the DS.
		if qtype == rdata.DS && q.extraLabels == 0 && at == q.zoneSuffix && own == nil {
			own = zone
			continue
		}
		return zone, true
	}
	return own, own != nil
}

// answerDifference answers an IXFR. Over UDP, the answer is the difference if there is room, and otherwise the SOA
// alone, so that the peer retries over TCP (RFC 1995 §2, §4).
func (r *responder) answerDifference(req request, key *tsig.SigningKey, zone *zoneview.Snapshot, overTCP bool) answer {
	t := &transfer{zone: zone, request: req.clone(), key: key, incremental: true}
	if overTCP {
		return answer{transfer: t}
	}

	// Do not compute a difference of thousands of records for 1232 octets.
	if !r.classes.isShort(zone, serial.Serial(req.serial)) {
		return r.replySOA(req, key, zone, overTCP)
	}
	r.classes.readDifference(t)
	if !t.incremental {
		return r.replySOA(req, key, zone, overTCP)
	}

	m := newSmallMessage()
	m.beginMessage(req.id, req.replyFlags(flagAA, rcodeSuccess), req.question, zone.FQDN(), roomFor(req, key, overTCP))
	for _, record := range t.records {
		// Half a difference would be applied by no secondary. The SOA makes the peer come back over TCP.
		if fits, err := m.addAnswer(record.Owner, record.Type, record.TTL, record.Rdata[0]); err != nil || !fits {
			return r.replySOA(req, key, zone, overTCP)
		}
	}

	r.classes.startTransfer(t, netip.AddrPort{}).End()
	return answer{msg: r.finishReply(m, req, key, rcodeSuccess), difference: true}
}
