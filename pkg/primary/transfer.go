// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type transfer struct {
	// zone is immutable, so changes during the transfer have no effect on it.
	zone    *zoneview.Snapshot
	request request
	// key signs the messages; nil means unsigned.
	key *tsig.SigningKey
	// shareKey, if not nil, limits the transfer to the records that DNS updates made for the key's tenant.
	shareKey    *updates.Key
	incremental bool
	// records, if not nil, are sent instead of the whole zone.
	records []content.Packed
}

type transferStats struct {
	messages, records int
	octets            int64
}

// sendTransfer writes the messages of a transfer. A record that cannot be packed ends the transfer before the final
// SOA, so that the peer discards all of it (coredns/coredns#7859).
func (t *transfer) sendTransfer(m *message, now func() time.Time, write func([]byte) error) (transferStats, error) {
	s := stream{transfer: t, message: m, now: now, write: write, priorMAC: t.request.priorMAC()}
	s.openMessage()

	var err error
	// An IXFR without changes kept is a whole zone (RFC 1995 §4).
	isDifference := t.records != nil
	if isDifference {
		err = s.sendRecords(t.records)
	} else {
		err = s.sendZone()
	}
	if err == nil {
		err = s.flushMessage()
	}
	return s.stats, err
}

func (s *stream) sendRecords(records []content.Packed) error {
	for _, record := range records {
		if err := s.sendRecord(record, record.Rdata[0]); err != nil {
			return err
		}
	}
	return nil
}

// sendZone sends the SOA, all records, and the SOA again.
func (s *stream) sendZone() error {
	var soa content.Packed
	for set, err := range s.zone.PackedRRsets() {
		if err != nil {
			return err
		}
		isFirst := soa.Rdata == nil
		if isFirst && set.Type != rdata.SOA {
			return fmt.Errorf("snapshot of %s begins with %s, not its SOA", s.zone.FQDN(), set.Type)
		}
		if isFirst {
			soa = set
			soa.Rdata = [][]byte{bytes.Clone(set.Rdata[0])} // the iterator reuses the octets
		}
		for _, data := range set.Rdata {
			if err := s.sendRecord(set, data); err != nil {
				return err
			}
		}
	}

	if soa.Rdata == nil {
		return fmt.Errorf("snapshot of %s has no records", s.zone.FQDN())
	}
	return s.sendRecord(soa, soa.Rdata[0])
}

type stream struct {
	*transfer
	*message
	now      func() time.Time
	write    func([]byte) error
	priorMAC []byte
	stats    transferStats
}

// openMessage begins the next message of the transfer. Only the first has the question and OPT, and each has room for a
// TSIG.
func (s *stream) openMessage() {
	q := s.request
	limit := maxMessage
	if s.key != nil {
		limit -= s.key.RecordLen()
	}
	question := q.question
	if s.stats.messages > 0 {
		question = nil
	} else if q.hasOPT {
		limit -= optLen
	}
	s.message.beginMessage(q.id, q.replyFlags(flagAA, rcodeSuccess), question, s.zone.FQDN(), limit)
}

// sendRecord adds a record, in a new message if the current is full. The error is errTooLarge for a record that fits no
// message.
func (s *stream) sendRecord(set content.Packed, data []byte) error {
	fits, err := s.message.addAnswer(set.Owner, set.Type, set.TTL, data)
	if err == nil && !fits {
		if err = s.flushMessage(); err != nil {
			return err
		}
		s.openMessage()
		_, err = s.message.addAnswer(set.Owner, set.Type, set.TTL, data) // in an empty message, a record that does not fit is an error
	}
	if err != nil {
		return err
	}
	s.stats.records++
	return nil
}

// flushMessage signs and writes the current message. Each signature covers the MAC of the message before (RFC 8945
// §5.3.1).
func (s *stream) flushMessage() error {
	if s.stats.messages == 0 && s.request.hasOPT {
		s.addOPT(rcodeSuccess)
	}
	b := s.finishMessage()
	if s.key != nil {
		b, s.priorMAC = s.key.Sign(b, s.priorMAC, tsig.StampAt(s.now()), s.stats.messages > 0)
	}
	if len(b) > maxMessage {
		return fmt.Errorf("message of %d octets: %w", len(b), errTooLarge)
	}
	s.buf = s.buf[:lengthOctets+len(b)] // Sign appends in place, because buf has room for the largest message
	binary.BigEndian.PutUint16(s.buf, uint16(len(b)))
	if err := s.write(s.buf); err != nil {
		return err
	}
	s.stats.messages++
	s.stats.octets += int64(len(b))
	return nil
}

// mostChangesOverUDP is the maximum number of records in a UDP message. Each takes at least 12 octets.
const mostChangesOverUDP = udpLimit / 12

// isShort reports whether an IXFR may fit a datagram, from the number of changes alone. The result is false if the
// journal is too short.
func (s *classes) isShort(zone *zoneview.Snapshot, since serial.Serial) bool {
	steps, err := s.zonesOf(zone).Changes(zone.Zone().UID, since, zone.Serial())
	changes := 0

	for _, step := range steps {
		if changes += len(step.Added) + len(step.Removed) + len(step.TTLs); changes > mostChangesOverUDP {
			return false
		}
		// example.org. with 100 addresses: one changed TTL is 200 records.
		for _, ttl := range step.TTLs { // a new TTL removes and adds each value
			set, _ := zone.RRset(ttl.Owner, ttl.Type)
			changes += len(set.Data)
		}
	}
	return err == nil && changes <= mostChangesOverUDP
}

// readDifference sets the records of an incremental transfer, or makes the transfer a whole one if the journal is too
// short or the difference too long.
func (s *classes) readDifference(t *transfer) {
	zones, since := s.zonesOf(t.zone), serial.Serial(t.request.serial)

	if t.incremental {
		steps, err := zones.Changes(t.zone.Zone().UID, since, t.zone.Serial())
		// A serial is raised alone to make a server with other data transfer the whole zone (S6.11).
		t.incremental = err == nil && !slices.ContainsFunc(steps, content.Step.Raises)
	}

	if !t.incremental {
		return
	}
	difference, err := zones.Difference(t.zone, since)
	if err != nil { // the journal is too short
		t.incremental = false
		return
	}
	t.records, t.incremental = packDifference(t.zone, difference)
}

// packDifference returns the records of an IXFR (RFC 1995 §4): the new SOA, then the deletions behind the old SOA, the
// additions behind the new SOA, and the new SOA again. ok is false if the zone itself is not longer, or a record cannot
// be packed.
func packDifference(zone *zoneview.Snapshot, d zoneview.Difference) (records []content.Packed, ok bool) {
	if len(d.Removed)+len(d.Added)+2 >= zone.EntryCount() {
		return nil, false
	}
	records = make([]content.Packed, 0, len(d.Removed)+len(d.Added)+4)
	for _, part := range [][]dns.Entry{{d.NewSOA}, {d.OldSOA}, d.Removed, {d.NewSOA}, d.Added, {d.NewSOA}} {
		for _, entry := range part {
			record, err := packEntry(zone.FQDN(), entry)
			if err != nil {
				return nil, false // sending the whole zone reports the error
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
