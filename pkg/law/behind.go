// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

const (
	// maxRepairJump is how far a repair goes by itself (S6.11): a wrong one costs the zone no more than a year of its
	// serials.
	maxRepairJump = 1 << 24
	// repairInterval is the least time between two repairs of a zone (S6.11): a secondary that lies again and again
	// does not use up its serials.
	repairInterval = 24 * time.Hour
)

// Behind says that a secondary of a zone is ahead of it (S6.11). A controller with the right to write the status of
// zones says so, after two signed answers of a listed secondary.
type Behind struct {
	// Serial is the serial of the secondary.
	Serial serial.Serial
	// Accepted is the serial that an annotation of the zone accepts, however far ahead it is; 0: none.
	Accepted serial.Serial
}

// Repair returns the serial with which a zone passes a secondary (S6.11). It returns false where the serial stays: the
// secondary is not ahead; the serial after it would not be ahead of last; it is further ahead than a repair goes
// without the annotation; or the zone was repaired less than a day ago. repaired is the time of that (unix seconds),
// 0 for never.
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
