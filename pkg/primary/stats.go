// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"sync/atomic"

	mdns "github.com/miekg/dns"
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

var (
	kinds   = [...]string{KindAXFR, KindIXFR, KindWholeIXFR}
	results = [...]string{ResultSent, ResultCut, ResultFailed, ResultNoPlace}
)

const (
	kindAXFR = iota
	kindIXFR
	kindWholeIXFR
)

const (
	resultSent = iota
	resultCut
	resultFailed
	resultNoPlace
)

// Stats is what a primary did since it was made. All numbers but Zones only grow.
type Stats struct {
	// Questions are messages answered, by the mnemonic of their rcode, and those that deserved none by "dropped".
	Questions map[string]int64
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

const rcodes = rcodeBadVers + 1

// counters are Stats as they grow.
type counters struct {
	questions [rcodes]atomic.Int64
	dropped   atomic.Int64
	transfers [len(kinds)][len(results)]atomic.Int64
	octets    [len(kinds)]atomic.Int64

	notifiesSent, notifiesConfirmed, notifiesFailed, connectionsRefused atomic.Int64
}

// countAnswer counts what became of a message.
func (c *counters) countAnswer(a answer) {
	switch {
	case a.transfer != nil: // counted when it ends
	case a.msg == nil:
		c.dropped.Add(1)
	default:
		rcode := int(a.msg[3]&0xF) | int(a.extended)<<4
		if rcode < rcodes {
			c.questions[rcode].Add(1)
		}
		if a.difference {
			c.countTransfer(kindIXFR, resultSent, int64(len(a.msg)))
		}
	}
}

func (c *counters) countTransfer(kind, result int, octets int64) {
	c.transfers[kind][result].Add(1)
	c.octets[kind].Add(octets)
}

// kind of a transfer.
func (t *transfer) kind() int {
	switch {
	case t.request.qtype == typeAXFR:
		return kindAXFR
	case t.records != nil:
		return kindIXFR
	}
	return kindWholeIXFR
}

// readStats is what was counted.
func (c *counters) readStats() Stats {
	s := Stats{
		Questions: map[string]int64{"dropped": c.dropped.Load()}, Transfers: map[TransferKind]int64{}, TransferOctets: map[string]int64{},
		NotifiesSent: c.notifiesSent.Load(), NotifiesConfirmed: c.notifiesConfirmed.Load(), NotifiesFailed: c.notifiesFailed.Load(),
		ConnectionsRefused: c.connectionsRefused.Load(),
	}
	for _, rcode := range []int{rcodeSuccess, rcodeFormErr, rcodeServFail, rcodeNXDomain, rcodeNotImp, rcodeRefused, rcodeYXDomain, rcodeNotAuth} {
		s.Questions[mdns.RcodeToString[rcode]] = c.questions[rcode].Load()
	}
	s.Questions["BADVERS"] = c.questions[rcodeBadVers].Load()
	for k, kind := range kinds {
		s.TransferOctets[kind] = c.octets[k].Load()
		for r, result := range results {
			s.Transfers[TransferKind{kind, result}] = c.transfers[k][r].Load()
		}
	}
	return s
}
