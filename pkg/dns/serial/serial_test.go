// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Ahead agrees with the definition in RFC 1982 §3.2.
func TestAhead_definition(t *testing.T) {
	near := rapid.OneOf(rapid.Uint32(), rapid.SampledFrom([]uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, math.MaxUint32}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := near.Draw(t, "a"), near.Draw(t, "b")
		i1, i2 := uint64(a), uint64(b)
		want := i1 < i2 && i2-i1 > 1<<31 || i1 > i2 && i1-i2 < 1<<31
		if got := Serial(a).Ahead(Serial(b)); got != want {
			t.Fatalf("S6.8: %d ahead of %d: %v, RFC 1982 says %v", a, b, got, want)
		}
	})
}

// The next serial is ahead of every serial, and is never 0 (S6.8).
func TestNext_skipsZero(t *testing.T) {
	if got := Serial(math.MaxUint32).Next(); got != 1 {
		t.Errorf("S6.8: after 2^32-1 comes %d, want 1", got)
	}
	if got := Serial(0).Next(); got != 1 {
		t.Errorf("S6.8: after 0 comes %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Serial(rapid.Uint32().Draw(t, "s"))
		if n := s.Next(); n == 0 || !n.Ahead(s) {
			t.Fatalf("S6.8: after %d comes %d", s, n)
		}
	})
}
