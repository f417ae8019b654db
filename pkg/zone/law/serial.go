// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// NextSerial returns the SOA serial after last (0 for none), the furthest ahead of:
//
//   - last+1
//   - the first serial of the day, YYYYMMDD00, in UTC
//   - minimum, unless it equals lastMinimum, the minimum used last
//
// Serials wrap around, so a minimum too far away is not ahead of last, and has no effect yet. The result usedMinimum is
// true if next is the minimum.
func NextSerial(last serial.Serial, now time.Time, minimum, lastMinimum *uint32) (next serial.Serial, usedMinimum bool) {
	next = last.Next()
	unused := UnusedMinimum(minimum, lastMinimum)
	for _, s := range []serial.Serial{firstOfDay(now), unused} {
		isAfterLast := last == 0 || s.Ahead(last)
		if s != 0 && s.Ahead(next) && isAfterLast {
			next = s
		}
	}
	return next, next == unused
}

// firstOfDay returns the first serial of the day, or 0 in years that come from a wrong clock.
func firstOfDay(now time.Time) serial.Serial {
	year, month, day := now.UTC().Date()
	if year < 2000 || year > 2099 {
		return 0
	}
	return serial.Serial(((year*100+int(month))*100 + day) * 100)
}

// UnusedMinimum returns the minimum, or 0 if absent or equal to lastMinimum, the minimum used last.
func UnusedMinimum(minimum, lastMinimum *uint32) serial.Serial {
	if minimum == nil || lastMinimum != nil && *minimum == *lastMinimum {
		return 0
	}
	return serial.Serial(*minimum)
}

// LastSerial is the last serial of a removed zone. A new zone with the same name continues from it, because secondaries
// would ignore a lower serial. It is kept while secondaries may serve the old zone: for the SOA expire time, but at
// most 60 days.
type LastSerial struct {
	// Serial is the serial to continue from. At FloorKey, after a restore, it is for all names without a LastSerial.
	Serial serial.Serial `json:"serial"`
	// Left is the remaining time in seconds. Time passes only while a server runs.
	Left int64 `json:"left,omitempty"`
	// Jump, only at FloorKey, is the least distance at which a new zone begins beyond its minimumSerial, because the
	// backup may lack zones.
	Jump uint32 `json:"jump,omitempty"`
	// By is the namespace of the removed zone.
	By string `json:"by,omitempty"`
	// From lists the removed and ended (no longer delegated) zones whose records move to a new zone with the name.
	From []Origin `json:"from,omitempty"`
}
