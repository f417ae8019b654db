// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import "strconv"

// Serial is an SOA serial: a point on a circle of 2^32, not a quantity. The
// operators < and > on it are meaningless across the wrap; use Ahead.
type Serial uint32

// KeptSeconds bounds for how long the last serial of a name without a zone is remembered (S6.8): 60 days.
const KeptSeconds = 60 * 24 * 60 * 60

// RestoreStep divides what lies between two serials with which zones begin in one restored store (S6.8). It divides
// 2^32.
const RestoreStep = 1 << 28

// Ahead says that s comes after of, by RFC 1982 §3.2 with SERIAL_BITS = 32. Serials that are exactly 2^31 apart have no
// order, and neither is ahead (S6.8): progress that cannot be proved is not claimed. The relation is not transitive:
// three serials a third of the circle apart are each ahead of the one before. So it must never be given to a sort.
func (s Serial) Ahead(of Serial) bool { return s != of && uint32(s-of) < 1<<31 }

// Next is the serial after s, skipping 0 (S6.8).
func (s Serial) Next() Serial {
	if s++; s == 0 {
		return 1
	}
	return s
}

// String returns the decimal form used in SOA rdata.
func (s Serial) String() string { return strconv.FormatUint(uint64(s), 10) }
