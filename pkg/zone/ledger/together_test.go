// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

// together is a server whose next writes, of one zone each, share a transaction because another is in flight.
type together struct {
	t       *testing.T
	st      *store.Store
	s       *store.Server
	gate    *gate
	faults  *faults
	least   int // batches to park
	answers []chan error
}

const togetherZones = 50

func zoneOf(i int) string { return fmt.Sprint("z", i) }

func newTogether(t *testing.T, rules ...v1alpha1.DelegationRule) *together {
	x := &together{t: t, st: store.New(t), gate: &gate{}, faults: &faults{}, least: 4}
	x.s = x.st.Server(stopClock, ledger.SlowCommit(time.Hour), x.faults.injectFaults, func(c *ledger.Config) {
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

// park holds a transaction, and makes the writes of further zones wait.
func (x *together) park() {
	x.gate.holdAt("before-commit")
	x.startCreate(0)
	<-x.gate.reached
	for i := range x.least {
		x.startCreate(i + 1)
		store.Eventually(x.t, "the batch is parked", func() bool { return x.s.Ledger.Parked() == i+1 })
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
	if sent := x.s.Ledger.Stats().Transactions.Load() - before; sent != 2 {
		t.Errorf("%d transactions for the first batch and %d parked ones, want 2", sent, len(x.answers)-1)
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
		t.Errorf("%d transactions for %d batches", sent, len(x.answers))
	}
	x.st.MustBeClean()
}

// If another server has changed one of the zones of a shared transaction, the compares fail. Each batch then commits
// alone, and every write succeeds.
func TestTogether_failsForNoOther(t *testing.T) {
	t.Parallel()
	x := newTogether(t)
	x.park()
	other := store.Record("team", "other", "other."+zoneOf(3)+".example.", "A", "192.0.2.9")
	store.Must(x.st.Server(stopClock).CreateRecord(t.Context(), other))
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if lost := x.s.Ledger.Stats().Conflicts.Load(); lost < 1 || lost > 2 { // the shared transaction, and perhaps that zone's own
		t.Errorf("%d transactions are lost, want one or two", lost)
	}
	x.st.MustBeClean()
}

// Transactions that hang delay the writes of other zones by the time of a slow commit. If all places hang, the writes
// wait until any of them ends.
func TestTogether_goesOnBesideHangingTransactions(t *testing.T) {
	t.Parallel()
	const places = 8
	var held atomic.Int64
	reached, hanging := make(chan struct{}, places), make(chan struct{})
	release := sync.OnceFunc(func() { close(hanging) })
	defer release()
	x := &together{t: t, s: store.New(t).Server(stopClock, func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "before-commit" && held.Add(-1) >= 0 {
				reached <- struct{}{}
				<-hanging
			}
		}
	})}
	for i := range places + 2 {
		store.Must(x.s.CreateZone(store.Zone("infra", zoneOf(i), zoneOf(i)+".example.", store.Allow("", "*", "@"))))
	}
	held.Store(places)
	for i := range places - 1 {
		x.startCreate(i)
		<-reached
	}
	held.Store(0)
	x.startCreate(places - 1)
	if err := <-x.answers[places-1]; err != nil {
		t.Errorf("beside %d that hang: %v", places-1, err)
	}
	held.Store(1)
	x.startCreate(places)
	<-reached
	x.startCreate(places + 1)
	store.Eventually(t, "the batch is parked", func() bool { return x.s.Ledger.Parked() == 1 })
	hanging <- struct{}{}
	if err := <-x.answers[places+1]; err != nil {
		t.Errorf("after one of %d that hang: %v", places, err)
	}
	release()
	for _, a := range append(x.answers[:places-1:places-1], x.answers[places]) {
		if err := <-a; err != nil {
			t.Error(err)
		}
	}
}

// A panic in a shared transaction answers only the write whose batch had the place.
func TestTogether_goesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	x := newTogether(t)
	x.park()
	x.faults.setFaults("before-commit", "before-commit")
	failed := 0
	for i, err := range x.release() {
		switch {
		case apierrors.IsInternalError(err):
			failed++
		case err != nil:
			t.Errorf("the write of zone %d: %v", i, err)
		}
	}
	if failed != 2 {
		t.Errorf("%d writes failed, want the two whose batches had the place", failed)
	}
	for i := range x.answers {
		_, err := x.s.CreateRecord(t.Context(), store.Record("team", "next"+zoneOf(i), "next."+zoneOf(i)+".example.", "A", "192.0.2.1"))
		if err != nil {
			t.Errorf("the next write of zone %d: %v", i, err)
		}
	}
	x.st.MustBeClean()
}
