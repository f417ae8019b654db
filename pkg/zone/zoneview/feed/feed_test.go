// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/steps"
)

// fed is a Feed whose source and proofs the test controls.
type fed struct {
	*Feed
	t     *testing.T
	steps []content.Step
}

func newFed(t *testing.T) *fed {
	return &fed{Feed: New(zoneview.NewSet(zoneview.Config{}), 1), t: t, steps: steps.Make(t, 8)}
}

func (f *fed) makeBase(uid string, n int) UnprovenZone {
	snapshots := zoneview.NewSet(zoneview.Config{})
	must.Succeed(f.t, snapshots.Apply(uid, content.Transaction{Steps: f.steps[:n+1]}, zoneview.Zone{UID: uid, Namespace: "ns", Name: uid}))
	snapshot, _ := snapshots.ByUID(uid)
	return UnprovenZone{Snapshot: snapshot, Settled: true, FreezeOnFailure: true}
}

func (f *fed) makeWrongBase(uid string, n int) UnprovenZone {
	b := f.makeBase(uid, n)
	b.Hash = strings.Repeat("0", 64)
	return b
}

func (f *fed) putBase(uid string, n int) {
	f.t.Helper()
	must.Succeed(f.t, f.BeginProof(uid, f.makeBase(uid, n)).Run(f.t.Context()))
}

func (f *fed) applyStep(uid string, n int) error {
	return f.Feed.Apply(f.t.Context(), uid, content.Transaction{Steps: f.steps[n : n+1], Settled: true}, zoneview.Zone{})
}

// readSerial returns the settled serial of a zone in the Set, less 100, or -1 if there is none.
func (f *fed) readSerial(uid string) int {
	if snapshot, ok := f.set.Settled(uid); ok {
		return int(snapshot.Serial()) - 100
	}
	return -1
}

func (f *fed) isSynced() bool { return f.Check() == nil }

func TestFeed_isInSyncWhenAListingIsCompleteAndAllOfItIsInOrFrozen(t *testing.T) {
	f := newFed(t)
	f.BeginListing(true)
	f.putBase("a", 1)
	if f.isSynced() {
		t.Error("in sync before the listing has ended")
	}
	slow, damaged := f.BeginProof("b", f.makeBase("b", 1)), f.BeginProof("c", f.makeWrongBase("c", 1))
	f.EndListing(t.Context(), map[string]error{"ns/d": errors.New("not protobuf")})
	if err := f.Check(); err == nil || !strings.HasPrefix(err.Error(), "2 zones are not in yet, one of them ") {
		t.Errorf("while two proofs are in flight: %v", err)
	}
	if err := damaged.Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.isSynced() {
		t.Errorf("%v, in sync: %t", err, f.isSynced())
	}
	if err := slow.Run(t.Context()); err != nil || !f.isSynced() {
		t.Errorf("%v, in sync: %t", err, f.isSynced())
	}
	if frozen, failed := f.Counts(); frozen != 2 || failed != 2 || f.FrozenReason("c") == nil || f.FrozenReason("ns/d") == nil {
		t.Errorf("%d zones are frozen, %d proofs failed: %v", frozen, failed, f.FrozenZones())
	}
}

func TestFeed_staysInSyncWhileItLooksForFrozenZonesAlone(t *testing.T) {
	for what, test := range map[string]struct{ frozen, stay, want bool }{
		"frozen zones are looked for": {true, true, true}, "all is read anew": {true, false, false}, "no zone is frozen": {false, true, false},
	} {
		f := newFed(t)
		f.BeginListing(true)
		f.putBase("a", 1)
		f.EndListing(t.Context(), nil)
		if test.frozen {
			f.Report(t.Context(), "b", zoneview.ErrMisfit, true)
		}
		if f.BeginListing(test.stay); f.isSynced() != test.want {
			t.Errorf("%s: in sync is %t", what, f.isSynced())
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
	f.Fail(errors.New("the store is away")) // the first failure since the success
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Wait(ctx); !errors.Is(err, context.Canceled) || f.isSynced() {
		t.Errorf("%v, in sync: %t", err, f.isSynced())
	}
}

func TestFeed_changesDuringAProofWaitForIt(t *testing.T) {
	f := newFed(t)
	proof := f.BeginProof("a", f.makeBase("a", 1))
	for n := 2; n < 4; n++ {
		if err := f.applyStep("a", n); err != nil || f.readSerial("a") != -1 {
			t.Errorf("step %d: %v, the zone is at %d", n, err, f.readSerial("a"))
		}
	}
	if err := proof.Run(t.Context()); err != nil || f.readSerial("a") != 3 {
		t.Errorf("%v, the zone is at %d", err, f.readSerial("a"))
	}
	// A second proof of a zone that is in the Set delays no step.
	again := f.BeginProof("a", f.makeBase("a", 3))
	if err := f.applyStep("a", 4); err != nil || f.readSerial("a") != 4 {
		t.Errorf("%v, the zone is at %d", err, f.readSerial("a"))
	}
	if err := again.Run(t.Context()); err != nil || f.readSerial("a") != 4 {
		t.Errorf("%v, the zone is at %d", err, f.readSerial("a"))
	}
}

func TestFeed_aProofThatWasOvertakenDoesNothing(t *testing.T) {
	for what, overtake := range map[string]func(f *fed){
		"removed":   func(f *fed) { f.RemoveUnless("a", "") },
		"gone":      func(f *fed) { _ = f.Feed.Apply(t.Context(), "a", content.Transaction{Gone: true}, zoneview.Zone{}) },
		"relisted":  func(f *fed) { f.BeginListing(false) },
		"read anew": func(f *fed) { f.BeginProof("a", f.makeBase("a", 2)) },
		"frozen":    func(f *fed) { f.Report(t.Context(), "a", zoneview.ErrMisfit, true) },
	} {
		f := newFed(t)
		proof := f.BeginProof("a", f.makeBase("a", 1))
		overtake(f)
		proof.unproven.Snapshot = nil // fails if proven
		frozen := f.FrozenReason("a")
		if err := proof.Run(t.Context()); err != nil || f.readSerial("a") != -1 || f.FrozenReason("a") != frozen {
			t.Errorf("%s: %v, the zone is at %d, frozen by %v", what, err, f.readSerial("a"), f.FrozenReason("a"))
		}
	}
	f := newFed(t)
	proof := f.BeginProof("a", f.makeBase("a", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proof.Run(ctx); !errors.Is(err, context.Canceled) || f.readSerial("a") != -1 || f.zones["a"].proof != nil {
		t.Errorf("%v, the zone is at %d, its content held: %t", err, f.readSerial("a"), f.zones["a"].proof != nil)
	}
	if err := f.Feed.Apply(ctx, "a", content.Transaction{Steps: f.steps[2:3]}, zoneview.Zone{}); !errors.Is(err, context.Canceled) || f.zones["a"].misfits > 0 {
		t.Errorf("after the end: %v, %d misfits", err, f.zones["a"].misfits)
	}
}

func TestFeed_aFrozenZoneStaysAsItWasProvenUntilItIsProvenAgain(t *testing.T) {
	f := newFed(t)
	f.putBase("a", 2)
	if err := f.BeginProof("a", f.makeWrongBase("a", 3)).Run(t.Context()); err == nil || f.FrozenReason("a") == nil {
		t.Fatalf("%v, frozen by %v", err, f.FrozenReason("a"))
	}
	for _, n := range []int{3, 5} { // a step that fits, and another with a gap
		if err := f.applyStep("a", n); err != nil || f.readSerial("a") != 2 {
			t.Errorf("step %d of a frozen zone: %v, it is at %d", n, err, f.readSerial("a"))
		}
	}
	// The repair may restore an earlier state, and steps may arrive during the proof.
	proof := f.BeginProof("a", f.makeBase("a", 2))
	if err := f.applyStep("a", 3); err != nil || f.readSerial("a") != 2 || f.FrozenReason("a") == nil {
		t.Errorf("%v, the zone is at %d, frozen by %v", err, f.readSerial("a"), f.FrozenReason("a"))
	}
	if err := proof.Run(t.Context()); err != nil || f.readSerial("a") != 3 || f.FrozenReason("a") != nil {
		t.Errorf("%v, the zone is at %d, frozen by %v", err, f.readSerial("a"), f.FrozenReason("a"))
	}
}

func TestFeed_freezesAtTheThirdMisfitInARow(t *testing.T) {
	f := newFed(t)
	f.putBase("a", 0)
	misfit := func(want bool) {
		t.Helper()
		if err := f.applyStep("a", 8); !errors.Is(err, zoneview.ErrMisfit) || (f.FrozenReason("a") != nil) != want {
			t.Errorf("%v, frozen by %v", err, f.FrozenReason("a"))
		}
	}
	misfit(false)
	misfit(false)
	if err := f.applyStep("a", 1); err != nil {
		t.Error(err)
	}
	misfit(false)
	misfit(false)
	f.putBase("a", 1) // the base is read again, but no step has fitted yet
	misfit(true)
	if f.readSerial("a") != 1 {
		t.Errorf("the frozen zone is at %d", f.readSerial("a"))
	}
}

func TestFeed_whatIsNotFinalIsReadAgainBeforeItIsFrozen(t *testing.T) {
	f := newFed(t)
	f.Expect("a")
	f.EndListing(t.Context(), nil)
	wrong := f.makeWrongBase("a", 1)
	wrong.FreezeOnFailure = false
	if err := f.BeginProof("a", wrong).Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.FrozenReason("a") != nil || f.isSynced() {
		t.Errorf("%v, frozen by %v, in sync: %t", err, f.FrozenReason("a"), f.isSynced())
	}
	f.Report(t.Context(), "a", errors.New("the server is away"), false)
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "one of them a: the server is away") {
		t.Error(err)
	}
	f.putBase("a", 1)
	if !f.isSynced() {
		t.Error(f.Check())
	}
}

// A step that does not fit right after a proof restarts the source, but does not freeze the zone.
func TestFeed_aZoneThatIsProvenIsNotFrozenByWhatItWas(t *testing.T) {
	f := newFed(t)
	f.BeginListing(true)
	f.EndListing(t.Context(), map[string]error{})
	if err := f.BeginProof("a", f.makeWrongBase("a", 1)).Run(t.Context()); err == nil || f.FrozenReason("a") == nil {
		t.Fatalf("%v, frozen by %v", err, f.FrozenReason("a"))
	}
	proof := f.BeginProof("a", f.makeBase("a", 1))
	if err := f.applyStep("a", 8); err != nil {
		t.Error(err)
	}
	if err := proof.Run(t.Context()); !errors.Is(err, zoneview.ErrMisfit) || f.FrozenReason("a") != nil || f.readSerial("a") != 1 {
		t.Errorf("%v, frozen by %v, at %d", err, f.FrozenReason("a"), f.readSerial("a"))
	}
}

// A feed is in sync when all zones of the first listing are loaded. It does not wait for a zone that is already loaded,
// is frozen, or was created after the listing, even if that zone fails.
func TestFeed_onlyWhatTheListingHasIsWaitedFor(t *testing.T) {
	away := errors.New("the server is away")
	for what, fail := range map[string]func(f *fed){
		"was in": func(f *fed) {
			f.putBase("a", 1)
			f.Report(t.Context(), "a", nil, false)
			f.Report(t.Context(), "a", away, false)
		},
		"was frozen": func(f *fed) {
			f.Report(t.Context(), "a", zoneview.ErrMisfit, true)
			f.Report(t.Context(), "a", away, false)
		},
		"came later": func(f *fed) { f.Report(t.Context(), "b", away, false) },
		"came later and is being proven": func(f *fed) {
			wrong := f.makeWrongBase("b", 1)
			wrong.FreezeOnFailure = false
			err := f.BeginProof("b", wrong).Run(t.Context())
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
			f.putBase("a", 1)
		}
		if !f.isSynced() {
			t.Errorf("%s: %v", what, f.Check())
		}
	}
}
