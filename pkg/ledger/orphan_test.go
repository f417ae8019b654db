// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"sync/atomic"
	"testing"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// held stops the next write of a server at a fault point, once armed.
type held struct {
	point   string
	armed   atomic.Bool
	reached chan struct{}
	goOn    chan struct{}
}

func holdAt(point string) *held {
	return &held{point: point, reached: make(chan struct{}), goOn: make(chan struct{})}
}

func (h *held) fault(point string) {
	if point == h.point && h.armed.CompareAndSwap(true, false) {
		close(h.reached)
		<-h.goOn
	}
}

// A record finds no zone; before it commits a zone is made and has looked for
// what waits. The record must not wait for ever (S2.3).
func testOrphanRace(t *testing.T, record *v1alpha1.Record, zone *v1alpha1.Zone, change ...func(*ledger.Config)) (*store.Store, *v1alpha1.Record) {
	st := store.New(t)
	st.Damaged = len(change) > 0
	hold := holdAt("before-commit")
	writer := st.Server(append(change, func(c *ledger.Config) { c.Fault = hold.fault })...)
	maker := st.Server()
	stop := maker.Run()
	hold.armed.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := writer.CreateRecord(writer.Ctx, record)
		done <- err
	}()
	<-hold.reached
	store.Must(maker.CreateZone(zone))
	store.Eventually(t, "the new zone's cascade is through", func() bool {
		z := maker.Zone(zone.Namespace, zone.Name)
		return z.Status.SettledSerial == z.Status.Serial
	})
	close(hold.goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !st.Damaged {
		st.Settle()
	}
	stop()
	return st, maker.Record(record.Namespace, record.Name)
}

func TestRace_orphanMeetsItsNewZone_S2_3(t *testing.T) {
	t.Parallel()
	byName := store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")
	if _, r := testOrphanRace(t, byName, store.Zone("infra", "example", "example.org.", store.Allow("", "*"))); r.Status.ZoneRef == nil {
		t.Errorf("by name: %+v", r.Status)
	}
	byRef := store.Record("team-a", "www", "www", "A", "192.0.2.1")
	byRef.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "example", Namespace: "infra"}
	if _, r := testOrphanRace(t, byRef, store.Zone("infra", "example", "example.org.", store.Allow("", "*"))); r.Status.ZoneRef == nil {
		t.Errorf("by reference: %+v", r.Status)
	}
}

// A longer zone comes between a record's decision and its commit (S2.1).
func TestRace_recordMeetsALongerZone_S2_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	hold := holdAt("before-commit")
	writer, maker := st.Server(func(c *ledger.Config) { c.Fault = hold.fault }), st.Server()
	maker.Run()
	store.Must(maker.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	st.Settle()
	hold.armed.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := writer.CreateRecord(writer.Ctx, store.Record("team-a", "www", "www.dev.example.org.", "A", "192.0.2.1"))
		done <- err
	}()
	<-hold.reached
	store.Must(maker.CreateZone(store.Zone("team-b", "dev", "dev.example.org.", store.Allow("", "*"))))
	st.Settle()
	close(hold.goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := maker.Record("team-a", "www"); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "dev" {
		t.Errorf("in %+v, want the longer zone", r.Status.ZoneRef)
	}
}

// The control: what saves the orphan is the compare that its zone's name is
// still absent.
func TestRace_withoutTheCompareOfNamesAnOrphanIsLost(t *testing.T) {
	t.Parallel()
	st, r := testOrphanRace(t, store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1"),
		store.Zone("infra", "example", "example.org.", store.Allow("", "*")), ledger.DropGuards("facts"))
	if r.Status.ZoneRef != nil {
		t.Fatalf("adopted without the compare: the test does not show what it should")
	}
	report := st.Fsck()
	for _, f := range report.Damage.List {
		if f.Rule == "S2.3" {
			return
		}
	}
	t.Errorf("an orphan that a zone would take, and fsck says: %s", store.Text(report))
}
