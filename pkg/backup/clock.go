// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
)

// Clock says at which serials and revisions a restored store begins. By how much they go ahead of the backup's depends
// on time alone: by one for each millisecond since the backup was taken, and then to the next number that equals the
// present millisecond modulo a step. Both move with the clock, so that the store is ahead of all that earlier restores
// of the same backup, or of a later one, handed out, as long as no number grew by more than one a millisecond on
// average.
//
// An earlier restore of an older backup can be ahead, unless Since tells of it. But it began elsewhere, since it began
// at another millisecond: a secondary does not find the serial that it has there in this store, with another content.
type Clock struct {
	// Now is when the restore began.
	Now time.Time
	// Since is when the backup was taken. Where an older one was restored after that, it is when that one was taken.
	Since time.Time
}

const (
	// mostAhead is half of what RFC 1982 sees as ahead; 12 days of milliseconds.
	mostAhead = 1 << 30
	// catalogSerials is how many serials a catalog has, which are revisions modulo this
	// (pkg/controller/transferclass). revisionStep divides it, and is three days of milliseconds, as
	// serial.RestoreStep is.
	catalogSerials = 1<<32 - 1
	revisionStep   = catalogSerials / 15
	// lastRevision leaves room for writes: a resourceVersion is 128 times a revision, and has 63 bits.
	lastRevision = 1<<56 - 1<<48
)

// levelsBegin is when the level of revisions is 0. It passes lastRevision in 2060.
var levelsBegin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// check says whether a store can be restored at this time.
func (c Clock) check() error {
	const form = "2006-01-02 15:04:05 MST"
	if c.Now.Before(c.Since) {
		return fmt.Errorf("the backup was taken %s, and the clock says %s: what is restored goes ahead by the time since; "+
			"set the clock and restore it then", c.Since.Format(form), c.Now.UTC().Format(form))
	}
	if c.level() > lastRevision {
		return fmt.Errorf("the clock says %s, and revisions that are ahead of earlier ones end in 2060: set the clock and restore it then",
			c.Now.UTC().Format(form))
	}
	return nil
}

// age are the milliseconds since, at most so many.
func (c Clock) age(most uint64) uint64 { return min(uint64(c.Now.Sub(c.Since).Milliseconds()), most) }

// advance moves a number ahead by the age, and to the next one that leaves the rest of the present millisecond.
func (c Clock) advance(from, most, step uint64) uint64 {
	to := from + c.age(most)
	return to + (uint64(c.Now.UnixMilli())%step+step-to%step)%step
}

// serial is the one with which a zone begins whose last one this is; 0: it has none. limited says that it goes ahead by
// less than the time since, for it goes by half at most of what is left until the last serial, or today's, is ahead
// again: the next change of the zone would go there.
func (c Clock) serial(last serial.Serial) (begins serial.Serial, limited bool) {
	today, _ := law.NextSerial(0, c.Now, nil, nil)
	next, _ := law.NextSerial(last, c.Now, nil, nil)
	if last == 0 {
		last = next
	}
	away := max(uint32(next-today), uint32(next-last))
	most := uint64(mostAhead - min(away/2, mostAhead))
	begins = max(serial.Serial(c.advance(uint64(next), most, serial.RestoreStep)), 1) // 0 is no serial
	return begins, c.age(most) < c.age(1<<62)
}

// Revision is the one with which a store begins whose last one this is. The serials of catalogs go ahead by it.
// Revisions do not wrap as those do, so whole laps of them bring it above a level, which grows by more than a lap in
// each span of 65 s: it is above what restores of any backup gave that began in an earlier span.
func (c Clock) Revision(last int64) int64 {
	to := c.advance(uint64(last), mostAhead, revisionStep)
	if level := c.level(); to < level {
		to += (level - to + catalogSerials - 1) / catalogSerials * catalogSerials
	}
	return int64(to)
}

// level grows by one a millisecond within a span, as advance does: else the later of two restores of one backup there
// could begin a lap before the other.
func (c Clock) level() uint64 {
	const bits = 16 // of the milliseconds of a span
	at := uint64(max(0, c.Now.Sub(levelsBegin).Milliseconds()))
	return at>>bits*(catalogSerials+1<<20) + at&(1<<bits-1)
}
