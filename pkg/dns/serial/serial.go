// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import "strconv"

// Serial is an SOA serial: a point on a circle of 2^32, not a quantity. The
// operators < and > on it are meaningless across the wrap; use Compare.
type Serial uint32

// KeptSeconds bounds for how long the last serial of a name without a zone is remembered (S6.5): 60 days.
const KeptSeconds = 60 * 24 * 60 * 60

// RestoreStep divides what lies between two serials with which zones begin in one restored store (S6.5). It divides
// 2^32.
const RestoreStep = 1 << 28

// Order is how two serials relate on the circle.
type Order int

const (
	// Undefined: exactly 2^31 apart. RFC 1982 §3.2 leaves the order open, so
	// neither serial may be taken for an update of the other.
	Undefined Order = iota
	// Before: the receiver comes before the argument.
	Before
	// Equal: the same serial.
	Equal
	// After: the receiver comes after the argument.
	After
)

// String returns the name of the constant, for messages and test failures.
func (o Order) String() string {
	switch o {
	case Before:
		return "Before"
	case Equal:
		return "Equal"
	case After:
		return "After"
	case Undefined:
		return "Undefined"
	}
	return "Order(" + strconv.Itoa(int(o)) + ")"
}

const half = 1 << 31

// Compare relates s to t by RFC 1982 §3.2 with SERIAL_BITS = 32. The relation
// is not transitive: three serials a third of the circle apart each come
// before the next. So it must never be given to a sort.
func (s Serial) Compare(t Serial) Order {
	switch distance := uint32(t - s); {
	case distance == 0:
		return Equal
	case distance < half:
		return Before
	case distance > half:
		return After
	default:
		return Undefined
	}
}

// Ahead says that s comes after of. An undefined comparison is not ahead (S6.5): progress that cannot be proved is not
// claimed.
func (s Serial) Ahead(of Serial) bool { return s.Compare(of) == After }

// Next is the serial after s, skipping 0 (S6.5).
func (s Serial) Next() Serial {
	if s++; s == 0 {
		return 1
	}
	return s
}

// String returns the decimal form used in SOA rdata.
func (s Serial) String() string { return strconv.FormatUint(uint64(s), 10) }
