// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// repairInterval is the least time between repairs, so that a lying secondary does not use up the serials.
const repairInterval = 24 * time.Hour

// Ahead is a secondary that transfers a zone no longer, because its serial is later, or its data differs at the same
// serial. Two signed answers have shown this. Repair then raises the zone's serial.
type Ahead struct {
	// Serial is the serial of the secondary or, if the data differs, the next serial of the zone. It is never 0.
	Serial  serial.Serial
	Differs bool
	// AcceptedSerial is from the annotation kubi.zone/accept-serial, or 0. This serial is allowed at any distance.
	AcceptedSerial serial.Serial
}

// Repair returns a new serial for a zone with the current serial, so that a secondary ahead of the zone transfers
// again. The result is false if the report is outdated, the secondary is too far ahead, or lastRepair (in Unix seconds,
// 0 for none) was within repairInterval.
func Repair(current serial.Serial, ahead Ahead, lastRepair int64, now time.Time) (serial.Serial, bool) {
	next, isOutdated := ahead.Serial.Next(), !ahead.Serial.Ahead(current)
	// With other data at 7, the secondary transfers the zone at 8. If the zone has gone on to 8, the transfer is due.
	if ahead.Differs {
		next, isOutdated = ahead.Serial, ahead.Serial != current.Next()
	}
	if isOutdated || !next.Ahead(current) {
		return 0, false
	}

	isTooFar := uint32(ahead.Serial-current) > serial.MaxRepair && ahead.AcceptedSerial != ahead.Serial
	// The difference is absolute, because a time far ahead comes from a wrong clock.
	isTooEarly := now.Sub(time.Unix(lastRepair, 0)).Abs() < repairInterval
	if isTooFar || isTooEarly {
		return 0, false
	}
	return next, true
}

func (d *zoneDecision) repairSerial(change *law.ZoneChange, z *law.Zone, next serial.Serial) {
	after, held := *z, *change.Holding
	after.Serial, after.N, after.Changed, held.Repaired = next, z.N+1, z.NextTime(d.ask.Now), d.ask.Now.Unix()
	change.Zone, change.Holding = &after, &held
	change.Step = &content.Step{N: after.N, From: z.Serial, Serial: next, State: z.State, By: d.ask.By, Time: after.Changed}
}

// LastSerialOf returns a zone's last serial, kept for the SOA expire but at most serial.KeptSeconds.
func LastSerialOf(z *law.Zone) *law.LastSerial {
	return &law.LastSerial{Serial: z.Serial, Left: min(int64(z.Header.Expire), serial.KeptSeconds), By: z.Namespace}
}

// findLastSerial returns the serial from which a new zone starts, or 0. Secondaries may still have a former zone of the
// name, and ignore lower serials. The removal of the former zone has stored last; without a removal, last is nil. A
// store restored from a backup also has a floor, a least serial for names without last, because the backup may lack
// zones.
func (d *zoneDecision) findLastSerial(view string, fqdn name.Name, minimum *uint32) (last *law.LastSerial, start serial.Serial) {
	keys := []law.Key{law.LastSerialKey(view, fqdn), law.FloorKey}
	d.RequireAll(keys)
	last, floor := law.Get[law.LastSerial](d.Reading, keys[0]), law.Get[law.LastSerial](d.Reading, keys[1])
	switch {
	case last != nil:
		return last, last.Serial
	case floor == nil:
		return nil, 0
	}

	start = floor.Serial
	if minimum != nil { // a lost zone may have begun at this minimum: begin at least Jump beyond
		least := serial.Serial(*minimum)
		jumped := least + serial.Serial(floor.Jump)
		if jumped += (start - jumped) % serial.RestoreStep; least.Ahead(start) || jumped.Ahead(start) {
			start = jumped
		}
	}
	return nil, max(start, 1)
}
