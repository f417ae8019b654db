// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// updateTimeUDP is about the time after which clients repeat an update.
const updateTimeUDP, updateTimeTCP = 5 * time.Second, 30 * time.Second

// answerUpdater answers a message signed by an update key. Questions, such as the client's SOA query before an UPDATE,
// also go to the updates.Handler, to find out the key's rights.
func (r *responder) answerUpdater(req request, msg []byte, key *updater, from netip.Addr, overTCP bool,
	refuse func(rcode uint16, why string) answer) answer {
	pending := &pendingUpdate{request: req.clone(), key: key, overTCP: overTCP}
	signature := pending.request.signature
	pending.Message = updates.Message{Key: key.Key, From: from, Zone: req.qname, MAC: signature.MAC, SignedAt: int64(signature.Time)}

	// Parsed later, in a slot of the tenant, because a message of 64 KiB is expensive.
	if req.opcode == opcodeUpdate {
		pending.Octets = msg
		return answer{zone: req.qname, update: pending}
	}

	zone, ok := r.findEnclosingOf(key, req)
	if !ok {
		return refuse(rcodeRefused, "zone not served to the update key")
	}

	isTransfer := req.qtype == typeAXFR || req.qtype == typeIXFR
	if isTransfer {
		return r.transferToUpdater(req, key, zone, overTCP, refuse)
	}

	// Only the Handler knows the zone's rules for the tenant. The probe, a message without updates, asks for them.
	pending.Probe = &update.Message{Zone: zone.FQDN()}
	isApexNS := req.qtype == uint16(rdata.NS) && req.qname == zone.FQDN()
	// nsupdate looks for the zone of a name by its SOA before an update.
	if req.qtype == typeSOA || isApexNS {
		return answer{zone: req.qname, update: pending}
	}
	// A key for _acme-challenge.www must not read the records of db.
	if !key.Covers(req.qname) {
		return refuse(rcodeRefused, "question beyond the names of the update key")
	}
	// The prerequisite makes the Handler check the name.
	pending.Probe.Prerequisites = []update.RR{{Name: req.qname, Type: rdata.ANY, Class: update.ClassANY}}
	return answer{zone: req.qname, update: pending}
}

// answerProbe answers a question of an update key, given the RCODE of the Handler for its rights.
func (r *responder) answerProbe(u *pendingUpdate, rcode uint16) answer {
	req, key := u.request, u.key
	refuse := func(rcode uint16) answer { return answer{msg: r.replyStatus(req, key.signing, rcode), zone: req.qname} }

	switch rcode {
	// NXDOMAIN: the prerequisite is not met, so the key may read the name, where nothing is.
	case rcodeSuccess, rcodeNXDomain:
	case rcodeServFail:
		return refuse(rcodeServFail)
	default:
		return refuse(rcodeRefused)
	}

	zone, ok := r.findEnclosingOf(key, req)
	switch {
	case !ok || zone.FQDN() != u.Probe.Zone: // changed meanwhile
		return refuse(rcodeServFail)
	case req.qtype == typeSOA && req.qname != zone.FQDN():
		return r.replySOABelow(req, key.signing, zone, u.overTCP)
	}

	q, ok := readName(req.question[:len(req.question)-4], true)
	if !ok {
		return refuse(rcodeRefused)
	}

	res, fault := resolveExact(zone, q, rdata.Type(req.qtype), !u.overTCP)
	if fault != nil {
		return answer{msg: r.replyStatus(req, key.signing, rcodeServFail), zone: req.qname, fault: fault}
	}
	return r.writeResult(req, key.signing, zone, res, u.overTCP)
}

// findEnclosingOf returns the closest zone above the name in the key's view. ok is false if the key reaches no name in
// that zone, even if a zone further up would be reached.
func (r *responder) findEnclosingOf(key *updater, req request) (*zoneview.Snapshot, bool) {
	for at, ok := req.qname, !req.qname.IsZero(); ok; at, ok = at.Parent() {
		if zone, found := findZone(key.classes, at); found {
			return zone, key.Reaches(at)
		}
	}
	return nil, false
}

// transferToUpdater answers an AXFR or IXFR signed by an update key, always with the whole zone, because update clients
// keep no serial.
func (r *responder) transferToUpdater(req request, key *updater, zone *zoneview.Snapshot, overTCP bool,
	refuse func(rcode uint16, why string) answer) answer {
	if !overTCP {
		return refuse(rcodeRefused, "a transfer to an update key over UDP")
	}
	if req.qname != zone.FQDN() {
		return refuse(rcodeRefused, "zone not served to the update key")
	}

	whole := &transfer{zone: zone, request: req.clone(), key: key.signing}
	isOwnZone := zone.Zone().Namespace == key.Tenant
	switch {
	case key.Transfer == updates.TransferZone && isOwnZone:
		return answer{transfer: whole, zone: req.qname}
	case key.Transfer == updates.TransferOwn:
		whole.shareKey = key.Key
		return answer{transfer: whole, zone: req.qname}
	}
	return refuse(rcodeRefused, "the update key has no transfer of this zone")
}

// replySOABelow answers an SOA question for a name below the apex, with the zone's SOA in the authority section,
// whether or not the name exists. Clients need the SOA to find the zone, and must learn nothing else.
func (r *responder) replySOABelow(req request, key *tsig.SigningKey, zone *zoneview.Snapshot, overTCP bool) answer {
	m := newSmallMessage()
	m.beginMessage(req.id, req.replyFlags(flagAA, rcodeSuccess), req.question, zone.FQDN(), roomFor(req, key, overTCP))
	record, fault := zone.PackedSOA()
	if fault == nil && !m.addSets([]sectionRRset{{Packed: record}}, sectionAuthority) {
		fault = errTooLarge
	}
	if fault != nil {
		return answer{msg: r.replyStatus(req, key, rcodeServFail), fault: fault}
	}
	return answer{msg: r.finishReply(m, req, key, rcodeSuccess), zone: zone.FQDN()}
}

func (s *server) readShare(ctx context.Context, t *transfer) error {
	sets, err := s.updates.Share(ctx, t.shareKey, t.zone.FQDN())
	if err != nil {
		return err
	}
	header := t.zone.Header()
	// Only the SOA and the share: the zone's NS belong to its owner.
	header.NameServers = nil
	t.zone = zoneview.NewSnapshot(t.zone.Zone(), header, t.zone.Serial(), t.zone.N(), t.zone.State(), slices.Values(sets))
	return nil
}
