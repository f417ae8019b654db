// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"maps"
	"sync"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/update"
)

// Kinds of transfers: the whole zone as it was asked for, a difference, and the whole zone in the place of a difference
// that the journal does not reach back to (RFC 1995 §4).
const (
	KindAXFR      = "axfr"
	KindIXFR      = "ixfr"
	KindWholeIXFR = "ixfr_whole"
)

// Results of transfers: all of it left; the peer went or was too slow; something could not be sent; there was no turn.
const (
	ResultSent    = "sent"
	ResultCut     = "cut"
	ResultFailed  = "failed"
	ResultNoPlace = "no_place"
)

// Stats is what a primary did since it was made. All numbers but Zones only grow.
type Stats struct {
	// Questions are messages answered, by the mnemonic of their rcode, and those that deserved none by "dropped".
	Questions map[string]int64
	// Updates are those of Questions that an update key signed, and that were carried out or refused by what it may.
	Updates map[string]int64
	// Transfers are those that ended; the octets of a difference in one UDP answer are in TransferOctets too.
	Transfers      map[TransferKind]int64
	TransferOctets map[string]int64 // by kind
	// NotifiesSent are messages; each is confirmed or failed in the end, and a failed one may be repeated.
	NotifiesSent, NotifiesConfirmed, NotifiesFailed int64
	// ConnectionsRefused were over a limit.
	ConnectionsRefused int64
	// Zones is how many some peer may ask for at this moment, without the catalogs.
	Zones int
}

// TransferKind is one of the Kinds and one of the Results.
type TransferKind struct{ Kind, Result string }

// counters are Stats as they grow. Every series is there from the beginning.
type counters struct {
	mu    sync.Mutex
	stats Stats
}

func newCounters() *counters {
	s := Stats{Questions: map[string]int64{"dropped": 0}, Updates: map[string]int64{}, Transfers: map[TransferKind]int64{},
		TransferOctets: map[string]int64{}}
	for _, rcode := range []uint16{rcodeSuccess, rcodeFormErr, rcodeServFail, rcodeNXDomain, rcodeNotImp, rcodeRefused, rcodeYXDomain,
		uint16(update.YXRRset), uint16(update.NXRRset), rcodeNotAuth, uint16(update.NotZone), rcodeBadVers} {
		s.Questions[rcodeText(rcode)] = 0
	}
	for rcode := range update.RCodes() {
		s.Updates[rcode.String()] = 0
	}
	for _, kind := range []string{KindAXFR, KindIXFR, KindWholeIXFR} {
		s.TransferOctets[kind] = 0
		for _, result := range []string{ResultSent, ResultCut, ResultFailed, ResultNoPlace} {
			s.Transfers[TransferKind{kind, result}] = 0
		}
	}
	return &counters{stats: s}
}

// count changes the stats.
func (c *counters) count(change func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// countAnswer counts what became of a message.
func (c *counters) countAnswer(a answer) {
	switch {
	case a.transfer != nil: // counted when it ends
	case a.msg == nil:
		c.count(func(s *Stats) { s.Questions["dropped"]++ })
	default:
		c.count(func(s *Stats) { s.Questions[rcodeText(uint16(a.msg[3]&0xF)|a.extended<<4)]++ })
		if a.difference {
			c.countTransfer(KindIXFR, ResultSent, int64(len(a.msg)))
		}
	}
}

func (c *counters) countTransfer(kind, result string, octets int64) {
	c.count(func(s *Stats) {
		s.Transfers[TransferKind{kind, result}]++
		s.TransferOctets[kind] += octets
	})
}

func (c *counters) readStats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Questions, s.Updates = maps.Clone(s.Questions), maps.Clone(s.Updates)
	s.Transfers, s.TransferOctets = maps.Clone(s.Transfers), maps.Clone(s.TransferOctets)
	return s
}

// rcodeText is the mnemonic of an rcode.
func rcodeText(rcode uint16) string {
	if rcode == rcodeBadVers {
		return "BADVERS" // and BADSIG in a TSIG
	}
	return mdns.RcodeToString[int(rcode)]
}

// kind of a transfer.
func (t *transfer) kind() string {
	switch {
	case t.request.qtype == typeAXFR:
		return KindAXFR
	case t.incremental:
		return KindIXFR
	}
	return KindWholeIXFR
}
