// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Remember is what a zone leaves behind under its name (S6.8).
func Remember(z *Zone) *LastSerial {
	return &LastSerial{Serial: z.Serial, Left: min(int64(z.Header.Expire), serial.KeptSeconds), By: z.Namespace}
}

// findLastSerial returns the last serial of a name, under any zone, as it is remembered. Else it returns the floor of
// a restored store, which lacks zones that are not in its backup: a zone there that begins at its minimumSerial may
// have begun there before. 0: there is none.
func (d *zoneDecision) findLastSerial(view string, fqdn name.Name, minimum *uint32) (last *LastSerial, from serial.Serial) {
	keys := []Key{LastSerialKey(view, fqdn), FloorKey}
	d.askAll(keys)
	last, floor := get[LastSerial](d.reading, keys[0]), get[LastSerial](d.reading, keys[1])
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
