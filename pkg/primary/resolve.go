// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"slices"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const maxChain = 16

type sectionRRset struct {
	content.Packed
	// ownerIsQname is true if the owner is written as a pointer to the question, to keep the question's spelling.
	ownerIsQname bool
	// ownerWire is the owner in wire form if neither the zone nor the question contains it, such as a CNAME's target
	// that a wildcard matches. It is nil otherwise.
	ownerWire []byte
}

type result struct {
	rcode                         uint16
	authoritative                 bool
	answer, authority, additional []sectionRRset
	// glue is the number of leading RRsets in additional that a referral requires (RFC 9471 §3).
	glue int
}

// qname is the name being looked up: the question's name, or later the target of a CNAME or DNAME.
type qname struct {
	// wire is the name in the question's spelling, or a target in lower case.
	wire []byte
	// zoneSuffix is the longest suffix that name.Parse accepts, because labels in a message may contain octets that are
	// not allowed in a Record's name. extraLabels is the number of labels before the suffix, for example 1 in
	// `a b.example.org.`. If it is not 0, the name does not exist.
	zoneSuffix  name.Name
	extraLabels int
	isQuestion  bool // not a target
}

// readName returns the qname of a name in wire form. first is true for the name of the question. ok is false if wire is
// malformed.
func readName(wire []byte, first bool) (qname, bool) {
	q := qname{wire: wire, isQuestion: first}
	for at := 0; at < len(wire); at += 1 + int(wire[at]) {
		text, _, err := mdns.UnpackDomainName(wire, at)
		if err != nil {
			return q, false
		}
		if n, err := name.Parse(text); err == nil {
			q.zoneSuffix = n
			return q, true
		}
		q.extraLabels++
	}
	return q, false
}

// resolveQuestion returns the sections of the answer to a question (RFC 1034 §4.3.2, RFC 6672 §3.2). If minimal is
// true, as over UDP, ANY gets a single RRset (RFC 8482). The error is a stored record unfit for the wire.
func resolveQuestion(zone *zoneview.Snapshot, q qname, qtype rdata.Type, minimal bool) (result, error) {
	s := resolution{zone: zone, qtype: qtype, minimal: minimal}
	for range maxChain {
		next, err := s.resolveAt(q)
		if err != nil || next == nil {
			return s.result, err
		}
		q = *next
	}
	return s.result, nil
}

// resolveExact answers for an update key: the RRset at the name itself, without wildcards, referrals and the targets of
// a CNAME, because the client wants to see what an update would find.
func resolveExact(zone *zoneview.Snapshot, q qname, qtype rdata.Type, minimal bool) (result, error) {
	s := resolution{zone: zone, qtype: qtype, minimal: minimal}
	rel, ok := q.zoneSuffix.Rel(zone.FQDN())
	if !ok || q.extraLabels > 0 || len(zone.TypesAt(rel)) == 0 {
		s.rcode = rcodeNXDomain
		return s.result, s.addNegativeSOA()
	}
	_, err := s.answerFrom(q, rel, false)
	return s.result, err
}

type resolution struct {
	result
	zone    *zoneview.Snapshot
	qtype   rdata.Type
	minimal bool
}

// resolveAt adds the answer for a name, and returns the next name of a CNAME or DNAME chain, or nil at the end.
func (s *resolution) resolveAt(q qname) (*qname, error) {
	rel, ok := q.zoneSuffix.Rel(s.zone.FQDN())
	if !ok {
		return nil, nil // the chain leaves the zone
	}

	// Walk down from the apex. A delegation or DNAME on the way decides the answer.
	var owners []name.Rel
	for owner, ok := rel, true; ok; owner, ok = owner.Parent() {
		owners = append(owners, owner)
	}

	encloser := name.Apex
	for i, owner := range slices.Backward(owners) {
		here := i == 0 && q.extraLabels == 0
		// The closest encloser is known: only a wildcard directly below can match (RFC 4592 §2.2.1).
		if !owner.IsApex() && !s.zone.Exists(owner) {
			return s.answerAbsent(q, encloser)
		}

		encloser = owner
		// A cut hides everything below, glue included. The DS at the cut belongs to this side.
		if !owner.IsApex() && !(here && s.qtype == rdata.DS) {
			servers, ok, err := s.zone.PackedRRset(owner, rdata.NS)
			if err != nil {
				return nil, err
			}
			if ok {
				return nil, s.referTo(servers)
			}
		}

		if here {
			return s.answerFrom(q, owner, false)
		}

		// A DNAME redirects the names below, and not its own.
		dname, ok, err := s.zone.PackedRRset(owner, rdata.DNAME)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.followDNAME(q, dname)
		}
	}
	return s.answerAbsent(q, encloser)
}

func (s *resolution) answerAbsent(q qname, encloser name.Rel) (*qname, error) {
	wildcard, err := wildcardOf(encloser)
	if err == nil && s.zone.Exists(wildcard) {
		return s.answerFrom(q, wildcard, true)
	}
	s.rcode = rcodeNXDomain
	return nil, s.addNegativeSOA()
}

func wildcardOf(encloser name.Rel) (name.Rel, error) {
	if encloser.IsApex() {
		return name.ParseRel("*")
	}
	return name.ParseRel("*." + encloser.String())
}

// answerFrom adds the RRsets at an owner. wild is true if the owner is a wildcard, whose records are sent under the
// name of the query. The result is the target of a CNAME, or nil.
func (s *resolution) answerFrom(q qname, owner name.Rel, wild bool) (*qname, error) {
	add := func(set content.Packed) {
		o := sectionRRset{Packed: set, ownerIsQname: q.isQuestion}
		if wild && !q.isQuestion {
			o.ownerWire = q.wire
		}
		s.answer = append(s.answer, o)
		s.authoritative = true
	}

	// A query for CNAME or ANY asks for the alias itself.
	if s.qtype != rdata.CNAME && s.qtype != typeANY {
		cname, ok, err := s.zone.PackedRRset(owner, rdata.CNAME)
		if err != nil {
			return nil, err
		}
		if ok {
			add(cname)
			next, ok := readName(cname.Rdata[0], false)
			if !ok {
				return nil, nil
			}
			return &next, nil
		}
	}

	// ANY over UDP gets the smallest RRset, since forged sources use ANY for amplification (RFC 8482 §4.1).
	types := []rdata.Type{s.qtype}
	if s.qtype == typeANY {
		if types = s.zone.TypesAt(owner); s.minimal && len(types) > 0 {
			types = []rdata.Type{s.findSmallest(owner, types)}
		}
	}

	var sets []content.Packed
	for _, t := range types {
		set, ok, err := s.zone.PackedRRset(owner, t)
		if err != nil {
			return nil, err
		}
		if ok {
			sets = append(sets, set)
		}
	}

	// NODATA: the name exists, without the type (RFC 2308 §2.2).
	if len(sets) == 0 {
		return nil, s.addNegativeSOA()
	}

	for _, set := range sets {
		add(set)
	}
	return nil, nil
}

// findSmallest returns the type with the shortest RRset, the least useful for amplification.
func (s *resolution) findSmallest(owner name.Rel, types []rdata.Type) rdata.Type {
	return slices.MinFunc(types, func(one, other rdata.Type) int {
		return cmp.Compare(s.countText(owner, one), s.countText(owner, other))
	})
}

func (s *resolution) countText(owner name.Rel, t rdata.Type) (sum int) {
	set, _ := s.zone.RRset(owner, t)
	for _, text := range set.Data {
		sum += len(text)
	}
	return sum
}

func (s *resolution) addNegativeSOA() error {
	soa, err := s.zone.PackedSOA()
	if err != nil {
		return err
	}
	soa.TTL = min(soa.TTL, s.zone.Header().NegativeResponseCache)
	s.authority, s.authoritative = append(s.authority, sectionRRset{Packed: soa}), true
	return nil
}

// followDNAME adds the DNAME and the CNAME synthesized from it (RFC 6672 §3.1), and returns the new name, or nil at the
// end. A name longer than 255 octets is YXDOMAIN.
func (s *resolution) followDNAME(q qname, dname content.Packed) (*qname, error) {
	s.answer, s.authoritative = append(s.answer, sectionRRset{Packed: dname}), true

	owner, err := dname.Owner.In(s.zone.FQDN())
	if err != nil {
		return nil, err
	}

	// a.b.old.example.org. with old.example.org. DNAME new.example.net.: the front is a.b.
	front := q.wire[:len(q.wire)-owner.WireLen()]
	target := append(append([]byte(nil), front...), dname.Rdata[0]...)
	if len(target) > maxName {
		s.rcode = rcodeYXDomain
		return nil, nil
	}

	cname := sectionRRset{Packed: content.Packed{Type: rdata.CNAME, TTL: dname.TTL, Rdata: [][]byte{target}}, ownerIsQname: q.isQuestion}
	if !q.isQuestion {
		cname.ownerWire = q.wire
	}
	s.answer = append(s.answer, cname)

	if s.qtype == rdata.CNAME || s.qtype == typeANY {
		return nil, nil
	}

	next, ok := readName(target, false)
	if !ok {
		return nil, nil
	}
	return &next, nil
}

// referTo adds the NS of a cut, without the AA flag, and the addresses of its servers. Only glue below the cut is
// required. Addresses elsewhere in the zone are sent if there is room.
func (s *resolution) referTo(servers content.Packed) error {
	cut := servers.Owner // the delegation's name
	s.authority = append(s.authority, sectionRRset{Packed: servers})

	var beside []sectionRRset
	for _, wire := range servers.Rdata {
		q, ok := readName(wire, false)
		// A server outside the zone, such as ns.example.net., has no address here.
		if !ok || q.extraLabels > 0 {
			continue
		}
		host, ok := q.zoneSuffix.Rel(s.zone.FQDN())
		if !ok {
			continue
		}
		for _, t := range []rdata.Type{rdata.A, rdata.AAAA} {
			set, ok, err := s.zone.PackedRRset(host, t)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if cut.Encloses(host) {
				s.additional = append(s.additional, sectionRRset{Packed: set})
			} else {
				beside = append(beside, sectionRRset{Packed: set})
			}
		}
	}

	s.glue = len(s.additional)
	s.additional = append(s.additional, beside...)
	return nil
}

const maxName = 255 // octets of a name (RFC 1035 §2.3.4)

// addSets adds whole RRsets to a section. It returns false if an RRset does not fit, and removes that RRset's records.
func (m *message) addSets(sets []sectionRRset, section int) bool {
	for _, set := range sets {
		mark, count := len(m.buf), m.counts[section]
		for _, data := range set.Rdata {
			if !m.addSectionRecord(section, set, data) {
				m.buf, m.counts[section] = m.buf[:mark], count
				return false
			}
		}
	}
	return true
}

func (m *message) addSectionRecord(section int, set sectionRRset, data []byte) bool {
	mark := len(m.buf)
	switch {
	case m.full:
		return false
	case set.ownerIsQname:
		m.buf = append(m.buf, 0xC0, headerLen)
	case set.ownerWire != nil:
		m.buf = append(m.buf, set.ownerWire...)
	default:
		m.buf = m.names.appendOwner(m.buf, set.Owner)
	}
	return m.addRecord(mark, section, set.Type, set.TTL, data)
}

func findZone(open []admittingClass, fqdn name.Name) (*zoneview.Snapshot, bool) {
	for _, class := range open {
		if s, ok := class.findZone(fqdn, class.signs); ok {
			return s, true
		}
	}
	return nil, false
}

// writeResult packs the sections into a reply. Without room for the required sections, TC is set over UDP, and over TCP
// the reply is SERVFAIL.
func (r *responder) writeResult(req request, key *tsig.SigningKey, zone *zoneview.Snapshot, res result,
	overTCP bool) answer {
	limit := roomFor(req, key, overTCP)
	m := newSmallMessage()

	flags := uint16(0)
	if res.authoritative {
		flags = flagAA
	}
	m.beginMessage(req.id, req.replyFlags(flags, res.rcode), req.question, zone.FQDN(), limit)

	whole := m.addSets(res.answer, sectionAnswer) && m.addSets(res.authority, sectionAuthority) &&
		m.addSets(res.additional[:res.glue], sectionAdditional)
	if whole {
		m.addSets(res.additional[res.glue:], sectionAdditional)
	} else {
		// Send no partial RRset, because resolvers would take it for the whole. The TC flag makes them retry over TCP.
		m.beginMessage(req.id, req.replyFlags(flags|flagTC, res.rcode), req.question, zone.FQDN(), limit)
		if overTCP {
			return answer{msg: r.replyStatus(req, key, rcodeServFail), zone: req.qname, fault: errTooLarge}
		}
	}
	return answer{msg: r.finishReply(m, req, key, res.rcode), zone: zone.FQDN()}
}
