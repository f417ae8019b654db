// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
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
func (d *zoneDecision) repairSerial(change *law.ZoneChange, z *law.Zone, next serial.Serial) {
	after, held := *z, *change.Holding
	after.Serial, after.N, held.Repaired = next, z.N+1, d.ask.Now.Unix()
	change.Zone, change.Holding = &after, &held
	change.Step = &content.Step{N: after.N, From: z.Serial, Serial: next, State: z.State, By: d.ask.By, Time: d.ask.Now.Unix()}
}

// Remember is what a zone leaves behind under its name (S6.8).
func Remember(z *law.Zone) *law.LastSerial {
	return &law.LastSerial{Serial: z.Serial, Left: min(int64(z.Header.Expire), serial.KeptSeconds), By: z.Namespace}
}

// findLastSerial returns the last serial of a name, under any zone, as it is remembered. Else it returns the floor of
// a restored store, which lacks zones that are not in its backup: a zone there that begins at its minimumSerial may
// have begun there before. 0: there is none.
func (d *zoneDecision) findLastSerial(view string, fqdn name.Name, minimum *uint32) (last *law.LastSerial, from serial.Serial) {
	keys := []law.Key{law.LastSerialKey(view, fqdn), law.FloorKey}
	d.AskAll(keys)
	last, floor := law.Get[law.LastSerial](d.Reading, keys[0]), law.Get[law.LastSerial](d.Reading, keys[1])
	switch {
	case last != nil:
		return last, last.Serial
	case floor == nil:
		return nil, 0
	}
	from = floor.Serial
	if minimum != nil {
		least := serial.Serial(*minimum)
		jumped := least + serial.Serial(floor.Jump)
		if jumped += (from - jumped) % serial.RestoreStep; least.Ahead(from) || jumped.Ahead(from) {
			from = jumped
		}
	}
	return nil, max(from, 1)
}
