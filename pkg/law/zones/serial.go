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

// repairInterval is the least time between repairs of a zone (S6.11), so that a lying secondary does not use up the
// serials.
const repairInterval = 24 * time.Hour

// Ahead is a secondary that is ahead of a zone, or has other data at the zone's serial, so that it would not transfer
// the zone. Two signed answers have shown this. Repair then raises the zone's serial (S6.11).
type Ahead struct {
	// Serial is the secondary's or, if the data differs, the zone's next.
	Serial  serial.Serial
	Differs bool
	// AcceptedSerial is from the annotation kubi.zone/accept-serial. It allows that serial at any distance; 0 for none.
	AcceptedSerial serial.Serial
}

// Repair returns a serial beyond a secondary that is ahead of a zone, at serial last, or has other data, since such a
// secondary transfers no more. The result is false for an outdated report, within repairInterval of the last repair
// (Unix seconds), and at a distance above serial.MaxRepair without annotation.
func Repair(last serial.Serial, behind Ahead, repaired int64, now time.Time) (serial.Serial, bool) {
	next := behind.Serial.Next()
	if behind.Differs {
		next = behind.Serial
	}
	switch {
	case behind.Differs && next != last.Next():
		return 0, false
	case last == 0 || behind.Serial == 0 || !behind.Serial.Ahead(last) || !next.Ahead(last):
		return 0, false
	case uint32(behind.Serial-last) > serial.MaxRepair && behind.AcceptedSerial != behind.Serial:
		return 0, false
	// Absolute: a time far ahead is of a wrong clock.
	case repaired != 0 && now.Sub(time.Unix(repaired, 0)).Abs() < repairInterval:
		return 0, false
	}
	return next, true
}

func (d *zoneDecision) repairSerial(change *law.ZoneChange, z *law.Zone, next serial.Serial) {
	after, held := *z, *change.Holding
	after.Serial, after.N, held.Repaired = next, z.N+1, d.ask.Now.Unix()
	change.Zone, change.Holding = &after, &held
	change.Step = &content.Step{N: after.N, From: z.Serial, Serial: next, State: z.State, By: d.ask.By, Time: d.ask.Now.Unix()}
}

// LastSerialOf returns a zone's last serial (S6.10), kept for the SOA expire, at most serial.KeptSeconds.
func LastSerialOf(z *law.Zone) *law.LastSerial {
	return &law.LastSerial{Serial: z.Serial, Left: min(int64(z.Header.Expire), serial.KeptSeconds), By: z.Namespace}
}

// findLastSerial returns the last serial of a zone's name, and the serial that a new zone continues from (0 for none),
// because secondaries may still have the former zone. Without a last serial, the floor of a restored store counts, at
// least Jump beyond the minimum: the backup may lack zones that began at a minimum.
func (d *zoneDecision) findLastSerial(view string, fqdn name.Name, minimum *uint32) (last *law.LastSerial, from serial.Serial) {
	keys := []law.Key{law.LastSerialKey(view, fqdn), law.FloorKey}
	d.RequireAll(keys)
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
