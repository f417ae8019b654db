// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// NextSerial is the serial after last (S6.8): last+1, then the day's first
// serial YYYYMMDD00 (UTC) if that is ahead, then minimum if that is ahead and
// not the one already consumed. usedMinimum says that minimum was taken.
//
// Being ahead is not transitive (RFC 1982 §3.2): what is ahead of the day may be
// behind last. So whatever is taken is ahead of last too; a minimum too far away
// is taken from the next serial on. last 0: there was none.
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

// LastSerial is the last serial a name had, kept for expire seconds, 60 days at most (S6.8).
type LastSerial struct {
	Serial serial.Serial `json:"serial"`
	// Left is the number of seconds for which it is still kept.
	Left int64 `json:"left,omitempty"`
	// Jump is the number by which the restores that left this floor raised serials, at least; 0 for the serial of a
	// name.
	Jump uint32 `json:"jump,omitempty"`
	// By is the namespace of the zone that had the name.
	By string `json:"by,omitempty"`
	// Zone is the uid of the zone that was removed there, or ended. While the cascade of
	// that zone stands, a zone that is made anew at the name takes in what stood there (S2.10).
	Zone string `json:"zone,omitempty"`
}
