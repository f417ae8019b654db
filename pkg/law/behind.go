// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

const (
	// maxRepairJump is how far a repair goes by itself (S6.6): a wrong one costs the zone no more than a year of its
	// serials.
	maxRepairJump = 1 << 24
	// repairInterval is the least time between two repairs of a zone (S6.6): a secondary that lies again and again does
	// not use up its serials.
	repairInterval = 24 * time.Hour
)

// Behind says that a secondary of a zone is ahead of it. Whoever may write the status of zones says so, of a signed
// answer of a listed secondary, seen twice; the law sees to the rest of S6.6.
type Behind struct {
	// Serial is the secondary's.
	Serial serial.Serial
	// Accepted is the serial that somebody accepts in an annotation of the zone, however far it is; 0 for none.
	Accepted serial.Serial
}

// Repair is the serial with which a zone at last passes a secondary (S6.6), false where it stays as it is: the
// secondary is not ahead, or is so far ahead that what follows it would not be ahead of last, or that nobody has
// accepted; or the zone was repaired less than a day ago. repaired is when that was (unix seconds), 0 for never.
func Repair(last serial.Serial, behind Behind, repaired int64, now time.Time) (serial.Serial, bool) {
	next := behind.Serial.Next()
	switch {
	case last == 0 || behind.Serial == 0 || !behind.Serial.Ahead(last) || !next.Ahead(last):
		return 0, false
	case uint32(behind.Serial-last) > maxRepairJump && behind.Accepted != behind.Serial:
		return 0, false
	case repaired != 0 && now.Sub(time.Unix(repaired, 0)).Abs() < repairInterval: // further ahead it is of a clock that was
		return 0, false
	}
	return next, true
}

// repairSerial makes the step of a repair: another serial of the same content.
func (d *zoneDecision) repairSerial(change *ZoneChange, z *Zone, next serial.Serial) {
	after, held := *z, *change.Holding
	after.Serial, after.N, held.Repaired = next, z.N+1, d.ask.Now.Unix()
	change.Zone, change.Holding = &after, &held
	change.Step = &content.Step{N: after.N, From: z.Serial, Serial: next, State: z.State, By: d.ask.By, Time: d.ask.Now.Unix()}
}
