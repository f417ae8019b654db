// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
)

// difference is the answer to an IXFR: one sequence from the serial that the peer has to the zone's, however many steps
// lie between (RFC 1995 §4, §5). Records have one rdata each: the new SOA, the old one and what went, the new one and
// what came, the new one. ok is false where the whole zone is the answer: the journal does not reach back, or the
// difference is as long as the zone.
func (r *responder) difference(zone *zoneview.Snapshot, since serial.Serial) (records []content.Packed, ok bool) {
	difference := r.zones.Difference
	if isCatalog(zone) {
		difference = r.catalogs.Difference
	}
	d, err := difference(zone, since)
	if err != nil || len(d.Removed)+len(d.Added)+2 >= zone.EntryCount() {
		return nil, false
	}
	records = make([]content.Packed, 0, len(d.Removed)+len(d.Added)+4)
	for _, part := range [][]dns.Entry{{d.After}, {d.Before}, d.Removed, {d.After}, d.Added, {d.After}} {
		for _, entry := range part {
			record, err := packEntry(zone.FQDN(), entry)
			if err != nil {
				return nil, false // the whole zone says what is wrong with it
			}
			records = append(records, record)
		}
	}
	return records, true
}

func packEntry(zone name.Name, entry dns.Entry) (content.Packed, error) {
	owner, ok := entry.Name.Rel(zone)
	if !ok {
		return content.Packed{}, fmt.Errorf("%s is not in %s", entry.Name, zone)
	}
	wire, err := rdata.Value{Type: entry.Type, Text: entry.Data}.Pack(name.Name{})
	if err != nil {
		return content.Packed{}, fmt.Errorf("%s %s: %w", entry.Name, entry.Type, err)
	}
	return content.Packed{Owner: owner, Type: entry.Type, TTL: entry.TTL, Rdata: [][]byte{wire}}, nil
}

// incremental answers an IXFR from a peer that is behind: by the difference where there is one, over TCP else by the
// whole zone, over UDP else by the SOA, upon which the peer asks over TCP (RFC 1995 §2, §4).
func (r *responder) incremental(req request, key *signingKey, zone *zoneview.Snapshot, overTCP bool) answer {
	records, ok := r.difference(zone, serial.Serial(req.serial))
	if overTCP {
		return answer{transfer: &transfer{zone: zone, request: req.kept(), key: key, records: records}}
	}
	if !ok {
		return r.soa(req, key, zone, overTCP)
	}
	m := newSmallMessage()
	m.begin(req.id, req.replyFlags(flagAA, rcodeSuccess), req.question, zone.FQDN(), r.room(req, key, overTCP))
	for _, record := range records {
		if fits, err := m.add(record.Owner, record.Type, record.TTL, record.Rdata[0]); err != nil || !fits {
			return r.soa(req, key, zone, overTCP)
		}
	}
	return answer{msg: r.seal(m, req, key, rcodeSuccess), difference: true}
}

// room is what an answer may take before OPT and TSIG.
func (r *responder) room(req request, key *signingKey, overTCP bool) int {
	limit := maxMessage
	if !overTCP {
		limit = min(req.udpSize, udpLimit)
		if !req.proven {
			limit = min(limit, unprovenLimit)
		}
	}
	if req.answerCookie {
		limit -= cookieLen
	}
	if req.hasOPT {
		limit -= optLen
	}
	if key != nil {
		limit -= key.tsigLen()
	}
	return limit
}
