// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// NextSerial is the serial after last (S6.5): last+1, then the day's first
// serial YYYYMMDD00 (UTC) if that is ahead, then minimum if that is ahead and
// not the one already consumed. usedMinimum says that minimum was taken.
func NextSerial(last serial.Serial, now time.Time, minimum, consumed *uint32) (next serial.Serial, usedMinimum bool) {
	next = last.Next()
	if y, m, d := now.UTC().Date(); y >= 2000 && y <= 2099 {
		if today := serial.Serial(((y*100+int(m))*100 + d) * 100); today.Ahead(next) {
			next = today
		}
	}
	if minimum != nil && (consumed == nil || *consumed != *minimum) {
		switch m := serial.Serial(*minimum); m.Compare(next) {
		case serial.After:
			return m, true
		case serial.Equal:
			return next, true
		}
	}
	return next, false
}
