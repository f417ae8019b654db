// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/test/store"
)

// makeReady sets the condition Ready of a Record, and returns false if already set.
func makeReady(record *v1alpha1.Record) bool {
	return meta.SetStatusCondition(&record.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonDelivered})
}

func isReady(record *v1alpha1.Record) bool {
	return meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonDelivered
}

// The conditions of many Records are written in few transactions, without a new serial. A Record that changes between
// read and write keeps its change and its Ready, while the others are written. Absent Records are left out.
func TestChangeRecords_losesNoWrite_S6_13(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var meanwhile atomic.Pointer[func()]
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point != "confirm" {
				return
			}
			if do := meanwhile.Swap(nil); do != nil {
				(*do)()
			}
		}
	})
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	const n = 150
	names := []string{"absent"}
	for i := range n {
		at := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("infra", at, at+".example.org.", "A", "192.0.2.1")))
		names = append(names, at)
	}
	before := s.Zone("infra", "z")
	change := func() {
		store.Must(s.UpdateRecord(t.Context(), "infra", "r7", func(o *v1alpha1.Record) { o.Spec.RData = "192.0.2.9" }))
	}
	meanwhile.Store(&change)
	changed, err := s.Ledger.ChangeRecords(t.Context(), "infra", names, makeReady)
	if err != nil || changed != n-1 {
		t.Fatalf("%d changed, %v", changed, err)
	}
	for i := range n {
		record := s.Record("infra", fmt.Sprint("r", i))
		if want := i != 7; isReady(record) != want {
			t.Errorf("r%d is Ready: %v", i, !want)
		}
	}
	if at := s.Record("infra", "r7"); at.Spec.RData != "192.0.2.9" {
		t.Errorf("the change is lost: %v", at.Spec)
	}
	if after := s.Zone("infra", "z"); after.Status.ContentGeneration != before.Status.ContentGeneration+1 {
		t.Errorf("step %d after %d: conditions are no content", after.Status.ContentGeneration, before.Status.ContentGeneration)
	}
	if changed, err = s.Ledger.ChangeRecords(t.Context(), "infra", names, makeReady); err != nil || changed != 1 {
		t.Errorf("again: %d changed, %v", changed, err)
	}
	uid := string(before.UID)
	var all []law.Ref
	for from := ""; ; {
		page, next, err := s.Ledger.Members(t.Context(), uid, from, 40)
		if all = append(all, page...); err != nil || next == "" {
			break
		}
		from = next
	}
	if len(all) < n {
		t.Errorf("%d members of %d", len(all), n)
	}
	owner, _ := name.MustParse("r1.example.org.").Rel(name.MustParse("example.org."))
	if at, err := s.Ledger.MembersAt(t.Context(), uid, owner); err != nil || len(at) != 1 || at[0] != (law.Ref{Namespace: "infra", Name: "r1"}) {
		t.Errorf("at r1: %v, %v", at, err)
	}
	s.Run()
	st.Settle()
}

// A server that is killed before any of its transactions leaves each Record with its old conditions or its new ones,
// and the next server writes the rest.
func TestChangeRecords_interruptedAnywhereItGoesOn_S6_13(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	const n = 300 // in three transactions
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("r", i)
	}
	fillZone(t, s, n, func(i int) *v1alpha1.Record {
		return store.Record("infra", names[i], names[i]+".example.org.", "A", "192.0.2.1")
	})
	before, ready := s.Zone("infra", "z"), 0
	for killed := 0; ready < n; killed++ {
		if killed > 3 {
			t.Fatalf("%d Records are Ready after %d servers", ready, killed)
		}
		left := 2 // a transaction for each server
		doomed := st.Server(func(c *ledger.Config) {
			c.OnFault = func(point string) {
				if left--; point == "confirm" && left == 0 {
					runtime.Goexit()
				}
			}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = doomed.Ledger.ChangeRecords(t.Context(), "infra", names, makeReady)
		}()
		<-done
		now := 0
		for _, record := range s.ListRecords("infra") {
			if isReady(&record) {
				now++
			}
		}
		if now <= ready {
			t.Fatalf("%d Records are Ready after %d", now, ready)
		}
		ready = now
		if r := st.Fsck(); !r.Clean() {
			t.Fatal(store.Text(r))
		}
	}
	if after := s.Zone("infra", "z"); after.Status.Serial != before.Status.Serial {
		t.Errorf("serial %d after %d: conditions are no content", after.Status.Serial, before.Status.Serial)
	}
	s.Run()
	st.Settle()
}

// One of two servers is elected and runs the function. The other is elected when the first has stopped, and never runs
// beside it.
func TestRunElected_isOneServer(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	one, other := st.Server(), st.Server()
	var leading, most atomic.Int32
	begun := make(chan string, 2)
	elect := func(s *store.Server, of string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			_ = s.Ledger.RunElected(ctx, func(ctx context.Context) {
				most.Store(max(most.Load(), leading.Add(1)))
				begun <- of
				<-ctx.Done()
				leading.Add(-1)
			})
		})
		return func() { cancel(); ended.Wait() }
	}
	next := func(want string) {
		t.Helper()
		select {
		case of := <-begun:
			if of != want {
				t.Errorf("%s leads, want %s", of, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not lead", want)
		}
	}
	stopOne := elect(one, "one")
	next("one")
	stopOther := elect(other, "other")
	defer stopOther()
	stopOne()
	next("other")
	if most.Load() != 1 {
		t.Errorf("%d led at once", most.Load())
	}
}

// A cause is written into a Zone without a new serial, unless the Zone has changed meanwhile. A write of content keeps
// the known cause of a Zone or Record, but no other reason.
func TestChangeZone_writesACause_S7_12(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var meanwhile atomic.Pointer[func()]
	s := st.Server(func(c *ledger.Config) {
		c.HasDefaultClass = func(string, string) bool { return true }
		c.OnFault = func(point string) {
			if do := meanwhile.Load(); point == "confirm" && do != nil && meanwhile.CompareAndSwap(do, nil) {
				(*do)()
			}
		}
	})
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("infra", "www", "www.example.org.", "A", "192.0.2.1")))
	name := func(reason string) func(*[]metav1.Condition) bool {
		return func(conditions *[]metav1.Condition) bool {
			return meta.SetStatusCondition(conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown,
				Reason: reason, Message: "since noon"})
		}
	}
	changeZone := func(reason string) bool {
		t.Helper()
		changed, err := s.Ledger.ChangeZone(t.Context(), "infra", "z", func(zone *v1alpha1.Zone) bool {
			return name(reason)(&zone.Status.Conditions)
		})
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	expect := func(want string, conditions []metav1.Condition, generation int64) {
		t.Helper()
		if of := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); of.Reason != want || of.ObservedGeneration > generation {
			t.Errorf("%+v, want %s", of, want)
		}
	}
	before := s.Zone("infra", "z")
	expect(v1alpha1.ReasonPending, before.Status.Conditions, before.Generation)
	change := func() {
		store.Must(s.UpdateRecord(t.Context(), "infra", "www", func(o *v1alpha1.Record) { o.Spec.RData = "192.0.2.9" }))
	}
	meanwhile.Store(&change)
	if changeZone(v1alpha1.ReasonNoController) {
		t.Error("a Zone that changed meanwhile is written")
	}
	serial := s.Zone("infra", "z").Status.Serial
	if !changeZone(v1alpha1.ReasonNoController) || changeZone(v1alpha1.ReasonNoController) {
		t.Error("a Zone is written once for a reason")
	}
	if now := s.Zone("infra", "z"); now.Status.Serial != serial || serial == before.Status.Serial {
		t.Errorf("serial %d after %d", now.Status.Serial, serial)
	}
	if n, err := s.Ledger.ChangeRecords(t.Context(), "infra", []string{"www"}, func(record *v1alpha1.Record) bool {
		return name(v1alpha1.ReasonNoController)(&record.Status.Conditions)
	}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	change = func() {
		store.Must(s.UpdateRecord(t.Context(), "infra", "www", func(o *v1alpha1.Record) { o.Spec.RData = "192.0.2.10" }))
	}
	change()
	zone, record := s.Zone("infra", "z"), s.Record("infra", "www")
	expect(v1alpha1.ReasonNoController, zone.Status.Conditions, zone.Generation)
	expect(v1alpha1.ReasonNoController, record.Status.Conditions, record.Generation)
	if of := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady); of.ObservedGeneration != record.Generation {
		t.Errorf("observed generation %d of %d", of.ObservedGeneration, record.Generation)
	}
	if zone.Status.Serial == serial {
		t.Error("the content write has no serial")
	}
	if n, err := s.Ledger.ChangeRecords(t.Context(), "infra", []string{"www"}, makeReady); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	change()
	store.Must(s.UpdateRecord(t.Context(), "infra", "www", func(o *v1alpha1.Record) { o.Spec.RData = "192.0.2.11" }))
	record = s.Record("infra", "www")
	expect(v1alpha1.ReasonPending, record.Status.Conditions, record.Generation)
	s.Run()
	st.Settle()
}

// S6.11: a zone's serial is raised past that of a secondary once a day, without other content, and not if the zone is
// gone. The history names the cause.
func TestRaiseSerial_S6_11(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	zone := store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	ref := law.Ref{Namespace: "infra", Name: "z", UID: string(zone.UID)}
	before := s.Zone("infra", "z")
	past := serial.Serial(before.Status.Serial + 5)
	raise := func(ref law.Ref, past zones.Ahead, want bool) {
		t.Helper()
		if raised := store.Must(s.Ledger.RaiseSerial(t.Context(), ref, past)); raised != want {
			t.Errorf("past %+v: raised %v", past, raised)
		}
	}
	raise(law.Ref{Namespace: "infra", Name: "z", UID: "another"}, zones.Ahead{Serial: past}, false)
	raise(ref, zones.Ahead{Serial: past}, true)
	after := s.Zone("infra", "z")
	if after.Status.Serial != int64(past)+1 || after.Status.Hash != before.Status.Hash {
		t.Errorf("serial %d and hash %s after %d and %s", after.Status.Serial, after.Status.Hash, past, before.Status.Hash)
	}
	ready := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason == v1alpha1.ReasonDelivered {
		t.Errorf("Ready of the raised zone: %+v", ready)
	}
	raise(ref, zones.Ahead{Serial: past + 5}, false)
	raise(ref, zones.Ahead{Serial: past}, false)
	answer := store.Must(s.Ledger.ZoneHistory(t.Context(), after, history.Ask{Limit: 1, Since: func(*history.Item) bool { return true }}))
	if len(answer.Items) != 1 || answer.Items[0].Step.Cause != "a secondary transfers the zone only at a later serial" {
		t.Errorf("the history has %+v", answer.Items)
	}
}
