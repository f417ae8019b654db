// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import "strconv"

// Serial is a point on a circle of 2^32. Use Ahead: < and > ignore the wrap.
type Serial uint32

// KeptSeconds is how long the last serial of a name without a zone is kept (S6.10).
const KeptSeconds = 60 * 24 * 60 * 60

// RestoreStep is the unit of the differences between first serials of zones in a restored store (S6.8). It divides
// 2^32.
const RestoreStep = 1 << 28

// MaxRepair is the largest distance over which a zone's serial follows a secondary without annotation (S6.11): a wrong
// repair costs at most a year of serials.
const MaxRepair = 1 << 24

// Ahead reports whether s comes after the serial "of", by RFC 1982 §3.2 with SERIAL_BITS = 32. Of serials exactly 2^31
// apart neither is ahead (S6.8). Never sort by Ahead: the relation is not transitive.
func (s Serial) Ahead(of Serial) bool { return s != of && uint32(s-of) < 1<<31 }

// Next returns the next serial, never 0 (S6.8).
func (s Serial) Next() Serial {
	if s++; s == 0 {
		return 1
	}
	return s
}

func (s Serial) String() string { return strconv.FormatUint(uint64(s), 10) }
