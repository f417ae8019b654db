// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// NextSerial returns the serial after last (S6.8): last+1, or the day's first serial YYYYMMDD00 (UTC) if ahead, or
// minimum if ahead and not consumed (usedMinimum). last 0: none.
//
// Being ahead is not transitive (RFC 1982 §3.2): a serial ahead of the day's may be behind last. So the result is ahead
// of last, too; a minimum too far away waits.
func NextSerial(last serial.Serial, now time.Time, minimum, consumed *uint32) (next serial.Serial, usedMinimum bool) {
	next = last.Next()
	ahead := func(s serial.Serial) bool { return s != 0 && s.Ahead(next) && (last == 0 || s.Ahead(last)) }
	if y, m, d := now.UTC().Date(); y >= 2000 && y <= 2099 {
		if today := serial.Serial(((y*100+int(m))*100 + d) * 100); ahead(today) {
			next = today
		}
	}
	if minimum != nil && (consumed == nil || *consumed != *minimum) {
		switch m := serial.Serial(*minimum); {
		case ahead(m):
			return m, true
		case m == next:
			return next, true
		}
	}
	return next, false
}

// LastSerial is the last serial of a name, kept for expire seconds, 60 days at most (S6.10).
type LastSerial struct {
	Serial serial.Serial `json:"serial"`
	// Left is the rest of this time, seconds.
	Left int64 `json:"left,omitempty"`
	// Jump is the least raise of serials by restores, for the floor; else 0.
	Jump uint32 `json:"jump,omitempty"`
	// By is the namespace of the zone.
	By string `json:"by,omitempty"`
	// From is the zone removed or ended there, with the zones whose records were on their way to it. A zone made anew
	// takes them in (S2.10).
	From []Origin `json:"from,omitempty"`
}
