// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// counted has serials of a zone, a later zone and a catalog.
type counted struct {
	zone, late, catalog serial.Serial
	revision            int64
	floor               law.LastSerial
}

func (c *counted) writeTimes(n int, now time.Time) {
	for _, s := range []*serial.Serial{&c.zone, &c.late} {
		if n > 0 && *s != 0 {
			next, _ := law.NextSerial(*s, now, nil, nil)
			*s = max(next+serial.Serial(n-1), 1)
		}
	}
	c.revision += int64(n)
	c.countRevision()
}

func (c *counted) countRevision() { c.catalog = serial.Serial(uint64(c.revision)%catalogSerials + 1) }

// restoreAt recreates the late zone with its minimum, as a server does (S6.8), if the backup lacks it.
func (c *counted) restoreAt(at Clock, minimum serial.Serial) {
	c.zone, _ = at.serial(c.zone)
	c.revision = at.Revision(c.revision)
	if c.floor.Serial != 0 {
		at.raise(&c.floor)
	}
	at.leaveFloor(&c.floor)
	if c.late != 0 {
		c.late, _ = at.serial(c.late)
	} else {
		jumped := minimum + serial.Serial(c.floor.Jump)
		jumped += (c.floor.Serial - jumped) % serial.RestoreStep
		if c.late = c.floor.Serial; jumped.Ahead(c.late) {
			c.late = jumped
		}
	}
	c.countRevision()
}

type taken struct {
	counted
	at       time.Time
	restored []time.Time
}

// S6.10: for any backups, restores and writes of at most one a millisecond, each restore is ahead of all former
// serials, and of its backup.
func TestClock_isAheadOfEveryEarlierRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2027, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 28, 12, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "begin")) * time.Millisecond)
		today, _ := law.NextSerial(0, now, nil, nil)
		minimum := today + serial.Serial(rapid.Uint32Range(0, 1<<28).Draw(t, "minimum"))
		is := counted{
			zone:     today + serial.Serial(rapid.Uint32Range(0, 1<<28).Draw(t, "zone")),
			revision: rapid.OneOf(rapid.Int64Range(1, 1<<40), rapid.Int64Range(catalogSerials-1000, catalogSerials+1000)).Draw(t, "revision"),
		}
		is.countRevision()
		highest := is
		var backups []*taken
		var last *taken // the last restored, and when
		var restored time.Time
		// The sum of spans stays below mostAhead.
		for step, steps := 0, rapid.IntRange(2, 12).Draw(t, "steps"); step < steps; step++ {
			span := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 100_000), rapid.IntRange(1, mostAhead/16)).Draw(t, "span")
			now = now.Add(time.Duration(span) * time.Millisecond)
			is.writeTimes(rapid.OneOf(rapid.IntRange(0, span-1), rapid.Just(span-1)).Draw(t, "writes"), now)
			highest = is
			if len(backups) == 0 || rapid.Bool().Draw(t, "back up") {
				backups = append(backups, &taken{counted: is, at: now})
				if is.late == 0 {
					is.late = minimum
				}
				continue
			}
			one := rapid.SampledFrom(backups).Draw(t, "backup")
			at := Clock{Now: now, Since: one.at}
			older := false
			for _, other := range backups {
				for _, when := range other.restored {
					if other.at.Before(one.at) && when.After(one.at) {
						older = true
						if other.at.Before(at.Since) {
							at.Since = other.at // --ahead-of
						}
					}
				}
			}
			is = one.counted
			is.restoreAt(at, minimum)
			message := fmt.Sprintf("restored at %s since %s: %+v after %+v, of %+v", now, at.Since, is, highest, one.counted)
			for what, have := range map[string][3]serial.Serial{
				"zone": {is.zone, highest.zone, one.zone}, "late zone": {is.late, highest.late, one.late}, "catalog": {is.catalog, highest.catalog, one.catalog},
			} {
				if !have[0].Ahead(have[1]) || have[2] != 0 && !have[0].Ahead(have[2]) {
					t.Fatalf("%s: %s", what, message)
				}
			}
			if near := last != one && now.Sub(restored) < 1<<16*time.Millisecond; is.revision <= highest.revision && !near {
				t.Fatalf("revision: %s", message)
			}
			last, restored = one, now
			if older {
				return // a restore of an older backup may be behind
			}
			one.restored = append(one.restored, now)
		}
	})
}

// Of two stores restored from any backups, the later begins with a higher revision than the earlier has reached by at
// most a write in each millisecond. All revisions fit into 63 bits.
func TestClock_revisionsRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(1<<32, time.Date(2060, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMilli()-levelsBegin.UnixMilli())
		early, age := ms.Draw(t, "early"), rapid.Int64Range(0, 1<<40)
		late := early + 1<<16 + rapid.Int64Range(0, 1<<20).Draw(t, "between")
		at := func(ms int64, which string) int64 {
			now := levelsBegin.Add(time.Duration(ms) * time.Millisecond)
			c := Clock{Now: now, Since: now.Add(-time.Duration(age.Draw(t, which)) * time.Millisecond)}
			if err := c.check(); err != nil {
				t.Fatal(err)
			}
			return c.Revision(rapid.Int64Range(1, 1<<40).Draw(t, which+" revision"))
		}
		written := rapid.Int64Range(0, late-early-1).Draw(t, "written")
		first, second := at(early, "first"), at(late, "second")
		if second <= first+written || subrev.Version(second, subrev.Last) < 0 {
			t.Fatalf("revision %d after %d and %d writes, %d ms later", second, first, written, late-early)
		}
	})
}

// The serial of a catalog zone follows from the revision and wraps around. Of two restores of a backup within a span of
// 65 seconds, the later has the higher revision, wherever in the cycle of catalog serials the backup's revision lies.
func TestClock_revisionsRiseInASpan(t *testing.T) {
	const span = 1 << 16 * time.Millisecond
	begin := levelsBegin.Add(500_000 * span)
	for n := range revisionStep/(1<<16) + 1 {
		begin := begin.Add(time.Duration(n) * span)
		for of := range int64(15) {
			early, late := Clock{Now: begin, Since: begin.Add(-time.Hour)}, Clock{Now: begin.Add(span - 1), Since: begin.Add(-time.Hour)}
			if first, second := early.Revision(of*revisionStep+1), late.Revision(of*revisionStep+1); second <= first {
				t.Fatalf("%s: revision %d after %d", begin, second, first)
			}
		}
	}
}

// A timer may restore a backup every day at the same age, here an hour. The serials of such restores differ by at least
// 100,000, so no serial is used for two contents.
func TestClock_equalAgesAreNotEqualSerials(t *testing.T) {
	last, now := serial.Serial(2027010100), time.Date(2027, time.January, 1, 3, 0, 0, 0, time.UTC)
	seen := map[serial.Serial]time.Time{}
	for range 100 {
		at, _ := Clock{Now: now, Since: now.Add(-time.Hour)}.serial(last)
		for other, when := range seen {
			if apart := int32(at - other); max(apart, -apart) < 100_000 {
				t.Errorf("restored %s: serial %d; restored %s: %d", now, at, when, other)
			}
		}
		seen[at] = now
		now = now.AddDate(0, 0, 1)
	}
}

// A restore raises each serial in proportion to the backup's age. A serial far ahead of the date leaves less room in
// the 32-bit number space, so for an old backup the jump is smaller, and the restore reports this.
func TestClock_saysWhereItGoesAheadByLess(t *testing.T) {
	taken := time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		last    serial.Serial
		days    int
		limited bool
	}{{2026110101, 9, false}, {2026110101, 13, true}, {2999002112, 4, false}, {2999002112, 11, true}} {
		at := Clock{Since: taken, Now: taken.AddDate(0, 0, c.days)}
		if begins, limited := at.serial(c.last); limited != c.limited {
			t.Errorf("%d after %d days begins at %d, limited %t", c.last, c.days, begins, limited)
		}
	}
}
