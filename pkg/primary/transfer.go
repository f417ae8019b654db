// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zoneview"
)

// transfer is one AXFR or IXFR. It reads one immutable snapshot, so what it sends is one
// serial's content however long it takes (S6.8), and it holds one message at a time, so its
// memory does not grow with the zone.
type transfer struct {
	zone    *zoneview.Snapshot
	request request
	key     *tsig.SigningKey // nil: unsigned
	// share is the key whose tenant's share is sent in the place of the whole zone; nil: the zone is.
	share *updates.Key
	// incremental asks for the difference from the serial of the request. readDifference clears it if there is none.
	incremental bool
	// records are sent in the zone's place where there are any: a difference, complete with its SOAs.
	records []content.Packed
}

// sent counts what left.
type sent struct {
	messages, records int
	octets            int64
}

// sendTransfer packs the zone into messages and hands each, with its length octets in front, to
// write: the SOA, every other record, the SOA (RFC 5936 §2.2). Every message of a signed
// transfer is signed. A record that no message can hold or that cannot be packed ends the
// transfer with an error before the closing SOA: the peer then discards it whole, nothing
// is ever left out of a transfer that looks complete (coredns/coredns#7859).
func (t *transfer) sendTransfer(m *message, now func() time.Time, write func([]byte) error) (sent, error) {
	s := stream{transfer: t, message: m, now: now, write: write, prior: t.request.priorMAC()}
	s.openMessage()
	if t.records != nil {
		for _, record := range t.records {
			if err := s.sendRecord(record, record.Rdata[0]); err != nil {
				return s.sent, err
			}
		}
		return s.sent, s.flushMessage()
	}
	var soa content.Packed
	for set, err := range t.zone.Packed() {
		if err != nil {
			return s.sent, err
		}
		if soa.Rdata == nil {
			if set.Type != rdata.SOA {
				return s.sent, fmt.Errorf("snapshot of %s begins with %s, not its SOA", t.zone.FQDN(), set.Type)
			}
			soa = set
			soa.Rdata = [][]byte{bytes.Clone(set.Rdata[0])}
		}
		for _, data := range set.Rdata {
			if err := s.sendRecord(set, data); err != nil {
				return s.sent, err
			}
		}
	}
	if soa.Rdata == nil {
		return s.sent, fmt.Errorf("snapshot of %s has no records", t.zone.FQDN())
	}
	if err := s.sendRecord(soa, soa.Rdata[0]); err != nil {
		return s.sent, err
	}
	return s.sent, s.flushMessage()
}

// stream is the sending side of a transfer.
type stream struct {
	*transfer
	*message
	now   func() time.Time
	write func([]byte) error
	prior []byte // MAC that the next message's begins with
	sent  sent
}

// openMessage opens the next message. Question and OPT stand in the first (RFC 5936 §2.2.1,
// §2.2.5), the room for what follows the answers is kept free in each.
func (s *stream) openMessage() {
	q := s.request
	limit := maxMessage
	if s.key != nil {
		limit -= s.key.RecordLen()
	}
	question := q.question
	if s.sent.messages > 0 {
		question = nil
	} else if q.hasOPT {
		limit -= optLen
	}
	s.message.beginMessage(q.id, q.replyFlags(flagAA, rcodeSuccess), question, s.zone.FQDN(), limit)
}

func (s *stream) sendRecord(set content.Packed, data []byte) error {
	fits, err := s.message.addAnswer(set.Owner, set.Type, set.TTL, data)
	if err == nil && !fits {
		if err = s.flushMessage(); err != nil {
			return err
		}
		s.openMessage()
		_, err = s.message.addAnswer(set.Owner, set.Type, set.TTL, data) // an empty message answers with an error, never with "no"
	}
	if err != nil {
		return err
	}
	s.sent.records++
	return nil
}

func (s *stream) flushMessage() error {
	if s.sent.messages == 0 && s.request.hasOPT {
		s.addOPT(rcodeSuccess)
	}
	b := s.finishMessage()
	if s.key != nil {
		b, s.prior = s.key.Sign(b, s.prior, tsig.StampAt(s.now()), s.sent.messages > 0)
	}
	if len(b) > maxMessage {
		return fmt.Errorf("message of %d octets: %w", len(b), errTooLarge)
	}
	s.buf = s.buf[:lengthOctets+len(b)] // sign appends in place: the capacity is a whole message's
	binary.BigEndian.PutUint16(s.buf, uint16(len(b)))
	if err := s.write(s.buf); err != nil {
		return err
	}
	s.sent.messages++
	s.sent.octets += int64(len(b))
	return nil
}

// mostChangesOverUDP is above the records of a difference that fit a message over UDP: each has 12 octets or more.
const mostChangesOverUDP = udpLimit / 12

// isShort reports whether the difference from a serial of a zone may fit a message over UDP. It looks at no more
// changes than fit, since a question over UDP has no slot.
func (s *classes) isShort(zone *zoneview.Snapshot, since serial.Serial) bool {
	steps, err := s.zonesOf(zone).Changes(zone.Zone().UID, since, zone.Serial())
	changes := 0
	for _, step := range steps {
		if changes += len(step.Added) + len(step.Removed) + len(step.TTLs); changes > mostChangesOverUDP {
			return false
		}
		for _, ttl := range step.TTLs { // each value goes and comes
			set, _ := zone.RRset(ttl.Owner, ttl.Type)
			changes += len(set.Data)
		}
	}
	return err == nil && changes <= mostChangesOverUDP
}

// readDifference reads the records of an incremental transfer. Without a difference, it makes that a transfer of the
// whole zone.
func (s *classes) readDifference(t *transfer) {
	if t.incremental {
		d, err := s.zonesOf(t.zone).Difference(t.zone, serial.Serial(t.request.serial))
		if t.incremental = err == nil; t.incremental { // else the journal does not reach back
			t.records, t.incremental = packDifference(t.zone, d)
		}
	}
}

// packDifference makes the answer to an IXFR: one sequence from the serial that the peer has to the zone's, however
// many steps lie between (RFC 1995 §4, §5). Records have one rdata each: the new SOA, the old one and what went, the
// new one and what came, the new one. ok is false where the whole zone is the answer: the difference is as long as
// the zone, or cannot be packed.
func packDifference(zone *zoneview.Snapshot, d zoneview.Difference) (records []content.Packed, ok bool) {
	if len(d.Removed)+len(d.Added)+2 >= zone.EntryCount() {
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
