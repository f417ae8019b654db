// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
)

func makeFixture(t testing.TB) (*Snapshot, content.Step) {
	t.Helper()
	w := newTwin()
	at := func(owner string, typ rdata.Type) rrsetKey { return rrsetKey{name.MustRel(owner), typ} }
	inherit, n60 := content.InheritTTL(), content.ExplicitTTL(60)
	first := w.makeStep(t, testHeader(),
		map[rrsetKey]map[string]bool{at("www", rdata.A): {"192.0.2.1": true, "192.0.2.2": true}, at("mail", rdata.A): {"192.0.2.3": true}, at("old", rdata.TXT): {`"x"`: true}},
		map[rrsetKey]content.TTL{at("www", rdata.A): inherit, at("mail", rdata.A): inherit, at("old", rdata.TXT): n60})
	snapshot := must.Get(fromFirstStep(testZone, first))(t)
	header := testHeader()
	header.TTL = 100
	step := w.makeStep(t, header,
		map[rrsetKey]map[string]bool{at("www", rdata.A): {"192.0.2.1": true, "192.0.2.9": true}, at("mail", rdata.A): {"192.0.2.3": true}, at("new", rdata.A): {"192.0.2.4": true}},
		map[rrsetKey]content.TTL{at("www", rdata.A): n60, at("mail", rdata.A): inherit, at("new", rdata.A): inherit})
	return snapshot, step
}

// A step that does not fit changes nothing, and the error names zone, step and difference. Any modification of a
// fitting step makes it unfit.
func TestApply_misfits(t *testing.T) {
	row := func(owner, data string) content.Row {
		return content.Row{Owner: name.MustRel(owner), Type: rdata.A, Data: data}
	}
	inherit, n5 := content.InheritTTL(), content.ExplicitTTL(5)
	for what, damage := range map[string]struct {
		change func(*content.Step)
		want   string
	}{
		"gap":                 {func(s *content.Step) { s.N++ }, "the zone is at step 1 and needs 2"},
		"again":               {func(s *content.Step) { s.N-- }, "needs 2"},
		"serial":              {func(s *content.Step) { s.From++ }, "starts from serial 2, the zone is at 1"},
		"state":               {func(s *content.Step) { s.State = sethash.State{} }, "claims " + sethash.State{}.String()},
		"creation":            {func(s *content.Step) { s.HeaderBefore = nil }, "one header"},
		"no header after":     {func(s *content.Step) { s.HeaderAfter = nil }, "one header"},
		"other header before": {func(s *content.Step) { h := *s.HeaderBefore; h.Retry = 1; s.HeaderBefore = &h }, "replaces the header"},
		"removes what is not": {func(s *content.Step) { s.Removed = append(s.Removed, row("www", "192.0.2.77")) }, `removes www A "192.0.2.77", which is not there`},
		"removes twice":       {func(s *content.Step) { s.Removed = append(s.Removed, row("www", "192.0.2.2")) }, "not there"},
		"removes at no RRset": {func(s *content.Step) { s.Removed = append(s.Removed, row("none", "192.0.2.2")) }, "not there"},
		"adds what is":        {func(s *content.Step) { s.Added = append(s.Added, row("mail", "192.0.2.3")) }, `adds mail A "192.0.2.3", which is already there`},
		"adds twice":          {func(s *content.Step) { s.Added = append(s.Added, row("new", "192.0.2.4")) }, "already there"},
		"adds without ttl":    {func(s *content.Step) { s.Added = append(s.Added, row("more", "192.0.2.4")) }, "1 rows and ttl none"},
		"adds unhashed":       {func(s *content.Step) { s.Added = append(s.Added, row("mail", "192.0.2.5")) }, "content state"},
		"forgets a row":       {func(s *content.Step) { s.Removed = nil }, "old TXT with 1 rows and ttl none"},
		"ttl of no RRset": {func(s *content.Step) {
			s.TTLs = append(s.TTLs, content.TTLChange{Owner: name.MustRel("x"), Type: rdata.A, After: &n5})
		}, "x A with 0 rows and ttl 5"},
		"other ttl before": {func(s *content.Step) {
			s.TTLs = append(s.TTLs, content.TTLChange{Owner: name.MustRel("mail"), Type: rdata.A, Before: &n5, After: &inherit})
		}, "replaces ttl 5 of mail A, which has inherit"},
		"ttl already there": {func(s *content.Step) {
			s.TTLs = append(s.TTLs, content.TTLChange{Owner: name.MustRel("mail"), Type: rdata.A, After: &inherit})
		}, "replaces ttl none of mail A, which has inherit"},
		"ttl changes in passing": {func(s *content.Step) {
			s.TTLs = append(s.TTLs, content.TTLChange{Owner: name.MustRel("mail"), Type: rdata.A, Before: &inherit, After: &n5})
		}, "content state"},
	} {
		t.Run(what, func(t *testing.T) {
			snapshot, step := makeFixture(t)
			before := zoneText(snapshot)
			damage.change(&step)
			next, err := snapshot.Apply(step)
			if err == nil {
				t.Fatalf("applied:\n%s", zoneText(next))
			}
			for _, want := range []string{"example.org.", "uid-1", fmt.Sprint("step ", step.N), damage.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if !errors.Is(err, ErrMisfit) {
				t.Errorf("%v is not ErrMisfit", err)
			}
			if zoneText(snapshot) != before {
				t.Error("the snapshot changed")
			}
		})
	}
	snapshot, step := makeFixture(t)
	if _, err := snapshot.Apply(step); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
}

func TestUndo_misfits(t *testing.T) {
	snapshot, step := makeFixture(t)
	after := must.Get(snapshot.Apply(step))(t)
	other := testHeader()
	for what, change := range map[string]func(*content.Step){
		"N":      func(s *content.Step) { s.N-- },
		"serial": func(s *content.Step) { s.Serial++ },
		"state":  func(s *content.Step) { s.State = sethash.State{} },
		"header": func(s *content.Step) { s.HeaderAfter = &other },
		"rows":   func(s *content.Step) { s.Added = s.Removed },
	} {
		damaged := step
		change(&damaged)
		if _, err := after.Undo(damaged); !errors.Is(err, ErrMisfit) {
			t.Errorf("%s: %v, want ErrMisfit", what, err)
		}
	}
}

// After a restart, a server must not serve a listing that differs from the zone.
func TestProve_noticesEveryDifference(t *testing.T) {
	snapshot, _ := makeFixture(t)
	sets := slices.Collect(snapshot.RRsets())
	with := func(sets []content.RRset) error {
		return NewSnapshot(testZone, snapshot.header, snapshot.serial, snapshot.n, snapshot.state, slices.Values(sets)).Prove()
	}
	must.Succeed(t, with(sets))
	slices.Reverse(sets)
	if err := with(sets); err != nil {
		t.Fatalf("in another order: %v", err)
	}
	for i := range sets {
		for what, change := range map[string]func(*content.RRset){
			"ttl":   func(set *content.RRset) { set.TTL = set.TTL.Merge(content.ExplicitTTL(1)) },
			"data":  func(set *content.RRset) { set.Data = []string{"192.0.2.200"} },
			"more":  func(set *content.RRset) { set.Data = append(slices.Clone(set.Data), "192.0.2.200") },
			"owner": func(set *content.RRset) { set.Owner = name.MustRel("elsewhere") },
		} {
			damaged := slices.Clone(sets)
			change(&damaged[i])
			if err := with(damaged); !errors.Is(err, ErrMisfit) {
				t.Errorf("%s of %v: %v, want ErrMisfit", what, sets[i], err)
			}
		}
		if err := with(slices.Delete(slices.Clone(sets), i, i+1)); err == nil {
			t.Errorf("without %v: no error", sets[i])
		}
	}
}

func TestNewSnapshot_doesNotTouchItsInput(t *testing.T) {
	data := []string{"192.0.2.2", "192.0.2.1"}
	set := content.RRset{Owner: name.MustRel("www"), Type: rdata.A, TTL: content.InheritTTL(), Data: data}
	snapshot := NewSnapshot(testZone, testHeader(), 1, 1, sethash.State{}, slices.Values([]content.RRset{set, set}))
	if data[0] != "192.0.2.2" {
		t.Error("the caller's slice was sorted")
	}
	if got, _ := snapshot.RRset(set.Owner, set.Type); !slices.IsSorted(got.Data) || snapshot.Len() != 2 {
		t.Errorf("%v, Len %d", got, snapshot.Len())
	}
}

func TestEntriesFrom_anyName(t *testing.T) {
	snapshot, _ := makeFixture(t)
	all := slices.Collect(snapshot.Entries())
	for _, row := range []struct {
		from string
		want int // index of the first entry
	}{
		{"", 0}, {"example.org.", 0}, {".", 0}, {"org.", 0}, {"zzz.example.com.", 0},
		{"a.example.org.", 1}, {"mail.example.org.", 1}, {"x.mail.example.org.", 2}, {"www.example.org.", 3}, {"wwwx.example.org.", len(all)},
		{"example.orga.", len(all)}, {"xample.org.", len(all)}, {"z.", len(all)},
	} {
		from := name.Name{}
		if row.from != "" {
			from = name.MustParse(row.from)
		}
		if got := slices.Collect(snapshot.EntriesFrom(from)); !slices.Equal(got, all[row.want:]) {
			t.Errorf("from %q: %v", row.from, got)
		}
	}
	for range snapshot.EntriesFrom(name.MustParse("a.example.org.")) {
		break // the iterator must stop here
	}
	if got := snapshot.Lookup(name.MustParse("example.net."), rdata.SOA); got != nil {
		t.Errorf("another zone's SOA: %v", got)
	}
}

// Goroutines apply steps to the same snapshot while others read it. Snapshots share a copy-on-write tree whose method
// Clone must not run concurrently, so this test is for the race detector.
func TestSnapshot_concurrentUse(t *testing.T) {
	snapshot, step := makeFixture(t)
	want := zoneText(snapshot)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				next, err := snapshot.Apply(step)
				if err != nil {
					t.Error(err)
					return
				}
				back, err := next.Undo(step)
				if err != nil {
					t.Error(err)
					return
				}
				if zoneText(back) != want || zoneText(snapshot) != want {
					t.Error("there and back is elsewhere")
				}
			}
		})
	}
	group.Wait()
}

func bigZone(count int) iter.Seq[content.RRset] {
	return func(yield func(content.RRset) bool) {
		for i := range count {
			// Use separate strings, as a decoder does.
			set := content.RRset{Owner: name.MustRel(fmt.Sprintf("host-%06d", i)), Type: rdata.A, TTL: content.InheritTTL(), Data: []string{fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)}}
			if !yield(set) {
				return
			}
		}
	}
}

func heapOf() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// A record takes at most 200 bytes of memory in a snapshot.
func TestSnapshot_bytesPerRecord(t *testing.T) {
	const count = 50_000
	before := heapOf()
	snapshot := NewSnapshot(testZone, testHeader(), 1, 1, sethash.State{}, bigZone(count))
	per := float64(heapOf()-before) / count
	t.Logf("%.0f bytes for an A record", per)
	if per > 200 {
		t.Errorf("%.0f bytes for an A record, want at most 200", per)
	}
	runtime.KeepAlive(snapshot)
}
