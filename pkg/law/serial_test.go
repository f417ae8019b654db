// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
)

func pointTo(v uint32) *uint32 { return &v }

// Each case is a sentence of S6.8.
func TestNextSerial(t *testing.T) {
	day := func(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 12, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		why               string
		last              serial.Serial
		now               time.Time
		minimum, consumed *uint32
		want              serial.Serial
		used              bool
	}{
		{"last+1 on the same day", 2026010100, day(2026, 1, 1), nil, nil, 2026010101, false},
		{"a hundred changes run into the next day's numbers", 2026010199, day(2026, 1, 1), nil, nil, 2026010200, false},
		{"and the next day goes on from there", 2026010250, day(2026, 1, 2), nil, nil, 2026010251, false},
		{"the day's first", 2026010107, day(2026, 1, 2), nil, nil, 2026010200, false},
		{"the clock went back", 2026010107, day(2025, 1, 2), nil, nil, 2026010108, false},
		{"the first year", 5, day(2000, 1, 1), nil, nil, 2000010100, false},
		{"before the first year", 5, day(1999, 12, 31), nil, nil, 6, false},
		{"the last year", 5, day(2099, 12, 31), nil, nil, 2099123100, false},
		{"after the last year", 5, day(2100, 1, 1), nil, nil, 6, false},
		{"UTC, not the wall", 5, time.Date(2026, 1, 1, 1, 0, 0, 0, time.FixedZone("", 7200)), nil, nil, 2025123100, false},
		{"0 is skipped at the wrap", 4294967295, day(2100, 1, 1), nil, nil, 1, false},
		{"across the wrap the day is ahead", 4294967290, day(2026, 1, 1), nil, nil, 2026010100, false},
		{"a minimum that is ahead", 7, day(2100, 1, 1), pointTo(100), nil, 100, true},
		{"a minimum that is next is consumed too", 7, day(2100, 1, 1), pointTo(8), nil, 8, true},
		{"a minimum that is behind", 7, day(2100, 1, 1), pointTo(3), nil, 8, false},
		{"a consumed minimum", 7, day(2100, 1, 1), pointTo(100), pointTo(100), 8, false},
		{"another one than the consumed", 7, day(2100, 1, 1), pointTo(101), pointTo(100), 101, true},
		{"undefined is not ahead", 7, day(2100, 1, 1), pointTo(8 + 1<<31), nil, 8, false},
		{"a day undefined against last is not ahead of it", 4173493748, day(2026, 1, 1), nil, nil, 4173493749, false},
		{"ahead of the day and behind last: not yet", 1, day(2026, 1, 1), pointTo(4000000000), nil, 2026010100, false},
		{"and then it is taken", 2026010100, day(2026, 1, 1), pointTo(4000000000), nil, 4000000000, true},
		{"0 is no minimum", 4000000000, day(2100, 1, 1), pointTo(0), nil, 4000000001, false},
		{"the first of all", 0, day(2026, 1, 1), nil, nil, 2026010100, false},
	} {
		next, used := law.NextSerial(c.last, c.now, c.minimum, c.consumed)
		if next != c.want || used != c.used {
			t.Errorf("S6.8 %s: after %d %d, %v; want %d, %v", c.why, c.last, next, used, c.want, c.used)
		}
	}
}

// The next serial is ahead of the last in serial arithmetic, and never 0, for any last serial, clock and minimum. A
// minimumSerial within reach is used exactly once.
func TestNextSerial_neverBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := serial.Serial(rapid.Uint32Range(1, 1<<32-1).Draw(t, "last"))
		now := time.Unix(rapid.Int64Range(0, 5_000_000_000).Draw(t, "now"), 0)
		minimum := rapid.Uint32().Draw(t, "minimum")
		var consumed *uint32
		uses := 0
		for range 4 {
			next, used := law.NextSerial(last, now, &minimum, consumed)
			if !next.Ahead(last) || next == 0 {
				t.Fatalf("S6.8: from %d to %d", last, next)
			}
			if used {
				if next != serial.Serial(minimum) {
					t.Fatalf("S6.8: minimum %d was used as %d", minimum, next)
				}
				uses++
				consumed = &minimum
			}
			last = next
		}
		if uses > 1 {
			t.Fatalf("S6.8: minimum %d was consumed %d times", minimum, uses)
		}
	})
}
