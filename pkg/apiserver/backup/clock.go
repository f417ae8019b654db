// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
)

// Clock computes how far a restore raises the serials of zones and the revision of etcd. Both must exceed all numbers
// of the old store. Otherwise secondaries would keep the old zones, and watches would miss changes.
//
// The first new number is the backup's number plus the milliseconds since the backup. This suffices if the old store
// made at most one number per millisecond on average. The sum is then raised to the next number equal to the present
// millisecond modulo a step (serial.RestoreStep, revisionStep). So two restores begin at different numbers, and no
// number is used twice with different content.
//
// A store restored earlier from an older backup can still be ahead. Then Since is the time of that backup.
type Clock struct {
	Now time.Time
	// Since is the time of the backup, or of an older backup.
	Since time.Time
}

const (
	// mostAhead is half of the range that RFC 1982 counts as ahead, or 12 days of milliseconds.
	mostAhead = 1 << 30
	// A catalog's serial is the revision modulo catalogSerials (pkg/delivery/controller/transferclass). revisionStep is
	// a divisor, of three days of milliseconds, like serial.RestoreStep.
	catalogSerials = 1<<32 - 1
	revisionStep   = catalogSerials / 15
	// lastRevision leaves room for writes. A resourceVersion is 128 times a revision, in 63 bits.
	lastRevision = 1<<56 - 1<<48
)

// levelsBegin is the time of level 0. Levels exceed lastRevision in 2060.
var levelsBegin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// check returns an error if the clock is too late for a revision, or before the backup. The age would be negative then,
// and raise nothing.
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

func (c Clock) age(most uint64) uint64 { return min(uint64(c.Now.Sub(c.Since).Milliseconds()), most) }

func (c Clock) advance(from, most, step uint64) uint64 {
	to := from + c.age(most)
	return to + (uint64(c.Now.UnixMilli())%step+step-to%step)%step
}

// serial returns the first serial of a restored zone, given the last serial in the backup, or 0 for none. The serial
// advances by the backup's age in milliseconds. A long advance could count as a step back (RFC 1982), so it is bounded.
// If the bound applies, serial also returns true.
func (c Clock) serial(last serial.Serial) (begins serial.Serial, limited bool) {
	today, _ := law.NextSerial(0, c.Now, nil, nil) // nil: no minimum serial
	next, _ := law.NextSerial(last, c.Now, nil, nil)
	if last == 0 {
		last = next
	}
	// The farther next is ahead already, the less may be added.
	away := max(uint32(next-today), uint32(next-last))
	most := uint64(mostAhead - min(away/2, mostAhead))
	begins = max(serial.Serial(c.advance(uint64(next), most, serial.RestoreStep)), 1)
	return begins, c.age(most) < c.age(1<<62)
}

// Revision returns the first revision of the restored store, given the backup's last. The result exceeds the revisions
// of all restores, of any backup, in earlier spans of 65 s. To exceed the level, Revision adds only multiples of
// catalogSerials, because catalog serials wrap with revisions.
func (c Clock) Revision(last int64) int64 {
	to := c.advance(uint64(last), mostAhead, revisionStep)
	if level := c.level(); to < level {
		to += (level - to + catalogSerials - 1) / catalogSerials * catalogSerials
	}
	return int64(to)
}

// level is the least revision at a time. It grows by more than catalogSerials from span to span, and by one per
// millisecond within a span, as advance does. So the later of two restores of a backup never gets the lower revision.
func (c Clock) level() uint64 {
	const bits = 16 // of the milliseconds of a span
	at := uint64(max(0, c.Now.Sub(levelsBegin).Milliseconds()))
	return at>>bits*(catalogSerials+1<<20) + at&(1<<bits-1)
}
