// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/zones"
)

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
		{"a zone without one", 0, 7, 0, 0, 0, false},
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
		{"no zone, for one that differs", 0, 1, 0, 0, 0, true},
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
