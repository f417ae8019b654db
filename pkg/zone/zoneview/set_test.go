// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
	"pgregory.net/rapid"
)

var fqdn = name.MustParse("example.org.")

func applySteps(t testing.TB, v *Set, tx content.Transaction) {
	t.Helper()
	must.Succeed(t, v.Apply(testZone.UID, tx, testZone))
}

func readCounters(t testing.TB, v *Set) (newest, settled uint64) {
	t.Helper()
	if s, ok := v.ByUID(testZone.UID); ok {
		newest = s.N()
	}
	if s, ok := v.Settled(testZone.UID); ok {
		settled = s.N()
	}
	return newest, settled
}

// A transaction changes the newest snapshot, but name servers get the newest only after a transaction settles it
// (S7.2).
func TestSet_settled_S7_2(t *testing.T) {
	steps := makeHistory(t, 6)
	v := NewSet(Config{})
	if _, ok := v.ByUID(testZone.UID); ok {
		t.Fatal("a zone in an empty set")
	}
	expect := func(what string, newest, settled uint64) {
		t.Helper()
		if n, s := readCounters(t, v); n != newest || s != settled {
			t.Errorf("%s: newest %d, settled %d; want %d, %d", what, n, s, newest, settled)
		}
		found, ok := v.Find("inside", fqdn)
		if ok != (settled > 0) || ok && found.N() != settled {
			t.Errorf("%s: Find %v", what, ok)
		}
		if all := slices.Collect(v.All()); len(all) != min(1, int(settled)) {
			t.Errorf("%s: All has %d", what, len(all))
		}
	}
	applySteps(t, v, content.Transaction{Steps: steps[:1]})
	expect("made, unsettled", 1, 0)
	applySteps(t, v, content.Transaction{Settled: true})
	expect("mark alone", 1, 1)
	applySteps(t, v, content.Transaction{Steps: steps[1:3]})
	expect("two steps, unsettled", 3, 1)
	applySteps(t, v, content.Transaction{After: 1, Settled: true})
	expect("a mark from before", 3, 1)
	applySteps(t, v, content.Transaction{Steps: steps[1:2], Settled: true})
	expect("an old settled transaction again", 3, 1)
	applySteps(t, v, content.Transaction{After: 3, Settled: true})
	expect("the mark for them", 3, 3)
	applySteps(t, v, content.Transaction{Steps: steps[2:5], Settled: true})
	expect("overlapping and settled", 5, 5)
	if err := v.Apply(testZone.UID, content.Transaction{After: 6, Settled: true}, testZone); !errors.Is(err, ErrMisfit) {
		t.Errorf("a mark for a step that did not come: %v", err)
	}
	expect("refused mark", 5, 5)
	if _, ok := v.Find("", fqdn); ok {
		t.Error("found in another view")
	}
	applySteps(t, v, content.Transaction{Gone: true})
	expect("gone", 0, 0)
	applySteps(t, v, content.Transaction{Gone: true}) // a second removal is no error
}

func TestSet_applyIsAllOrNothing(t *testing.T) {
	steps := makeHistory(t, 5)
	v := NewSet(Config{})
	if err := v.Apply(testZone.UID, content.Transaction{Steps: steps[1:2]}, testZone); !errors.Is(err, ErrUnknown) {
		t.Errorf("a step of no zone: %v", err)
	}
	if err := v.Apply(testZone.UID, content.Transaction{Settled: true}, testZone); !errors.Is(err, ErrUnknown) {
		t.Errorf("a mark of no zone: %v", err)
	}
	if err := v.Apply(testZone.UID, content.Transaction{Steps: steps[:1]}, Zone{UID: "other"}); !errors.Is(err, ErrMisfit) {
		t.Errorf("another identity: %v", err)
	}
	applySteps(t, v, content.Transaction{Steps: steps[:2], Settled: true})
	damaged := slices.Clone(steps[2:5])
	damaged[2].State = sethash.State{}
	if err := v.Apply(testZone.UID, content.Transaction{Steps: damaged, Settled: true}, testZone); !errors.Is(err, ErrMisfit) {
		t.Errorf("damaged: %v", err)
	}
	if err := v.Apply(testZone.UID, content.Transaction{Steps: steps[3:5]}, testZone); !errors.Is(err, ErrMisfit) {
		t.Errorf("gap: %v", err)
	}
	if n, s := readCounters(t, v); n != 2 || s != 2 {
		t.Errorf("newest %d, settled %d after refusals", n, s)
	}
	applySteps(t, v, content.Transaction{Steps: steps, Settled: true})
	if n, s := readCounters(t, v); n != 5 || s != 5 {
		t.Errorf("newest %d, settled %d", n, s)
	}
}

// A renamed zone is found under its old name until it settles, and then only under the new name. If another zone took
// the old name meanwhile, that zone keeps it (S8.4).
func TestSet_rename_S8_4(t *testing.T) {
	w := newTwin()
	first := w.makeStep(t, testHeader(), nil, nil)
	renamed := testHeader()
	renamed.FQDN = name.MustParse("example.net.")
	rename := w.makeStep(t, renamed, nil, nil)
	v := NewSet(Config{})
	applySteps(t, v, content.Transaction{Steps: []content.Step{first}, Settled: true})
	applySteps(t, v, content.Transaction{Steps: []content.Step{rename}})
	find := func(fqdn string) string {
		s, ok := v.Find("inside", name.MustParse(fqdn))
		if !ok {
			return ""
		}
		if s.FQDN().String() != fqdn {
			t.Errorf("looked for %s, found %s", fqdn, s)
		}
		return s.Zone().UID
	}
	if find("example.org.") != "uid-1" || find("example.net.") != "" {
		t.Error("an unsettled rename is already seen")
	}
	heir := Zone{UID: "uid-2", View: "inside"}
	must.Succeed(t, v.Apply(heir.UID, content.Transaction{Steps: []content.Step{first}, Settled: true}, heir))
	if find("example.org.") != "uid-2" {
		t.Error("the freed name's new zone is not found")
	}
	applySteps(t, v, content.Transaction{Settled: true})
	if find("example.org.") != "uid-2" || find("example.net.") != "uid-1" {
		t.Error("a settled rename took the name from its heir")
	}
	v.Remove(heir.UID)
	if find("example.org.") != "" || find("example.net.") != "uid-1" {
		t.Error("removal took the wrong name")
	}
}

// If several zones have the same name for a while, the zone that settled last is found. When it is removed, the
// previous zone gets the name again.
func TestSet_aNameGoesBackToTheZoneThatHadIt(t *testing.T) {
	steps := makeHistory(t, 2)
	v := NewSet(Config{})
	do := func(uid string, tx content.Transaction, want string) {
		t.Helper()
		must.Succeed(t, v.Apply(uid, tx, Zone{UID: uid, View: "inside", Namespace: "ns", Name: uid}))
		got := ""
		if found, ok := v.Find("inside", fqdn); ok {
			got = found.Zone().UID
		}
		if got != want {
			t.Errorf("zone %q has the name, want %q", got, want)
		}
	}
	made, more, gone := content.Transaction{Steps: steps[:1], Settled: true}, content.Transaction{Steps: steps[1:2], Settled: true}, content.Transaction{Gone: true}
	do("a", made, "a")
	do("b", made, "b")
	do("c", made, "c")
	do("b", gone, "c")
	do("c", gone, "a")
	do("b", made, "b")
	do("a", more, "a")
	do("a", gone, "b")
	do("b", gone, "")
	if len(v.names)+len(v.shadowedUIDs) > 0 {
		t.Errorf("%d names and %d hidden zones stay in an empty set", len(v.names), len(v.shadowedUIDs))
	}
}

func TestSet_changes(t *testing.T) {
	steps := makeHistory(t, 20) // serials 1 to 20
	v := NewSet(Config{MaxSteps: 5})
	for _, step := range steps {
		applySteps(t, v, content.Transaction{Steps: []content.Step{step}, Settled: true})
	}
	for _, row := range []struct {
		since, until serial.Serial
		want         []content.Step
		err          error
	}{
		{15, 20, steps[15:20], nil},
		{15, 0, steps[15:20], nil},
		{17, 19, steps[17:19], nil},
		{20, 20, nil, nil},
		{16, 16, nil, nil},
		{14, 20, nil, ErrTrimmed},
		{1, 0, nil, ErrTrimmed},
		{21, 0, nil, ErrTrimmed},
		{16, 99, nil, ErrTrimmed},
		{19, 17, nil, ErrTrimmed},
	} {
		got, err := v.Changes(testZone.UID, row.since, row.until)
		if !errors.Is(err, row.err) || !slices.EqualFunc(got, row.want, func(a, b content.Step) bool { return a.N == b.N }) {
			t.Errorf("%d to %d: %d steps, %v", row.since, row.until, len(got), err)
		}
		changes, err := v.EntryChanges(testZone.UID, row.since, row.until)
		if !errors.Is(err, row.err) || len(changes) != len(row.want) {
			t.Errorf("%d to %d: %d changes, %v", row.since, row.until, len(changes), err)
		}
		for i, change := range changes {
			want := dns.Change{From: row.want[i].From, To: row.want[i].Serial}
			if change.From != want.From || change.To != want.To || len(change.Added) != 1 || change.Added[0].Name.String() != row.want[i].Added[0].Owner.String()+".example.org." {
				t.Errorf("%d to %d, change %d: %v", row.since, row.until, i, change)
			}
		}
	}
	if _, err := v.Changes("other", 1, 0); !errors.Is(err, ErrUnknown) {
		t.Errorf("another zone: %v", err)
	}
	if _, err := v.EntryChanges("other", 1, 0); !errors.Is(err, ErrUnknown) {
		t.Errorf("another zone: %v", err)
	}
	// Later steps must not overwrite a slice that a reader holds.
	held := must.Get(v.Changes(testZone.UID, 15, 20))(t)
	more := makeHistory(t, 40)
	for _, step := range more[20:] {
		applySteps(t, v, content.Transaction{Steps: []content.Step{step}})
	}
	for i, step := range held {
		if step.N != steps[15+i].N {
			t.Fatalf("step %d became %d", steps[15+i].N, step.N)
		}
	}
	if got := len(v.zones[testZone.UID].steps); got != 5 {
		t.Errorf("%d steps kept, want 5", got)
	}
	v = NewSet(Config{})
	applySteps(t, v, content.Transaction{Steps: steps[:3]})
	if got, err := v.Changes(testZone.UID, 0, 0); !errors.Is(err, ErrTrimmed) {
		t.Errorf("since 0: %d steps, %v", len(got), err)
	}
	if got, err := v.EntryChanges(testZone.UID, 1, 0); err != nil || len(got) != 2 {
		t.Errorf("from the first step: %d changes, %v", len(got), err)
	}
}

// A reader of the steps since a serial gets their traceparents. A reader of the whole zone, or of the steps since an
// unknown serial, gets the traceparents of the last ten minutes before the newest step.
func TestSet_traces(t *testing.T) {
	steps, v := makeHistory(t, 5), NewSet(Config{})
	for i := range steps {
		steps[i].Trace, steps[i].Time = fmt.Sprint("t", steps[i].Serial), int64(1000+300*i)
	}
	steps[3].Trace = ""
	applySteps(t, v, content.Transaction{Steps: steps})
	serials := []serial.Serial{0}
	for _, step := range steps {
		serials = append(serials, step.Serial)
	}
	for _, test := range []struct {
		since, until serial.Serial
		want         []string
	}{
		{serials[4], serials[5], []string{steps[4].Trace}},
		{serials[2], serials[5], []string{steps[2].Trace, steps[4].Trace}},
		{serials[2], serials[3], []string{steps[2].Trace}},
		{0, serials[5], []string{steps[2].Trace, steps[4].Trace}},
		{0, serials[2], []string{steps[0].Trace, steps[1].Trace}},
		{serials[5] + 7, serials[5], []string{steps[2].Trace, steps[4].Trace}},
		{0, serials[5] + 7, nil},
	} {
		if got := v.Traces(testZone.UID, test.since, test.until); !slices.Equal(got, test.want) {
			t.Errorf("from %d to %d: %q, want %q", test.since, test.until, got, test.want)
		}
	}
	if got := v.Traces("another", 0, 1); got != nil {
		t.Errorf("of no zone: %q", got)
	}
}

// Journal returns the number of steps that the Set keeps for all zones, and the time of the oldest, except a first step
// without a time.
func TestSet_journal(t *testing.T) {
	v := NewSet(Config{MaxSteps: 3})
	if n, oldest := v.Journal(); n != 0 || oldest != 0 {
		t.Errorf("%d steps since %d in an empty set", n, oldest)
	}
	steps := makeHistory(t, 6)
	for i := range steps {
		steps[i].Time = int64(100 + i)
	}
	applySteps(t, v, content.Transaction{Steps: steps})
	if n, oldest := v.Journal(); n != 3 || oldest != int64(100+len(steps)-3) {
		t.Errorf("%d steps since %d", n, oldest)
	}
	other := makeHistory(t, 1)
	must.Succeed(t, v.Apply("other", content.Transaction{Steps: other}, Zone{UID: "other"}))
	if n, oldest := v.Journal(); n != 3+len(other) || oldest != int64(100+len(steps)-3) {
		t.Errorf("%d steps since %d", n, oldest)
	}
}

// fatHistory returns a history of count steps. Each replaces a value of an RRset by another of about the given size in
// octets.
func fatHistory(t *testing.T, count, octets int) []content.Step {
	w := newTwin()
	steps := []content.Step{w.makeStep(t, testHeader(), nil, nil)}
	at := rrsetKey{name.MustRel("fat"), rdata.TXT}
	for i := 1; i < count; i++ {
		data := strings.Repeat("x", octets) + fmt.Sprint(i)
		steps = append(steps, w.makeStep(t, testHeader(), map[rrsetKey]map[string]bool{at: {data: true}},
			map[rrsetKey]content.TTL{at: content.InheritTTL()}))
	}
	return steps
}

// If the steps of a zone become too large, the oldest are dropped. Readers of older serials get an error, and the
// remaining steps lead to the newest serial.
func TestSet_keepsSoManyOctets(t *testing.T) {
	const each, bound = 10_000, 100_000
	steps := fatHistory(t, 200, each)
	v := NewSet(Config{MaxOctets: bound})
	for i, step := range steps {
		applySteps(t, v, content.Transaction{Steps: []content.Step{step}, Settled: true})
		held := v.lookUp(testZone.UID)
		kept := 0
		for i := range held.steps {
			kept += countOctets(&held.steps[i])
		}
		if kept != held.octets || kept > bound || i > 10 && kept < bound/2 {
			t.Fatalf("after %d steps %d octets are kept, counted as %d", i+1, kept, held.octets)
		}
		if spare := cap(held.steps); i > 10 && spare > 3*bound/each {
			t.Fatalf("after %d steps those that are not kept any more are in memory, %d of them", i+1, spare)
		}
		if first := max(1, i+1-len(held.steps)); i > 0 && held.steps[0].N > 1 {
			if got, err := v.EntryChanges(testZone.UID, steps[first].From, 0); err != nil || len(got) != len(held.steps) {
				t.Fatalf("from the oldest step kept: %d changes, %v", len(got), err)
			}
			if oldest, n, err := v.Oldest(testZone.UID); err != nil || oldest != steps[first].From || n != len(held.steps) {
				t.Errorf("the oldest is serial %d, %d steps, %v, want %d", oldest, n, err, steps[first].From)
			}
			if _, err := v.Changes(testZone.UID, steps[first].From-1, 0); !errors.Is(err, ErrTrimmed) {
				t.Fatalf("from before it: %v", err)
			}
		}
	}
	newest, _ := v.ByUID(testZone.UID)
	v.Put(newest, true)
	applySteps(t, v, content.Transaction{Settled: true})
	if held := v.lookUp(testZone.UID); held.octets == 0 || held.octets > bound {
		t.Errorf("the same state listed again: %d octets", held.octets)
	}
	later := makeHistory(t, 6)
	v = NewSet(Config{MaxOctets: 1})
	for _, step := range later {
		applySteps(t, v, content.Transaction{Steps: []content.Step{step}, Settled: true})
	}
	if _, err := v.Changes(testZone.UID, later[4].Serial, 0); !errors.Is(err, ErrTrimmed) {
		t.Errorf("a step that alone is too much: %v", err)
	}
	if got, err := v.Changes(testZone.UID, later[5].Serial, 0); err != nil || len(got) != 0 {
		t.Errorf("from the newest on: %d steps, %v", len(got), err)
	}
}

// If the steps of all zones together become too large, the oldest of any zone are dropped.
func TestSet_keepsSoManyOctetsOfAllZones(t *testing.T) {
	const zones, bound = 50, 400_000
	steps := fatHistory(t, 20, 1000)
	v := NewSet(Config{MaxTotal: bound})
	for i, step := range steps {
		for z := range zones {
			uid := fmt.Sprint(z)
			step.Time = int64(1000 + i)
			must.Succeed(t, v.Apply(uid, content.Transaction{Steps: []content.Step{step}, Settled: true}, Zone{UID: uid}))
			sum := 0
			for _, h := range v.zones {
				for i := range h.steps {
					sum += countOctets(&h.steps[i])
				}
			}
			if sum > bound || sum != v.totalOctets {
				t.Fatalf("after step %d of zone %d the steps of all zones hold %d octets, counted as %d, want %d at most", i, z, sum,
					v.totalOctets, bound)
			}
		}
	}
	least, most := len(steps), 0
	for _, h := range v.zones {
		least, most = min(least, len(h.steps)), max(most, len(h.steps))
	}
	if most == 0 || most-least > 2 {
		t.Errorf("of some zones %d steps are kept, of others %d", least, most)
	}
	v.Remove("7")
	newest, _ := v.ByUID("8")
	v.Put(newest, true)
	sum := 0
	for _, h := range v.zones {
		sum += h.octets
	}
	if sum != v.totalOctets {
		t.Errorf("%d octets are counted as %d", sum, v.totalOctets)
	}
}

// Steps older than a week are dropped, also in zones without changes.
func TestSet_keepsStepsForSoLong(t *testing.T) {
	v := NewSet(Config{})
	at := func(uid string, steps []content.Step, first int64) {
		t.Helper()
		for i, step := range steps {
			step.Time = first + int64(i)
			must.Succeed(t, v.Apply(uid, content.Transaction{Steps: []content.Step{step}, Settled: true}, Zone{UID: uid}))
		}
	}
	const week = 7 * 24 * 3600
	at("quiet", makeHistory(t, 6), 1_000_000)
	at("busy", makeHistory(t, 6), 1_000_000+week+ageEvery)
	if n := len(v.lookUp("quiet").steps); n != 0 {
		t.Errorf("%d steps are kept that are older than a week", n)
	}
	if n := len(v.lookUp("busy").steps); n == 0 {
		t.Error("no step is kept that is seconds old")
	}
}

func TestSet_put(t *testing.T) {
	steps := makeHistory(t, 4)
	v := NewSet(Config{})
	applySteps(t, v, content.Transaction{Steps: steps[:3], Settled: true})
	newest, _ := v.ByUID(testZone.UID)
	listed := NewSnapshot(testZone, newest.Header(), newest.Serial(), newest.N(), newest.State(), newest.RRsets())
	v.Put(listed, false)
	if got, err := v.Changes(testZone.UID, 1, 0); err != nil || len(got) != 2 {
		t.Errorf("the same state listed again: %d steps kept, %v", len(got), err)
	}
	if s, ok := v.Settled(testZone.UID); !ok || s != newest {
		t.Error("an unsettled listing replaced the settled snapshot")
	}
	later := must.Get(listed.Apply(steps[3]))(t)
	v.Put(later, true)
	if _, err := v.Changes(testZone.UID, 3, 0); !errors.Is(err, ErrTrimmed) {
		t.Errorf("steps kept across a gap: %v", err)
	}
	if s, ok := v.Find("inside", fqdn); !ok || s != later {
		t.Error("the settled listing is not found")
	}
}

// A feed may repeat steps in overlapping transactions without any effect.
func TestSet_overlappingFeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin()
		var steps []content.Step
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			steps = append(steps, w.drawStep(t))
		}
		v := NewSet(Config{MaxSteps: rapid.IntRange(1, 10).Draw(t, "retain")})
		for done := 0; done < len(steps); {
			from := rapid.IntRange(0, done).Draw(t, "from")
			to := rapid.IntRange(from, len(steps)).Draw(t, "to")
			err := v.Apply(testZone.UID, content.Transaction{Steps: steps[from:to], Settled: true}, testZone)
			if from == to && done == 0 {
				if !errors.Is(err, ErrUnknown) {
					t.Fatalf("a mark of no zone: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			done = max(done, to)
		}
		got, _ := v.ByUID(testZone.UID)
		if want := w.makeSnapshot(); zoneText(got) != zoneText(want) {
			t.Fatalf("fed\n%s\nrebuilt\n%s", zoneText(got), zoneText(want))
		}
		kept := v.zones[testZone.UID].steps
		if len(kept) > v.config.MaxSteps || kept[len(kept)-1].N != got.n {
			t.Fatalf("%d steps kept of %d", len(kept), v.config.MaxSteps)
		}
	})
}

func TestSet_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := makeHistory(t, 4)
		v := NewSet(Config{})
		type answer struct {
			snapshot *Snapshot
			err      error
		}
		wait := func(ctx context.Context, n uint64) chan answer {
			got := make(chan answer, 1)
			go func() {
				snapshot, err := v.Wait(ctx, testZone.UID, n)
				got <- answer{snapshot, err}
			}()
			synctest.Wait()
			return got
		}
		pending := func(got chan answer) bool { synctest.Wait(); return len(got) == 0 }

		two, three := wait(t.Context(), 2), wait(t.Context(), 3)
		applySteps(t, v, content.Transaction{Steps: steps[:1]})
		if !pending(two) || !pending(three) {
			t.Fatal("answered by step 1")
		}
		applySteps(t, v, content.Transaction{Steps: steps[1:2]})
		if pending(two) || !pending(three) {
			t.Fatal("step 2 must answer the one and not the other")
		}
		if got := <-two; got.err != nil || got.snapshot.N() != 2 {
			t.Errorf("%+v", got)
		}
		newest, _ := v.ByUID(testZone.UID)
		later := must.Get(newest.Apply(steps[2]))(t)
		v.Put(later, true)
		if got := <-three; got.err != nil || got.snapshot != later {
			t.Errorf("%+v", got)
		}
		if got := <-wait(t.Context(), 1); got.err != nil || got.snapshot != later {
			t.Errorf("what is there is not waited for: %+v", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		late := wait(ctx, 9)
		time.Sleep(time.Minute)
		if got := <-late; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("%+v", got)
		}
		gone := wait(t.Context(), 9)
		v.Remove(testZone.UID)
		if got := <-gone; !errors.Is(got.err, ErrGone) {
			t.Errorf("%+v", got)
		}
		if len(v.waiting) != 0 {
			t.Errorf("%d entries left behind", len(v.waiting))
		}
	})
}

func TestSet_subscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := makeHistory(t, 30)
		v := NewSet(Config{})
		events, end := v.Subscribe()
		for _, step := range steps {
			applySteps(t, v, content.Transaction{Steps: []content.Step{step}, Settled: true})
		}
		other := Zone{UID: "uid-2"}
		must.Succeed(t, v.Apply(other.UID, content.Transaction{Steps: steps[:1]}, other))
		v.Remove(other.UID)
		synctest.Wait()

		// The channel may already contain the first event before the others are merged.
		var got []Event
		for range 3 {
			select {
			case event := <-events:
				got = append(got, event)
			default:
			}
			synctest.Wait()
		}
		last := map[string]Event{}
		for _, event := range got {
			last[event.Zone.UID] = event
		}
		if len(got) > 3 || last["uid-1"] != (Event{Zone: testZone}) || last["uid-2"] != (Event{Zone: other, Gone: true}) {
			t.Errorf("events %v", got)
		}
		select {
		case event := <-events:
			t.Errorf("one more: %v", event)
		default:
		}

		applySteps(t, v, content.Transaction{Gone: true})
		end()
		end()
		synctest.Wait()
		for range events { // hangs if the channel is not closed
		}
		if len(v.subs) != 0 {
			t.Error("the subscription is still there")
		}
	})
}

func TestSet_concurrentUse(t *testing.T) {
	const zones, count = 4, 60
	v := NewSet(Config{MaxSteps: 20})
	steps := makeHistory(t, count)
	events, end := v.Subscribe()
	sawAll := make(chan struct{})
	go func() {
		seen := map[string]bool{}
		for event := range events {
			if seen[event.Zone.UID] = true; len(seen) == zones {
				close(sawAll)
				break
			}
		}
	}()
	var group sync.WaitGroup
	for z := range zones {
		zone := Zone{UID: fmt.Sprint("uid-", z), View: fmt.Sprint("view-", z)}
		group.Go(func() {
			for i, step := range steps {
				if err := v.Apply(zone.UID, content.Transaction{Steps: []content.Step{step}, Settled: i%3 == 0}, zone); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for n := uint64(1); n <= count; n += 7 {
				snapshot, err := v.Wait(t.Context(), zone.UID, n)
				if err != nil {
					t.Error(err)
					return
				}
				if err := snapshot.Prove(); err != nil || snapshot.N() < n {
					t.Error(snapshot.N(), err)
				}
			}
		})
		group.Go(func() {
			for range 200 {
				if s, ok := v.Find(zone.View, fqdn); ok {
					for range s.Entries() {
					}
					if changes, err := v.EntryChanges(zone.UID, s.Serial(), 0); err == nil && len(changes) > 0 && changes[0].From != s.Serial() {
						t.Error("changes begin elsewhere")
					}
				}
				for range v.All() {
				}
			}
		})
	}
	group.Wait()
	for z := range zones {
		if s, ok := v.ByUID(fmt.Sprint("uid-", z)); !ok || s.N() != count || s.Prove() != nil {
			t.Errorf("zone %d is not where its steps lead", z)
		}
	}
	<-sawAll // merging drops no last event of a zone
	end()
}
