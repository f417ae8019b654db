// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"maps"
	"sync"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/update"
)

// Kinds of transfers. KindWholeIXFR is an IXFR that sends the whole zone (RFC 1995 §4).
const (
	KindAXFR      = "axfr"
	KindIXFR      = "ixfr"
	KindWholeIXFR = "ixfr_whole"
)

// Results of transfers: complete; cut, because the peer left or is too slow; failed, because a record cannot be sent;
// not begun, because no slot became free in time; refused, as by key, address or a zone that is not served.
const (
	ResultSent    = "sent"
	ResultCut     = "cut"
	ResultFailed  = "failed"
	ResultNoPlace = "no_place"
	ResultRefused = "refused"
)

// Stats counts the work of a Primary since startup, for metrics. Only Zones and NotifyFaults are current numbers.
type Stats struct {
	// Questions counts answers by RCODE, such as "NOERROR". Unanswered questions count as "dropped".
	Questions map[string]int64
	// Updates counts DNS UPDATE messages by RCODE.
	Updates map[string]int64
	// Transfers counts transfers by kind and result, and TransferOctets their octets by kind. IXFR over UDP counts too.
	Transfers      map[TransferKind]int64
	TransferOctets map[string]int64
	// NotifiesSent includes retries.
	NotifiesSent, NotifiesConfirmed, NotifiesFailed int64
	// NotifyFaults counts the zones whose NOTIFYs a server did not confirm, now or in the last minutes.
	NotifyFaults       map[NotifyAnswer]int
	ConnectionsRefused int64
	// TLSHandshakes counts handshakes by "ok" or the cause of their failure.
	TLSHandshakes map[string]int64
	Zones         int
}

type TransferKind struct{ Kind, Result string }

// NotifyAnswer is a server, as ADDRESS:PORT, and its answer to NOTIFY (NotifyFault.Answer).
type NotifyAnswer struct{ Server, Answer string }

type counters struct {
	mu    sync.Mutex
	stats Stats
}

// newCounters returns counters with a zero for each known label, so that a rate of a metric has a start.
func newCounters() *counters {
	s := Stats{Questions: map[string]int64{"dropped": 0}, Updates: map[string]int64{}, Transfers: map[TransferKind]int64{},
		TransferOctets: map[string]int64{}, TLSHandshakes: map[string]int64{"ok": 0}}
	for _, cause := range handshakeCauses {
		s.TLSHandshakes[cause] = 0
	}
	for _, rcode := range []uint16{rcodeSuccess, rcodeFormErr, rcodeServFail, rcodeNXDomain, rcodeNotImp, rcodeRefused, rcodeYXDomain,
		uint16(update.YXRRset), uint16(update.NXRRset), rcodeNotAuth, uint16(update.NotZone), rcodeBadVers} {
		s.Questions[rcodeText(rcode)] = 0
	}
	for rcode := range update.RCodes() {
		s.Updates[rcode.String()] = 0
	}
	for _, kind := range []string{KindAXFR, KindIXFR, KindWholeIXFR} {
		s.TransferOctets[kind] = 0
		for _, result := range []string{ResultSent, ResultCut, ResultFailed, ResultNoPlace, ResultRefused} {
			s.Transfers[TransferKind{kind, result}] = 0
		}
	}
	return &counters{stats: s}
}

func (c *counters) count(change func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// countAnswer counts an answer by RCODE, and a transfer over UDP or a refused transfer by kind.
func (c *counters) countAnswer(a answer) {
	switch {
	case a.transfer != nil: // counted when it ends
	case a.msg == nil:
		c.count(func(s *Stats) { s.Questions["dropped"]++ })
	default:
		c.count(func(s *Stats) { s.Questions[rcodeText(uint16(a.msg[3]&0xF)|a.extended<<4)]++ })
		switch {
		case a.difference:
			c.countTransfer(KindIXFR, ResultSent, int64(len(a.msg)))
		case a.asked != "" && a.refusal != "":
			c.countTransfer(a.asked, ResultRefused, 0)
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
	s.TLSHandshakes = maps.Clone(s.TLSHandshakes)
	s.Transfers, s.TransferOctets = maps.Clone(s.Transfers), maps.Clone(s.TransferOctets)
	return s
}

func rcodeText(rcode uint16) string {
	if rcode == rcodeBadVers {
		return "BADVERS" // BADSIG in a TSIG
	}
	return mdns.RcodeToString[int(rcode)]
}

func (t *transfer) kind() string {
	switch {
	case t.request.qtype == typeAXFR:
		return KindAXFR
	case t.incremental:
		return KindIXFR
	}
	return KindWholeIXFR
}
