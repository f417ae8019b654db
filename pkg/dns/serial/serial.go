// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import "strconv"

// Serial is the serial of an SOA, a point on a circle of 2^32. Use Ahead, because < and > ignore the wrap.
type Serial uint32

// KeptSeconds is the time that a name's last serial is kept without a zone.
const KeptSeconds = 60 * 24 * 60 * 60

// RestoreStep, a divisor of 2^32, is the unit of differences between zones' first serials in a restored store.
const RestoreStep = 1 << 28

// MaxRepair limits how far a zone's serial follows a secondary's without an annotation. A wrong repair costs a year of
// serials.
const MaxRepair = 1 << 24

// Ahead reports whether s comes after the other serial (RFC 1982 §3.2, SERIAL_BITS = 32). Never sort by Ahead, because
// the order is not transitive.
func (s Serial) Ahead(other Serial) bool { return s != other && uint32(s-other) < 1<<31 }

// Next returns the next serial, never 0.
func (s Serial) Next() Serial {
	if s++; s == 0 {
		return 1
	}
	return s
}

func (s Serial) String() string { return strconv.FormatUint(uint64(s), 10) }
