// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// together is a server whose next writes, of one zone each, share a transaction because all places are taken. A slow
// etcd has more places.
type together struct {
	t       *testing.T
	st      *store.Store
	s       *store.Server
	gate    *gate
	faults  *faults
	places  int
	least   int // batches to park; 0: more than twice the number of places
	answers []chan error
}

const togetherZones = 50

func zoneOf(i int) string { return fmt.Sprint("z", i) }

func newTogether(t *testing.T, rules ...v1alpha1.DelegationRule) *together {
	x := &together{t: t, st: store.New(t), gate: &gate{}, faults: &faults{}}
	x.s = x.st.Server(stopClock, x.faults.injectFaults, func(c *ledger.Config) {
		before := c.OnFault
		c.OnFault = func(point string) {
			x.gate.passPoint(point)
			before(point)
		}
	})
	for i := range togetherZones {
		store.Must(x.s.CreateZone(store.Zone("infra", zoneOf(i), zoneOf(i)+".example.", append(rules, store.Allow("", "*", "@"))...)))
	}
	return x
}

func (x *together) startCreate(i int) {
	answer := make(chan error, 1)
	x.answers = append(x.answers, answer)
	go func() {
		_, err := x.s.CreateRecord(context.Background(), store.Record("team", "r"+zoneOf(i), "r."+zoneOf(i)+".example.", "A", "192.0.2.1"))
		answer <- err
	}()
}

// park fills all places, and makes the writes of more than twice as many zones wait.
func (x *together) park() {
	x.gate.holdAt("before-commit")
	for len(x.answers) == 0 || x.s.Ledger.Parked() < max(2*x.places+2, x.least) {
		if len(x.answers) == togetherZones {
			x.t.Fatalf("%d places", x.places)
		}
		x.startCreate(len(x.answers))
		store.Eventually(x.t, "a batch has a place or is parked", func() bool {
			x.places = len(x.gate.reached)
			return x.places+x.s.Ledger.Parked() == len(x.answers)
		})
	}
}

func (x *together) release() (errs []error) {
	x.gate.holdAt("nowhere")
	for _, a := range x.answers {
		errs = append(errs, <-a)
	}
	return errs
}

// Batches of many zones share a transaction, and each object gets a version of its own. The cache has these versions:
// the next write of each zone needs one transaction, and none fails.
func TestTogether_isOneTransaction(t *testing.T) {
	t.Parallel()
	x := newTogether(t)
	before := x.s.Ledger.Stats().Transactions.Load()
	x.park()
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	// Each place that becomes free takes all parked batches.
	if sent := x.s.Ledger.Stats().Transactions.Load() - before; sent > 2*int64(x.places) {
		t.Errorf("%d transactions for %d batches at %d places, want two for each place at most", sent, len(x.answers), x.places)
	}
	versions := map[string]bool{}
	for _, r := range x.s.ListRecords("team") {
		versions[r.ResourceVersion] = true
	}
	for i := range x.answers {
		versions["zone "+x.s.Zone("infra", zoneOf(i)).ResourceVersion] = true
	}
	if len(versions) != 2*len(x.answers) {
		t.Errorf("%d objects have %d versions", 2*len(x.answers), len(versions))
	}
	before, lost := x.s.Ledger.Stats().Transactions.Load(), x.s.Ledger.Stats().Conflicts.Load()
	for i := range x.answers {
		store.Must(x.s.UpdateRecord(t.Context(), "team", "r"+zoneOf(i), func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	}
	sent, lost := x.s.Ledger.Stats().Transactions.Load()-before, x.s.Ledger.Stats().Conflicts.Load()-lost
	if sent != int64(len(x.answers)) || lost != 0 {
		t.Errorf("%d transactions for the next write of each of %d zones, %d lost", sent, len(x.answers), lost)
	}
	x.st.MustBeClean()
}

// A transaction shared by batches of several zones counts the octets of the Zones too. Otherwise etcd would refuse the
// transaction as too long, and each batch would commit alone.
func TestTogether_fitsWithItsZones(t *testing.T) {
	t.Parallel()
	var rules []v1alpha1.DelegationRule
	for i := range 900 { // about 75 KiB
		rules = append(rules, store.Allow(fmt.Sprintf("namespace-%050d", i), fmt.Sprint("pattern-", i)))
	}
	x := newTogether(t, rules...)
	x.least = 28 // their Zones alone exceed etcd's limit
	x.park()
	before := x.s.Ledger.Stats().Transactions.Load()
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if sent := x.s.Ledger.Stats().Transactions.Load() - before; sent > int64(len(x.answers)-x.least/2) {
		t.Errorf("%d transactions for %d batches at %d places", sent, len(x.answers), x.places)
	}
	x.st.MustBeClean()
}

// If another server has changed one of the zones of a shared transaction, the compares fail. Each batch then commits
// alone, and every write succeeds.
func TestTogether_failsForNoOther(t *testing.T) {
	t.Parallel()
	x := newTogether(t)
	x.park()
	other := store.Record("team", "other", "other."+zoneOf(x.places+3)+".example.", "A", "192.0.2.9")
	store.Must(x.st.Server(stopClock).CreateRecord(t.Context(), other))
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if lost := x.s.Ledger.Stats().Conflicts.Load(); lost < 1 || lost > 2 { // the shared transaction, and perhaps that zone's own
		t.Errorf("%d transactions are lost, want one or two", lost)
	}
	x.st.MustBeClean()
}

// A panic in a shared transaction answers only the write whose batch had the place.
func TestTogether_goesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	x := newTogether(t)
	x.park()
	x.faults.setFaults(slices.Repeat([]string{"before-commit"}, x.places+1)...)
	failed := 0
	for i, err := range x.release() {
		switch {
		case apierrors.IsInternalError(err):
			failed++
		case err != nil:
			t.Errorf("the write of zone %d: %v", i, err)
		}
	}
	if failed != x.places+1 {
		t.Errorf("%d writes failed, want those whose batches had a place", failed)
	}
	for i := range x.answers {
		_, err := x.s.CreateRecord(t.Context(), store.Record("team", "next"+zoneOf(i), "next."+zoneOf(i)+".example.", "A", "192.0.2.1"))
		if err != nil {
			t.Errorf("the next write of zone %d: %v", i, err)
		}
	}
	x.st.MustBeClean()
}
