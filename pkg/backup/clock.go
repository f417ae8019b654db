// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
)

// Clock computes the first serials and revisions of a restored store: the backup's number plus the milliseconds since
// the backup, raised to the next number equal to the present millisecond modulo a step. Both parts grow with the clock,
// so the store is ahead of all earlier restores of the same or a later backup, if no number grew by more than one per
// millisecond on average.
//
// An earlier restore of an older backup can be ahead, unless Since accounts for that. But its numbers began at another
// millisecond: no serial there is used here with other content.
type Clock struct {
	// Now is the start of the restore.
	Now time.Time
	// Since is the time of the backup, or of an older backup restored later.
	Since time.Time
}

const (
	// mostAhead is half of the range ahead in RFC 1982; 12 days of milliseconds.
	mostAhead = 1 << 30
	// catalogSerials is the number of serials of a catalog: revisions modulo catalogSerials
	// (pkg/controller/transferclass). revisionStep divides that: three days of milliseconds, like
	// serial.RestoreStep.
	catalogSerials = 1<<32 - 1
	revisionStep   = catalogSerials / 15
	// lastRevision leaves space for writes: a resourceVersion is 128 times a revision, in 63 bits.
	lastRevision = 1<<56 - 1<<48
)

// levelsBegin is the time of level 0. Levels exceed lastRevision in 2060.
var levelsBegin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

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

// age returns the milliseconds since Since, up to a maximum.
func (c Clock) age(most uint64) uint64 { return min(uint64(c.Now.Sub(c.Since).Milliseconds()), most) }

// advance adds the age, and goes on to the next number equal to the present millisecond modulo the step.
func (c Clock) advance(from, most, step uint64) uint64 {
	to := from + c.age(most)
	return to + (uint64(c.Now.UnixMilli())%step+step-to%step)%step
}

// serial returns the first serial of a zone, given its last, 0 for none. limited reports an advance shorter than the
// age. It is at most half of the serials until the last serial, or today's, is ahead again: the next change of the zone
// would go there.
func (c Clock) serial(last serial.Serial) (begins serial.Serial, limited bool) {
	today, _ := law.NextSerial(0, c.Now, nil, nil)
	next, _ := law.NextSerial(last, c.Now, nil, nil)
	if last == 0 {
		last = next
	}
	away := max(uint32(next-today), uint32(next-last))
	most := uint64(mostAhead - min(away/2, mostAhead))
	begins = max(serial.Serial(c.advance(uint64(next), most, serial.RestoreStep)), 1) // 0 is not a serial
	return begins, c.age(most) < c.age(1<<62)
}

// Revision returns the first revision of the restored store, given its last. Serials of catalogs follow revisions,
// but wrap: whole laps raise the revision above a level, which grows by more than a lap in each span of 65 s. The
// result exceeds the revisions of all restores, of any backup, in earlier spans.
func (c Clock) Revision(last int64) int64 {
	to := c.advance(uint64(last), mostAhead, revisionStep)
	if level := c.level(); to < level {
		to += (level - to + catalogSerials - 1) / catalogSerials * catalogSerials
	}
	return int64(to)
}

// level grows by one per millisecond within a span, as advance does: otherwise the later of two restores of a backup
// could begin a lap before the other.
func (c Clock) level() uint64 {
	const bits = 16 // of the milliseconds of a span
	at := uint64(max(0, c.Now.Sub(levelsBegin).Milliseconds()))
	return at>>bits*(catalogSerials+1<<20) + at&(1<<bits-1)
}
