// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// mustWait requires that the creation of r is refused temporarily, with a delay for the retry.
func mustWait(t *testing.T, s *store.Server, r *v1alpha1.Record) {
	t.Helper()
	_, err := s.CreateRecord(t.Context(), r)
	if seconds, again := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !again || seconds < 1 {
		t.Errorf("%s at a name that moves: %v", r.Name, err)
	}
}

// While names move to another zone, no tenant can write there, whether the former zone is deleted or stays, and whether
// steps are batched or single. All records keep their names.
func TestLock_keepsNamesOfExistingRecords_S2_10(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		for _, n := range []int{1, 40} {
			t.Run(fmt.Sprintf("made=%v,records=%d", made, n), func(t *testing.T) {
				t.Parallel()
				st := store.New(t)
				s := st.Server()
				stop := s.Run()
				zone := func(name, fqdn string) *v1alpha1.Zone {
					a, b := store.Allow("a", "*"), store.Allow("b", "*")
					z := store.Zone("platform", name, fqdn, a, b, store.Allow("platform"))
					z.Spec.Delegations[2].Zones = []string{"*"}
					return z
				}
				store.Must(s.CreateZone(zone("org", "org.")))
				if !made {
					store.Must(s.CreateZone(zone("example", "example.org.")))
				}
				st.Settle()
				for i := range n {
					store.Must(s.CreateRecord(t.Context(), store.Record("a", fmt.Sprint("r", i), fmt.Sprintf("h%d.shop.example.org.", i), "A", "192.0.2.1")))
				}
				store.Must(s.CreateRecord(t.Context(), store.Record("a", "policy", "pay.example.org.", "CAA", `0 issue "ca.example"`)))
				st.Settle()
				stop()
				if made {
					store.Must(s.CreateZone(zone("example", "example.org.")))
				} else if err := s.DeleteZone("platform", "example"); err != nil {
					t.Fatal(err)
				}
				for _, r := range []*v1alpha1.Record{
					store.Record("b", "at", "pay.example.org.", "A", "192.0.2.66"),
					store.Record("b", "below", "x.pay.example.org.", "A", "192.0.2.66"),
					store.Record("b", "wild", "*.shop.example.org.", "A", "192.0.2.66"),
					store.Record("a", "mine", "pay.example.org.", "A", "192.0.2.1"),
				} {
					mustWait(t, s, r)
				}
				s.Run()
				st.Settle()
				for _, r := range s.ListRecords("a") {
					if r.Status.ZoneRef == nil {
						t.Errorf("%s: %s", r.Name, r.Status.Conditions[0].Message)
					}
				}
				st.MustBeClean()
			})
		}
	}
}

// After the unlock, others may write at the names. If a server stops during the move, the next server ends the lock.
func TestLock_endsBeforeWhatWaitsIsTried_S2_11(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var steps, holdAt atomic.Int64
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "cascade-step" && steps.Add(1) == holdAt.Load() {
				reached <- struct{}{}
				<-goOn
			}
		}
	})
	stop := s.Run()
	top := store.Zone("platform", "top", "example.org.", store.Allow("a", "*"), store.Allow("b", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})
	store.Must(s.CreateZone(top))
	store.Must(s.CreateZone(store.Zone("platform", "kid", "kid.example.org.", store.Allow("a", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("a", "stands", "www.kid.example.org.", "A", "192.0.2.1")))
	waits := store.Record("b", "waits", "api.kid.example.org.", "A", "192.0.2.2")
	waits.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "nowhere", Name: "none"}
	store.Must(s.CreateRecord(t.Context(), waits))
	st.Settle()
	steps.Store(0)
	holdAt.Store(1)
	must.Succeed(t, s.DeleteZone("platform", "kid"))
	<-reached // the step that moves www
	mustWait(t, s, store.Record("b", "early", "api.kid.example.org.", "TXT", "early"))
	mustWait(t, s, store.Record("b", "above", "_x.kid.example.org.", "TXT", "above"))
	holdAt.Store(2)
	goOn <- struct{}{}
	<-reached // the step that tries waiting objects
	if r := s.Record("a", "stands"); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "top" {
		t.Errorf("what stood has not come before what waits is tried: %+v", r.Status.ZoneRef)
	}
	if _, err := s.CreateRecord(t.Context(), store.Record("b", "early", "api.kid.example.org.", "TXT", "early")); err != nil {
		t.Errorf("the lock outlasts what stood: %v", err)
	}
	goOn <- struct{}{}
	st.Settle()

	store.Must(s.CreateZone(store.Zone("platform", "kid", "kid.example.org.", store.Allow("a", "*"), store.Allow("b", "*"))))
	st.Settle()
	steps.Store(0)
	holdAt.Store(1)
	must.Succeed(t, s.DeleteZone("platform", "kid"))
	<-reached
	go func() { goOn <- struct{}{} }()
	stop()
	next := st.Server()
	next.Run()
	st.Settle()
	store.Must(next.CreateRecord(t.Context(), store.Record("b", "late", "late.kid.example.org.", "A", "192.0.2.2")))
	st.MustBeClean()
}

// A zone is deleted, and then the zone above, to which its records move. The second cascade must move all of them, even
// if the first was interrupted.
func TestLock_coversWhatWasOnItsWayToAZoneThatGoes_S2_10(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var steps, holdAt atomic.Int64
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "cascade-step" && steps.Add(1) == holdAt.Load() {
				reached <- struct{}{}
				<-goOn
			}
		}
	})
	s.Run()
	for _, z := range []struct{ namespace, name, fqdn string }{
		{"platform", "top", "example.org."}, {"platform", "kid", "kid.example.org."}, {"team", "low", "low.kid.example.org."},
	} {
		store.Must(s.CreateZone(store.Zone(z.namespace, z.name, z.fqdn, store.Allow("a", "*"), store.Allow("b", "*"),
			v1alpha1.DelegationRule{Zones: []string{"*"}})))
	}
	const n = 20 // more than one step
	for i := range n {
		at := fmt.Sprintf("h%d.low.kid.example.org.", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("a", fmt.Sprint("r", i), at, "A", "192.0.2.1")))
	}
	st.Settle()
	steps.Store(0)
	holdAt.Store(2)
	must.Succeed(t, s.DeleteZone("team", "low"))
	<-reached // the step after the first 16 records
	must.Succeed(t, s.DeleteZone("platform", "kid"))
	waitUntil(t, "all records are in the zone above", func() bool {
		for _, r := range s.ListRecords("a") {
			if r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "top" {
				return false
			}
		}
		return true
	})
	for i := range n {
		r := store.Record("b", fmt.Sprint("thief", i), fmt.Sprintf("h%d.low.kid.example.org.", i), "A", "192.0.2.66")
		if _, err := s.CreateRecord(t.Context(), r); !apierrors.IsForbidden(err) && !apierrors.IsTooManyRequests(err) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	goOn <- struct{}{}
	st.Settle()
	st.MustBeClean()
}

func TestLock_endsWithoutItsWork_S2_10(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server()
	top := store.Zone("platform", "top", "example.org.", store.Allow("a", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})
	store.Must(s.CreateZone(top))
	store.Must(s.CreateZone(store.Zone("platform", "kid", "kid.example.org.", store.Allow("a", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("a", "www", "www.kid.example.org.", "A", "192.0.2.1")))
	must.Succeed(t, s.DeleteZone("platform", "kid"))
	mustWait(t, s, store.Record("a", "api", "api.kid.example.org.", "A", "192.0.2.1"))
	works := layout.Keys{Prefix: st.Prefix}.Room("outbox")
	must.Get(s.Ledger.Client().Delete(t.Context(), works, clientv3.WithPrefix()))(t)
	s.Run()
	waitUntil(t, "the names are unlocked", func() bool {
		_, err := s.CreateRecord(t.Context(), store.Record("a", "api", "api.kid.example.org.", "A", "192.0.2.1"))
		return err == nil
	})
}
