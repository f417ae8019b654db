// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// together is a server whose next writes, each of a zone of its own, share a transaction: both places are taken.
type together struct {
	t       *testing.T
	st      *store.Store
	s       *store.Server
	gate    *gate
	faults  *faults
	zones   int
	answers []chan error
}

func zoneOf(i int) string { return fmt.Sprint("z", i) }

func newTogether(t *testing.T, zones int) *together {
	x := &together{t: t, st: store.New(t), zones: zones, gate: &gate{}, faults: &faults{}}
	x.s = x.st.Server(stopClock, x.faults.injectFaults, func(c *ledger.Config) {
		before := c.Fault
		c.Fault = func(point string) {
			x.gate.passPoint(point)
			before(point)
		}
	})
	for i := range zones {
		store.Must(x.s.CreateZone(store.Zone("infra", zoneOf(i), zoneOf(i)+".example.", store.Allow("", "*", "@"))))
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

// park has two writes take the places, and those of the other zones wait for one.
func (x *together) park() {
	x.gate.holdAt("before-commit")
	for i := range 2 {
		x.startCreate(i)
		<-x.gate.reached
	}
	for i := 2; i < x.zones; i++ {
		x.startCreate(i)
		store.Eventually(x.t, "a batch is parked", func() bool { return x.s.Ledger.Parked() == i-1 })
	}
}

// release lets all go on, and returns the answers.
func (x *together) release() (errs []error) {
	x.gate.holdAt("nowhere")
	for _, a := range x.answers {
		errs = append(errs, <-a)
	}
	return errs
}

// Batches of several zones that wait for a place go into one transaction; each object has a version of its own, and
// memory knows it: the next write of each zone needs one transaction.
func TestTogether_isOneTransaction(t *testing.T) {
	t.Parallel()
	x := newTogether(t, 8)
	before := x.s.Ledger.Stats().Transactions.Load()
	x.park()
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if sent := x.s.Ledger.Stats().Transactions.Load() - before; sent > 4 { // two of one zone, and one or two of the others
		t.Errorf("%d transactions for eight writes, want four at most", sent)
	}
	versions := map[string]bool{}
	for _, r := range x.s.ListRecords("team") {
		versions[r.ResourceVersion] = true
	}
	for i := range 8 {
		versions["zone "+x.s.Zone("infra", zoneOf(i)).ResourceVersion] = true
	}
	if len(versions) != 16 {
		t.Errorf("16 objects have %d versions", len(versions))
	}
	before, lost := x.s.Ledger.Stats().Transactions.Load(), x.s.Ledger.Stats().Conflicts.Load()
	for i := range 8 {
		store.Must(x.s.UpdateRecord(t.Context(), "team", "r"+zoneOf(i), func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	}
	if sent := x.s.Ledger.Stats().Transactions.Load() - before; sent != 8 || x.s.Ledger.Stats().Conflicts.Load() != lost {
		t.Errorf("%d transactions for the next eight writes, %d lost", sent, x.s.Ledger.Stats().Conflicts.Load()-lost)
	}
	x.st.MustBeClean()
}

// Where the zone of one has moved the transaction fails, and each batch commits by itself.
func TestTogether_failsForNoOther(t *testing.T) {
	t.Parallel()
	x := newTogether(t, 8)
	x.park()
	store.Must(x.st.Server(stopClock).CreateRecord(t.Context(), store.Record("team", "other", "other.z7.example.", "A", "192.0.2.9")))
	if errs := x.release(); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if lost := x.s.Ledger.Stats().Conflicts.Load(); lost < 1 || lost > 2 { // the shared one, and perhaps that of z7 by itself
		t.Errorf("%d transactions are lost, want one or two", lost)
	}
	x.st.MustBeClean()
}

// A panic where the transaction is sent is the answer to the write whose batch has the place. The others go on.
func TestTogether_goesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	x := newTogether(t, 8)
	x.park()
	x.faults.setFaults("before-commit", "before-commit", "before-commit") // of three transactions
	failed := 0
	for i, err := range x.release() {
		switch {
		case apierrors.IsInternalError(err):
			failed++
		case err != nil:
			t.Errorf("the write of zone %d: %v", i, err)
		}
	}
	if failed != 3 {
		t.Errorf("%d writes failed, want those whose batches had a place", failed)
	}
	for i := range 8 {
		_, err := x.s.CreateRecord(t.Context(), store.Record("team", "next"+zoneOf(i), "next."+zoneOf(i)+".example.", "A", "192.0.2.1"))
		if err != nil {
			t.Errorf("the next write of zone %d: %v", i, err)
		}
	}
	x.st.MustBeClean()
}
