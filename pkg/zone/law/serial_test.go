// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
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

// Each case is one limit of S6.11.
func TestRepair(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	for _, c := range []struct {
		why            string
		last, ahead    serial.Serial
		accepted, want serial.Serial
		repaired       int64
		differs        bool
	}{
		{"past the secondary", 2026010200, 2026010205, 0, 2026010206, 0, false},
		{"by one", 7, 8, 0, 9, 0, false},
		{"the secondary is as far", 7, 7, 0, 0, 0, false},
		{"the secondary is behind", 7, 6, 0, 0, 0, false},
		{"no serial", 7, 0, 0, 0, 0, false},
		{"as far as it goes by itself", 7, 7 + 1<<24, 0, 8 + 1<<24, 0, false},
		{"further waits", 7, 8 + 1<<24, 0, 0, 0, false},
		{"another serial is accepted", 7, 8 + 1<<24, 9 + 1<<24, 0, 0, false},
		{"the serial is accepted", 7, 8 + 1<<24, 8 + 1<<24, 9 + 1<<24, 0, false},
		{"accepted, and nothing to do with it", 7, 6, 6, 0, 0, false},
		{"across the wrap", 4294967290, 4, 0, 5, 0, false},
		{"0 is skipped", 4294967290, 4294967295, 0, 1, 0, false},
		{"half of all serials is not ahead", 7, 7 + 1<<31, 7 + 1<<31, 0, 0, false},
		{"what follows would be half of all", 7, 6 + 1<<31, 6 + 1<<31, 0, 0, false},
		{"a second one on the day", 2026010200, 2026010205, 0, 0, ago(24*time.Hour - time.Second), false},
		{"accepted, a second one on the day", 7, 8 + 1<<24, 8 + 1<<24, 0, ago(time.Hour), false},
		{"a day later", 2026010200, 2026010205, 0, 2026010206, ago(24 * time.Hour), false},
		{"the clock went back", 2026010200, 2026010205, 0, 0, ago(-23 * time.Hour), false},
		{"the clock was a year ahead at the last one", 2026010200, 2026010205, 0, 2026010206, ago(-8760 * time.Hour), false},
		{"the next serial, for one that differs", 7, 8, 0, 8, 0, true},
		{"not the next serial, for one that differs", 7, 9, 0, 0, 0, true},
		{"the zone went on, for one that differs", 8, 8, 0, 0, 0, true},
		{"one that differs, 0 is skipped", 4294967295, 1, 0, 1, 0, true},
		{"one that differs, a second one on the day", 7, 8, 8, 0, ago(24*time.Hour - time.Second), true},
		{"one that differs, a day later", 7, 8, 0, 8, ago(24 * time.Hour), true},
	} {
		next, ok := zones.Repair(c.last, zones.Ahead{Serial: c.ahead, AcceptedSerial: c.accepted, Differs: c.differs}, c.repaired, now)
		if next != c.want || ok != (c.want != 0) {
			t.Errorf("S6.11 %s: %d, %v; want %d", c.why, next, ok, c.want)
		}
	}
}

// A serial never goes backwards (S6.9), and a repair goes past the secondary's serial (S6.11).
func TestRepair_neverBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := serial.Serial(rapid.Uint32Range(1, 1<<32-1).Draw(t, "last"))
		behind := zones.Ahead{Serial: serial.Serial(rapid.Uint32().Draw(t, "ahead")),
			AcceptedSerial: serial.Serial(rapid.Uint32().Draw(t, "accepted")), Differs: rapid.Bool().Draw(t, "differs")}
		if behind.Differs && rapid.Bool().Draw(t, "next") {
			behind.Serial = last.Next()
		}
		if rapid.Bool().Draw(t, "agrees") {
			behind.AcceptedSerial = behind.Serial
		}
		next, ok := zones.Repair(last, behind, 0, time.Now())
		if ok && (next == 0 || !next.Ahead(last) || !next.Ahead(behind.Serial) && !behind.Differs) {
			t.Fatalf("from %d, with a secondary at %d, to %d", last, behind.Serial, next)
		}
	})
}
