// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import "testing"

// Slow readers of one user leave seats for the others, and give back what they had.
func TestSeats_nobodyTakesThemAll(t *testing.T) {
	s := newSeats(32)
	var leave []func()
	fill := func(user string) (got int) {
		for {
			l, refusal := s.take(user)
			if refusal != nil {
				if refusal.ErrStatus.Code != 429 || refusal.ErrStatus.Details.RetryAfterSeconds == 0 {
					t.Errorf("%s: %v", user, refusal)
				}
				return got
			}
			leave = append(leave, l)
			got++
		}
	}
	for i, want := range []int{16, 8, 4, 2, 1} {
		if got := fill(string(rune('a' + i))); got != want {
			t.Errorf("user %d took %d seats, want %d", i, got, want)
		}
	}
	if got := fill("a"); got != 0 {
		t.Errorf("the first took %d more", got)
	}
	for _, l := range leave {
		l()
	}
	if s.inUse() != 0 || len(s.of) != 0 {
		t.Errorf("%d in use after all have left, %v", s.inUse(), s.of)
	}
	if got := fill("b"); got != 16 {
		t.Errorf("afterwards one took %d seats, want 16", got)
	}
}
