// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestCompare_table holds the examples of RFC 1982 §5.2, carried to 32 bits,
// and the wrap.
func TestCompare_table(t *testing.T) {
	for _, tc := range []struct {
		s, t Serial
		want Order
	}{
		{0, 0, Equal},
		{0, 1, Before},
		{1, 0, After},
		{44, 0, After},
		{100, 0, After},
		{0, math.MaxUint32, After},
		{math.MaxUint32, 0, Before},
		{math.MaxUint32 - 1, 3, Before},
		{0, 1<<31 - 1, Before},
		{0, 1 << 31, Undefined},
		{1 << 31, 0, Undefined},
		{0, 1<<31 + 1, After},
		{7, 1<<31 + 7, Undefined},
		{2026112000, 2026112001, Before},
		{2099123199, 1, After},
		{1, 1<<31 + 1, Undefined},
	} {
		if got := tc.s.Compare(tc.t); got != tc.want {
			t.Errorf("RFC 1982 §3.2: %d to %d is %v, want %v", tc.s, tc.t, got, tc.want)
		}
	}
}

// TestCompare_definition holds Compare against the sentences of RFC 1982 §3.2,
// written as they stand there.
func TestCompare_definition(t *testing.T) {
	twin := func(i1, i2 uint64) Order {
		switch {
		case i1 == i2:
			return Equal
		case i1 < i2 && i2-i1 < 1<<31, i1 > i2 && i1-i2 > 1<<31:
			return Before
		case i1 < i2 && i2-i1 > 1<<31, i1 > i2 && i1-i2 < 1<<31:
			return After
		}
		return Undefined
	}
	opposite := map[Order]Order{Before: After, After: Before, Equal: Equal, Undefined: Undefined}
	near := rapid.OneOf(rapid.Uint32(), rapid.SampledFrom([]uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, math.MaxUint32}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := near.Draw(t, "a"), near.Draw(t, "b")
		got := Serial(a).Compare(Serial(b))
		if want := twin(uint64(a), uint64(b)); got != want {
			t.Fatalf("%d to %d is %v, RFC 1982 says %v", a, b, got, want)
		}
		if back := Serial(b).Compare(Serial(a)); back != opposite[got] {
			t.Fatalf("%d to %d is %v, and back %v", a, b, got, back)
		}
		if Serial(a).Ahead(Serial(b)) != (got == After) {
			t.Fatalf("S6.5: %d ahead of %d: an undefined comparison is not ahead", a, b)
		}
	})
}

// TestNext proves S6.5: always ahead, 0 skipped at the wrap.
func TestNext_skipsZero(t *testing.T) {
	if got := Serial(math.MaxUint32).Next(); got != 1 {
		t.Errorf("S6.5: after 2^32-1 comes %d, want 1", got)
	}
	if got := Serial(0).Next(); got != 1 {
		t.Errorf("S6.5: after 0 comes %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Serial(rapid.Uint32().Draw(t, "s"))
		if n := s.Next(); n == 0 || !n.Ahead(s) {
			t.Fatalf("S6.5: after %d comes %d", s, n)
		}
	})
}

func TestString(t *testing.T) {
	if got := Serial(4294967295).String(); got != "4294967295" {
		t.Errorf("%q", got)
	}
	for order, want := range map[Order]string{Before: "Before", Equal: "Equal", After: "After", Undefined: "Undefined", 9: "Order(9)"} {
		if got := order.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
