// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// makeReady sets Ready of a Record; false if it is there.
func makeReady(record *v1alpha1.Record) bool {
	return meta.SetStatusCondition(&record.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonDelivered})
}

func isReady(record *v1alpha1.Record) bool {
	return meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonDelivered
}

// Conditions change many Records in few transactions, without a new serial. A Record that changes between read and
// write keeps its change and its Ready, and the others are written; absent ones are left out.
func TestChangeRecords_losesNoWrite_S6_13(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var meanwhile atomic.Pointer[func()]
	s := st.Server(func(c *ledger.Config) {
		c.Fault = func(point string) {
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

// Of two servers one leads, and the other when the first has stopped.
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
