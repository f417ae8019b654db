// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
	"pgregory.net/rapid"
)

var testZone = Zone{UID: "uid-1", View: "inside", Namespace: "team", Name: "example"}

func testHeader() content.Header {
	return content.Header{FQDN: name.MustParse("example.org."), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
}

// twin is the simplest implementation of a view: a map of rows, rebuilt from scratch. Like a ledger, a twin also makes
// the steps.
type twin struct {
	header content.Header
	serial serial.Serial
	n      uint64
	state  sethash.State
	rows   map[rrsetKey]map[string]bool
	ttls   map[rrsetKey]content.TTL
}

func newTwin() *twin {
	return &twin{rows: map[rrsetKey]map[string]bool{}, ttls: map[rrsetKey]content.TTL{}}
}

func (w *twin) listRRsets() []content.RRset {
	var sets []content.RRset
	for at, rows := range w.rows {
		sets = append(sets, content.RRset{Owner: at.owner, Type: at.t, TTL: w.ttls[at], Data: slices.Sorted(maps.Keys(rows))})
	}
	slices.SortFunc(sets, content.RRset.Compare)
	return sets
}

func (w *twin) makeSnapshot() *Snapshot {
	return NewSnapshot(testZone, w.header, w.serial, w.n, w.state, slices.Values(w.listRRsets()))
}

func (w *twin) makeStep(t rapid.TB, header content.Header, want map[rrsetKey]map[string]bool, ttls map[rrsetKey]content.TTL) content.Step {
	step := content.Step{N: w.n + 1, From: w.serial, Serial: w.serial.Next()}
	if w.n == 0 {
		step.HeaderAfter = &header
	} else if !header.Equal(w.header) {
		before := w.header
		step.HeaderBefore, step.HeaderAfter = &before, &header
	}
	for at := range mergedKeys(w.rows, want) {
		for data := range w.rows[at] {
			if !want[at][data] {
				step.Removed = append(step.Removed, content.Row{Owner: at.owner, Type: at.t, Data: data})
			}
		}
		for data := range want[at] {
			if !w.rows[at][data] {
				step.Added = append(step.Added, content.Row{Owner: at.owner, Type: at.t, Data: data})
			}
		}
		change := content.TTLChange{Owner: at.owner, Type: at.t}
		if before, ok := w.ttls[at]; ok {
			change.Before = &before
		}
		if len(want[at]) > 0 {
			after := ttls[at]
			change.After = &after
		}
		if change.Before == nil || change.After == nil || *change.Before != *change.After {
			step.TTLs = append(step.TTLs, change)
		}
	}
	w.header, w.serial, w.n = header, step.Serial, step.N
	w.rows, w.ttls = map[rrsetKey]map[string]bool{}, map[rrsetKey]content.TTL{}
	for at, rows := range want {
		if len(rows) > 0 {
			w.rows[at], w.ttls[at] = maps.Clone(rows), ttls[at]
		}
	}
	var elements []sethash.Element
	for _, set := range w.listRRsets() {
		elements = set.Elements(elements)
	}
	state, err := sethash.State{}.Update(nil, elements)
	if err != nil {
		t.Fatal(err)
	}
	w.state, step.State = state, state
	return step
}

func mergedKeys(one, other map[rrsetKey]map[string]bool) map[rrsetKey]bool {
	all := map[rrsetKey]bool{}
	for at := range one {
		all[at] = true
	}
	for at := range other {
		all[at] = true
	}
	return all
}

var (
	drawOwner  = rapid.Map(rapid.SampledFrom([]string{"@", "a", "b", "a.b", "ns1", "*", "*.a", "_x.b"}), name.MustRel)
	drawHeader = rapid.Custom(func(t *rapid.T) content.Header {
		h := testHeader()
		h.FQDN = rapid.SampledFrom([]name.Name{h.FQDN, h.FQDN, name.MustParse("a.example.org."), name.Root}).Draw(t, "fqdn")
		h.TTL = rapid.SampledFrom([]uint32{360, 360, 60}).Draw(t, "zone ttl")
		h.NameServers = rapid.SampledFrom([][]content.NameServer{nil, {{Name: "ns1", Addresses: []string{"192.0.2.1"}}}, {{Name: "ns.example.net."}, {Name: "a", Addresses: []string{"192.0.2.2", "2001:db8::1"}}}}).Draw(t, "nameServers")
		return h
	})
	drawTTL  = rapid.SampledFrom([]content.TTL{content.InheritTTL(), content.ExplicitTTL(60), content.ExplicitTTL(60).Merge(content.InheritTTL())})
	dataOf   = map[rdata.Type][]string{rdata.A: {"192.0.2.1", "192.0.2.2", "192.0.2.10"}, rdata.NS: {"ns1", "ns1.example.org.", "ns.example.net."}, rdata.MX: {"10 a", "10 a.example.org.", "5 b"}, rdata.TXT: {`"x"`, `"y z"`}}
	drawType = rapid.SampledFrom([]rdata.Type{rdata.A, rdata.A, rdata.NS, rdata.MX, rdata.TXT})
)

func (w *twin) drawStep(t *rapid.T) content.Step {
	want, ttls := map[rrsetKey]map[string]bool{}, maps.Clone(w.ttls)
	for at, rows := range w.rows {
		want[at] = maps.Clone(rows)
	}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		at := rrsetKey{drawOwner.Draw(t, "owner"), drawType.Draw(t, "type")}
		want[at] = map[string]bool{}
		for _, data := range rapid.SliceOfDistinct(rapid.SampledFrom(dataOf[at.t]), rapid.ID).Draw(t, "data") {
			want[at][data] = true
		}
		ttls[at] = drawTTL.Draw(t, "ttl")
	}
	header := w.header
	if w.n == 0 || rapid.IntRange(0, 4).Draw(t, "header") == 0 {
		header = drawHeader.Draw(t, "new header")
	}
	return w.makeStep(t, header, want, ttls)
}

func zoneText(s *Snapshot) string {
	var text strings.Builder
	fmt.Fprintln(&text, s.zone, s.header, s.serial, s.n, s.state, s.rows)
	for set := range s.RRsets() {
		fmt.Fprintln(&text, set.Owner, set.Type, set.TTL, set.Data)
	}
	for entry := range s.Entries() {
		fmt.Fprintln(&text, entry)
	}
	return text.String()
}

// A snapshot with a history of steps applied equals the zone rebuilt from its rows. Undo restores the previous state,
// and no step changes an existing snapshot.
func TestApplyUndo_agreeWithRebuilding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin()
		first := w.drawStep(t)
		current, err := fromFirstStep(testZone, first)
		if err != nil {
			t.Fatal(err)
		}
		snapshots, texts := []*Snapshot{current}, []string{zoneText(w.makeSnapshot())}
		var steps []content.Step
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			step := w.drawStep(t)
			next, err := current.Apply(step)
			if err != nil {
				t.Fatal(err)
			}
			rebuilt := w.makeSnapshot()
			if got, want := zoneText(next), zoneText(rebuilt); got != want {
				t.Fatalf("applied\n%s\nrebuilt\n%s", got, want)
			}
			if next.Hash() != rebuilt.Hash() {
				t.Fatalf("hash %s, rebuilt %s", next.Hash(), rebuilt.Hash())
			}
			checkChange(t, current, next, step)
			steps, snapshots, texts = append(steps, step), append(snapshots, next), append(texts, zoneText(rebuilt))
			current = next
		}
		if err := current.Prove(); err != nil {
			t.Fatal(err)
		}
		checkReading(t, current)
		for i := len(steps) - 1; i >= 0; i-- {
			if current, err = current.Undo(steps[i]); err != nil {
				t.Fatal(err)
			}
			if got := zoneText(current); got != texts[i] {
				t.Fatalf("undone\n%s\nwas\n%s", got, texts[i])
			}
		}
		if _, err := current.Undo(first); err == nil {
			t.Fatal("the step that made the zone was undone")
		}
		for i, snapshot := range snapshots {
			if got := zoneText(snapshot); got != texts[i] {
				t.Fatalf("snapshot %d was\n%s\nis\n%s", i, texts[i], got)
			}
		}
	})
}

// checkChange fails the test unless the change turns the entries before the step into the entries after it.
func checkChange(t rapid.TB, before, after *Snapshot, step content.Step) {
	change := StepChange(before, after, step)
	if change.From != before.Serial() || change.To != after.Serial() {
		t.Fatalf("change from %d to %d", change.From, change.To)
	}
	entries := map[dns.Entry]bool{}
	for entry := range before.Entries() {
		entries[entry] = true
	}
	for _, entry := range change.Removed {
		if !entries[entry] {
			t.Fatalf("%s is removed and was not there", entry)
		}
		delete(entries, entry)
	}
	for _, entry := range change.Added {
		if entries[entry] {
			t.Fatalf("%s is added and is there", entry)
		}
		entries[entry] = true
	}
	for _, list := range [][]dns.Entry{change.Removed, change.Added} {
		if !slices.IsSortedFunc(list, func(one, other dns.Entry) int { return one.Name.Compare(other.Name) }) {
			t.Fatalf("not in canonical order: %v", list)
		}
		for _, entry := range list {
			if entry.Type == rdata.SOA {
				t.Fatalf("the SOA is in a change: %v", list)
			}
		}
	}
	delete(entries, before.SOA())
	entries[after.SOA()] = true
	for entry := range after.Entries() {
		if !entries[entry] {
			t.Fatalf("%s is missing after the change", entry)
		}
		delete(entries, entry)
	}
	if len(entries) > 0 {
		t.Fatalf("left over: %v", entries)
	}
}

// checkReading fails the test unless all read methods agree with Entries.
func checkReading(t rapid.TB, s *Snapshot) {
	entries := slices.Collect(s.Entries())
	at := 0
	for packed, err := range s.PackedRRsets() {
		if err != nil {
			t.Fatal(err)
		}
		for _, wire := range packed.Rdata {
			if at >= len(entries) {
				t.Fatalf("S6.1: packed %s %s is more than is listed", packed.Owner, packed.Type)
			}
			entry := entries[at]
			want, err := rdata.Value{Type: entry.Type, Text: entry.Data}.Pack(name.Name{})
			owner, _ := entry.Name.Rel(s.FQDN())
			if err != nil || packed.Owner != owner || packed.Type != entry.Type || packed.TTL != entry.TTL || !bytes.Equal(wire, want) {
				t.Fatalf("S6.1: packed %s %d %s %x, listed %s, %v", packed.Owner, packed.TTL, packed.Type, wire, entry, err)
			}
			at++
		}
	}
	if soa, err := s.PackedSOA(); at != len(entries) || err != nil || soa.TTL != entries[0].TTL || len(soa.Rdata) != 1 {
		t.Fatalf("S6.1: %d packed, %d listed; SOA %v, %v", at, len(entries), soa, err)
	}
	if entries[0] != s.SOA() {
		t.Fatalf("SOA is %s, the first entry %s", s.SOA(), entries[0])
	}
	for i, entry := range entries {
		var same []dns.Entry
		for _, other := range entries {
			if other.Name == entry.Name && other.Type == entry.Type {
				same = append(same, other)
			}
		}
		if got := s.Lookup(entry.Name, entry.Type); !slices.Equal(got, same) {
			t.Fatalf("Lookup %s %s: %v, want %v", entry.Name, entry.Type, got, same)
		}
		first := slices.IndexFunc(entries, func(other dns.Entry) bool { return other.Name == entry.Name })
		if got := slices.Collect(s.EntriesFrom(entry.Name)); !slices.Equal(got, entries[first:]) {
			t.Fatalf("EntriesFrom %s (entry %d): %v", entry.Name, i, got)
		}
	}
	count := 0
	for set := range s.RRsets() {
		count += len(set.Data)
		if at := s.TypesAt(set.Owner); !slices.Contains(at, set.Type) {
			t.Fatalf("TypesAt %s: %v lacks %v", set.Owner, at, set)
		}
		if got, ok := s.RRset(set.Owner, set.Type); !ok || !got.Equal(set) {
			t.Fatalf("RRset %s %s: %v, %v", set.Owner, set.Type, got, ok)
		}
	}
	if count != s.Len() || s.EntryCount() != content.EntryCount(s.header.NameServerRRsets(), count) {
		t.Fatalf("Len %d, EntryCount %d, rows %d", s.Len(), s.EntryCount(), count)
	}
}

// makeHistory returns a history of count steps. Each adds an address at a new name.
func makeHistory(t testing.TB, count int) []content.Step {
	w := newTwin()
	steps := []content.Step{w.makeStep(t, testHeader(), nil, nil)}
	inherit := content.InheritTTL()
	for i := 1; i < count; i++ {
		row := content.Row{Owner: name.MustRel(fmt.Sprint("www", i)), Type: rdata.A, Data: "192.0.2.1"}
		step := content.Step{N: w.n + 1, From: w.serial, Serial: w.serial.Next(), Added: []content.Row{row}, TTLs: []content.TTLChange{{Owner: row.Owner, Type: row.Type, After: &inherit}}}
		removed, added := step.Elements()
		state := must.Get(w.state.Update(removed, added))(t)
		step.State = state
		w.n, w.serial, w.state = step.N, step.Serial, state
		steps = append(steps, step)
	}
	return steps
}
