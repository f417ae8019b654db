// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
	"pgregory.net/rapid"
)

// The difference turns the entries at the first serial into those at the second, and contains no entry of both.
func TestDifference_leadsFromOneSerialToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, set := newTwin(), NewSet(Config{})
		var snapshots []*Snapshot
		for range rapid.IntRange(2, 8).Draw(t, "steps") {
			tx := content.Transaction{Steps: []content.Step{w.drawStep(t)}, Settled: true}
			if err := set.Apply(testZone.UID, tx, testZone); err != nil {
				t.Fatal(err)
			}
			snapshots = append(snapshots, w.makeSnapshot())
		}
		// A snapshot may still be the start after later steps.
		snapshots = snapshots[:rapid.IntRange(1, len(snapshots)).Draw(t, "taken")]
		after := snapshots[len(snapshots)-1]
		for i, before := range snapshots {
			d, err := set.Difference(after, before.Serial())
			if before.FQDN() != after.FQDN() || before.header.TTL != after.header.TTL {
				if !errors.Is(err, ErrTrimmed) {
					t.Fatalf("across another name or ttl: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("from %d of %d: %v", i, len(snapshots), err)
			}
			if d.OldSOA != before.SOA() || d.NewSOA != after.SOA() || d.From != before.Serial() || d.To != after.Serial() {
				t.Fatalf("from %v to %v, want %v to %v", d.OldSOA, d.NewSOA, before.SOA(), after.SOA())
			}
			entries := map[dns.Entry]bool{}
			for entry := range before.Entries() {
				entries[entry] = true
			}
			delete(entries, before.SOA())
			for _, entry := range d.Removed {
				if !entries[entry] {
					t.Fatalf("removes %v, which is not there", entry)
				}
				delete(entries, entry)
			}
			for _, entry := range d.Added {
				if entries[entry] || slices.Contains(d.Removed, entry) {
					t.Fatalf("adds %v, which is there", entry)
				}
				entries[entry] = true
			}
			entries[after.SOA()] = true
			want := map[dns.Entry]bool{}
			for entry := range after.Entries() {
				want[entry] = true
			}
			if !maps.Equal(entries, want) {
				t.Fatalf("from step %d: got %v, want %v", i, entries, want)
			}
		}
	})
}

func TestDifference_refusals(t *testing.T) {
	set := NewSet(Config{MaxSteps: 2})
	at := map[serial.Serial]*Snapshot{}
	for i, step := range makeHistory(t, 5) {
		must.Succeed(t, set.Apply(testZone.UID, content.Transaction{Steps: []content.Step{step}, Settled: i < 4}, testZone))
		at[step.Serial], _ = set.ByUID(testZone.UID)
	}
	if _, err := NewSet(Config{}).Difference(at[4], 3); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown zone: %v", err)
	}
	// The zone has the serials 1 to 5, and the Set keeps the steps to 4 and 5.
	if d, err := set.Difference(at[4], 3); err != nil || len(d.Added) != 1 || len(d.Removed) != 0 {
		t.Errorf("the last settled step: %+v, %v", d, err)
	}
	if d, err := set.Difference(at[4], 4); err != nil || len(d.Removed)+len(d.Added) > 0 {
		t.Errorf("from the same serial: %+v, %v", d, err)
	}
	for what, x := range map[string]struct {
		after *Snapshot
		since serial.Serial
	}{
		"from a step no longer kept": {at[4], 1}, "to a step no longer kept": {at[2], 1}, "from one after": {at[4], 5},
	} {
		if d, err := set.Difference(x.after, x.since); !errors.Is(err, ErrTrimmed) {
			t.Errorf("%s: %+v, %v", what, d, err)
		}
	}
}
