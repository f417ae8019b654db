// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/zoneview"
)

// fed is a feed without a source: the test tells it, and says when a proof ends.
type fed struct {
	*Feed
	t     *testing.T
	steps []content.Step
}

func newFed(t *testing.T) *fed {
	f := &fed{Feed: New(zoneview.NewSet(zoneview.Config{}), 1), t: t}
	header := content.Header{FQDN: name.MustParse("example.org."), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
	f.steps = []content.Step{{N: 1, Serial: 100, HeaderAfter: &header}}
	var state sethash.State
	inherit := content.InheritTTL()
	for i := 1; i < 9; i++ {
		step := content.Step{N: uint64(i + 1), From: serial.Serial(99 + i), Serial: serial.Serial(100 + i)}
		step.Added = []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: fmt.Sprintf("192.0.2.%d", i)}}
		if i == 1 {
			step.TTLs = []content.TTLChange{{Owner: name.MustRel("www"), Type: rdata.A, After: &inherit}}
		}
		removed, added := step.Elements()
		var err error
		if state, err = state.Update(removed, added); err != nil {
			t.Fatal(err)
		}
		step.State = state
		f.steps = append(f.steps, step)
	}
	return f
}

// base is the zone of a uid at serial 100+n.
func (f *fed) base(uid string, n int) Base {
	snapshots := zoneview.NewSet(zoneview.Config{})
	if err := snapshots.Apply(uid, content.Transaction{Steps: f.steps[:n+1]}, zoneview.Zone{UID: uid, Namespace: "ns", Name: uid}); err != nil {
		f.t.Fatal(err)
	}
	snapshot, _ := snapshots.ByUID(uid)
	return Base{Snapshot: snapshot, Settled: true, Final: true}
}

// wrong is a base of which a value is gone.
func (f *fed) wrong(uid string, n int) Base {
	b := f.base(uid, n)
	b.Hash = strings.Repeat("0", 64)
	return b
}

func (f *fed) put(uid string, n int) {
	f.t.Helper()
	if err := f.Base(uid, f.base(uid, n)).Run(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// apply tells the step that leads to serial 100+n.
func (f *fed) apply(uid string, n int) error {
	return f.Feed.Apply(f.t.Context(), uid, content.Transaction{Steps: f.steps[n : n+1], Settled: true}, zoneview.Zone{})
}

// at is the settled serial of a zone in the Set, less 100; -1: it is not there.
func (f *fed) at(uid string) int {
	if snapshot, ok := f.set.Settled(uid); ok {
		return int(snapshot.Serial()) - 100
	}
	return -1
}

func (f *fed) synced() bool { return f.Check() == nil }

func TestFeed_isInSyncWhenAListingIsCompleteAndAllOfItIsInOrFrozen(t *testing.T) {
	f := newFed(t)
	f.BeginListing(true)
	f.put("a", 1)
	if f.synced() {
		t.Error("in sync before the listing has ended")
	}
	slow, damaged := f.Base("b", f.base("b", 1)), f.Base("c", f.wrong("c", 1))
	f.EndListing(t.Context(), map[string]error{"ns/d": errors.New("not protobuf")})
	if err := f.Check(); err == nil || !strings.HasPrefix(err.Error(), "2 zones are not in yet, one of them ") {
		t.Errorf("while two proofs are in flight: %v", err)
	}
	if err := damaged.Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.synced() {
		t.Errorf("%v, in sync: %t", err, f.synced())
	}
	if err := slow.Run(t.Context()); err != nil || !f.synced() {
		t.Errorf("%v, in sync: %t", err, f.synced())
	}
	if frozen, failed := f.Counts(); frozen != 2 || failed != 2 || f.FrozenBy("c") == nil || f.FrozenBy("ns/d") == nil {
		t.Errorf("%d zones are frozen, %d proofs failed: %v", frozen, failed, f.Frozen())
	}
}

func TestFeed_staysInSyncWhileItLooksForFrozenZonesAlone(t *testing.T) {
	for what, test := range map[string]struct{ frozen, stay, want bool }{
		"frozen zones are looked for": {true, true, true}, "all is read anew": {true, false, false}, "no zone is frozen": {false, true, false},
	} {
		f := newFed(t)
		f.BeginListing(true)
		f.put("a", 1)
		f.EndListing(t.Context(), nil)
		if test.frozen {
			f.Report(t.Context(), "b", zoneview.ErrMisfit, true)
		}
		if f.BeginListing(test.stay); f.synced() != test.want {
			t.Errorf("%s: in sync is %t", what, f.synced())
		}
	}
}

func TestFeed_aSourceThatFailsIsReportedToTheCallersOfWait(t *testing.T) {
	f := newFed(t)
	for range maxFailures {
		f.Fail(errors.New("the store is away"))
	}
	if err := f.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "failed 3 times: the store is away") {
		t.Error(err)
	}
	f.BeginListing(true)
	f.EndListing(t.Context(), nil)
	if err := f.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	f.Fail(errors.New("the store is away")) // the first time since
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Wait(ctx); !errors.Is(err, context.Canceled) || f.synced() {
		t.Errorf("%v, in sync: %t", err, f.synced())
	}
}

func TestFeed_whatIsToldDuringAProofWaitsForIt(t *testing.T) {
	f := newFed(t)
	proof := f.Base("a", f.base("a", 1))
	for n := 2; n < 4; n++ {
		if err := f.apply("a", n); err != nil || f.at("a") != -1 {
			t.Errorf("step %d: %v, the zone is at %d", n, err, f.at("a"))
		}
	}
	if err := proof.Run(t.Context()); err != nil || f.at("a") != 3 {
		t.Errorf("%v, the zone is at %d", err, f.at("a"))
	}
	// A second proof of what the Set has holds nothing up.
	again := f.Base("a", f.base("a", 3))
	if err := f.apply("a", 4); err != nil || f.at("a") != 4 {
		t.Errorf("%v, the zone is at %d", err, f.at("a"))
	}
	if err := again.Run(t.Context()); err != nil || f.at("a") != 4 {
		t.Errorf("%v, the zone is at %d", err, f.at("a"))
	}
}

func TestFeed_aProofThatWasOvertakenDoesNothing(t *testing.T) {
	for what, overtake := range map[string]func(f *fed){
		"removed":   func(f *fed) { f.RemoveUnless("a", "") },
		"gone":      func(f *fed) { _ = f.Feed.Apply(t.Context(), "a", content.Transaction{Gone: true}, zoneview.Zone{}) },
		"relisted":  func(f *fed) { f.BeginListing(false) },
		"read anew": func(f *fed) { f.Base("a", f.base("a", 2)) },
		"frozen":    func(f *fed) { f.Report(t.Context(), "a", zoneview.ErrMisfit, true) },
	} {
		f := newFed(t)
		proof := f.Base("a", f.base("a", 1))
		overtake(f)
		proof.base.Snapshot = nil // it is not even proven
		frozen := f.FrozenBy("a")
		if err := proof.Run(t.Context()); err != nil || f.at("a") != -1 || f.FrozenBy("a") != frozen {
			t.Errorf("%s: %v, the zone is at %d, frozen by %v", what, err, f.at("a"), f.FrozenBy("a"))
		}
	}
	f := newFed(t)
	proof := f.Base("a", f.base("a", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proof.Run(ctx); !errors.Is(err, context.Canceled) || f.at("a") != -1 || f.zones["a"].proof != nil {
		t.Errorf("%v, the zone is at %d, its content held: %t", err, f.at("a"), f.zones["a"].proof != nil)
	}
	if err := f.Feed.Apply(ctx, "a", content.Transaction{Steps: f.steps[2:3]}, zoneview.Zone{}); !errors.Is(err, context.Canceled) || f.zones["a"].misfits > 0 {
		t.Errorf("after the end: %v, %d misfits", err, f.zones["a"].misfits)
	}
}

func TestFeed_aFrozenZoneStaysAsItWasProvenUntilItIsProvenAgain(t *testing.T) {
	f := newFed(t)
	f.put("a", 2)
	if err := f.Base("a", f.wrong("a", 3)).Run(t.Context()); err == nil || f.FrozenBy("a") == nil {
		t.Fatalf("%v, frozen by %v", err, f.FrozenBy("a"))
	}
	for _, n := range []int{3, 5} { // one that would fit and one that would not
		if err := f.apply("a", n); err != nil || f.at("a") != 2 {
			t.Errorf("step %d of a frozen zone: %v, it is at %d", n, err, f.at("a"))
		}
	}
	// It may be mended by being put back, and goes on meanwhile.
	proof := f.Base("a", f.base("a", 2))
	if err := f.apply("a", 3); err != nil || f.at("a") != 2 || f.FrozenBy("a") == nil {
		t.Errorf("%v, the zone is at %d, frozen by %v", err, f.at("a"), f.FrozenBy("a"))
	}
	if err := proof.Run(t.Context()); err != nil || f.at("a") != 3 || f.FrozenBy("a") != nil {
		t.Errorf("%v, the zone is at %d, frozen by %v", err, f.at("a"), f.FrozenBy("a"))
	}
}

func TestFeed_freezesAtTheThirdMisfitInARow(t *testing.T) {
	f := newFed(t)
	f.put("a", 0)
	misfit := func(want bool) {
		t.Helper()
		if err := f.apply("a", 8); !errors.Is(err, zoneview.ErrMisfit) || (f.FrozenBy("a") != nil) != want {
			t.Errorf("%v, frozen by %v", err, f.FrozenBy("a"))
		}
	}
	misfit(false)
	misfit(false)
	if err := f.apply("a", 1); err != nil {
		t.Error(err)
	}
	misfit(false)
	misfit(false)
	f.put("a", 1) // read anew: the next step has still to fit
	misfit(true)
	if f.at("a") != 1 {
		t.Errorf("the frozen zone is at %d", f.at("a"))
	}
}

func TestFeed_whatIsNotFinalIsReadAgainBeforeItIsFrozen(t *testing.T) {
	f := newFed(t)
	f.Expect("a")
	f.EndListing(t.Context(), nil)
	wrong := f.wrong("a", 1)
	wrong.Final = false
	if err := f.Base("a", wrong).Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.FrozenBy("a") != nil || f.synced() {
		t.Errorf("%v, frozen by %v, in sync: %t", err, f.FrozenBy("a"), f.synced())
	}
	f.Report(t.Context(), "a", errors.New("the server is away"), false)
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "one of them a: the server is away") {
		t.Error(err)
	}
	f.put("a", 1)
	if !f.synced() {
		t.Error(f.Check())
	}
}

// A step that does not fit to what has just been proven has the source read again: the zone is not frozen any more.
func TestFeed_aZoneThatIsProvenIsNotFrozenByWhatItWas(t *testing.T) {
	f := newFed(t)
	f.BeginListing(true)
	f.EndListing(t.Context(), map[string]error{})
	if err := f.Base("a", f.wrong("a", 1)).Run(t.Context()); err == nil || f.FrozenBy("a") == nil {
		t.Fatalf("%v, frozen by %v", err, f.FrozenBy("a"))
	}
	proof := f.Base("a", f.base("a", 1))
	if err := f.apply("a", 8); err != nil {
		t.Error(err)
	}
	if err := proof.Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.FrozenBy("a") != nil || f.at("a") != 1 {
		t.Errorf("%v, frozen by %v, at %d", err, f.FrozenBy("a"), f.at("a"))
	}
}

// A zone that was in, or frozen, or that came after the listing, does not keep the others waiting.
func TestFeed_onlyWhatTheListingHasIsWaitedFor(t *testing.T) {
	away := errors.New("the server is away")
	for what, fail := range map[string]func(f *fed){
		"was in": func(f *fed) {
			f.put("a", 1)
			f.Report(t.Context(), "a", nil, false)
			f.Report(t.Context(), "a", away, false)
		},
		"was frozen": func(f *fed) {
			f.Report(t.Context(), "a", zoneview.ErrMisfit, true)
			f.Report(t.Context(), "a", away, false)
		},
		"came later": func(f *fed) { f.Report(t.Context(), "b", away, false) },
		"came later and is being proven": func(f *fed) {
			wrong := f.wrong("b", 1)
			wrong.Final = false
			err := f.Base("b", wrong).Run(t.Context())
			f.Report(t.Context(), "b", err, false)
		},
	} {
		f := newFed(t)
		f.Expect("a")
		f.Expect("slow")
		f.EndListing(t.Context(), nil)
		fail(f)
		f.Report(t.Context(), "slow", nil, false)
		if strings.HasPrefix(what, "came later") {
			f.put("a", 1)
		}
		if !f.synced() {
			t.Errorf("%s: %v", what, f.Check())
		}
	}
}
