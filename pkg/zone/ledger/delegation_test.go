// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func describeAccepted(d *v1alpha1.Delegation) string {
	c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionAccepted)
	if c == nil {
		return "nothing"
	}
	return string(c.Status) + " " + c.Reason
}

// A Delegation's status.records counts the Records of its namespaces in the zone, after creations, deletions, and
// cascades that release Records and adopt them again.
func TestDelegation_countsWhatComesAndGoes_S4_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(ledger.UsageEvery(10 * time.Millisecond))
	s.Run()
	ctx := withDeadline(t)
	for _, zone := range []string{"here", "there"} {
		store.Must(s.CreateZone(store.Zone("infra", zone, zone+".test.")))
		store.Must(s.CreateDelegation(store.Delegation("infra", zone, zone, []string{"a", "b"}, "*")))
	}
	count := func(what string, here, there int64) {
		t.Helper()
		store.Eventually(t, what, func() bool {
			return s.Delegation("infra", "here").Status.Records == here && s.Delegation("infra", "there").Status.Records == there
		})
	}
	store.Must(s.CreateRecord(ctx, store.Record("a", "one", "one.here.test.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(ctx, store.Record("b", "two", "two.here.test.", "A", "192.0.2.1")))
	count("two are here", 2, 0)
	must.Succeed(t, s.DeleteRecord(ctx, "b", "two"))
	store.Must(s.CreateRecord(ctx, store.Record("b", "two", "two.there.test.", "A", "192.0.2.1")))
	count("one is made anew", 1, 1)
	store.Must(s.UpdateDelegation("infra", "there", func(d *v1alpha1.Delegation) { d.Spec.Namespaces = []string{"c"} }))
	st.Settle()
	count("it is released", 1, 0)
	store.Must(s.UpdateDelegation("infra", "there", func(d *v1alpha1.Delegation) { d.Spec.Namespaces = []string{"b"} }))
	count("it is taken in", 1, 1)
	must.Succeed(t, s.DeleteRecord(ctx, "a", "one"))
	count("one is deleted", 0, 1)
}

// When a tenant's Delegation is deleted, a cascade releases the tenant's Records. Meanwhile the zone stays settled, so
// that other tenants' writes reach the name servers at once.
func TestDelegation_holdsUpNoDelivery_S7_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("b", "*.b"))))
	n := scaleTo(1000, 100)
	for round := range 2 {
		store.Must(s.CreateDelegation(store.Delegation("infra", "team-a", "example", []string{"a"}, "*.a")))
		for i := range n {
			if round == 0 {
				store.Must(s.CreateRecord(ctx, store.Record("a", fmt.Sprint("r", i), fmt.Sprintf("r%d.a.example.org.", i), "A", "192.0.2.1")))
			}
		}
		st.Settle()
		must.Succeed(t, s.DeleteDelegation("infra", "team-a"))
		between := 0
		for i := 0; ; i++ {
			r := store.Must(s.CreateRecord(ctx, store.Record("b", fmt.Sprintf("w%d-%d", round, i), fmt.Sprintf("w%d-%d.b.example.org.", round, i), "A", "192.0.2.1")))
			z := s.Zone("infra", "example")
			if !meta.IsStatusConditionTrue(z.Status.Conditions, v1alpha1.ConditionSettled) || z.Status.SettledSerial != z.Status.Serial || r.Status.Serial > z.Status.SettledSerial {
				t.Fatalf("serial %d of another namespace's record waits: %+v", r.Status.Serial, z.Status)
			}
			if st.Quiet() {
				break
			}
			between++
		}
		t.Logf("%d records of another namespace were written while %d were released", between, n)
		for _, r := range s.ListRecords("a") {
			if r.Status.ZoneRef != nil {
				t.Fatalf("%s is still in the zone", r.Name)
			}
		}
	}
}

// The cascade of a deleted or created zone with thousands of Delegations takes longer than one second, after which a
// server marks the outbox item as in progress. The cascade must still complete, and every Delegation must be accepted.
func TestDelegation_manyGoAndComeWithTheirZone_S4_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var slow atomic.Bool
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "before-commit" && slow.CompareAndSwap(true, false) {
				time.Sleep(1200 * time.Millisecond) // longer than the second after which the server marks the item as in progress
			}
		}
	})
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	n := scaleTo(3000, 40)
	runParallel(8, func(w int) {
		for i := w; i < n; i += 8 {
			if _, err := s.CreateDelegation(store.Delegation("infra", fmt.Sprint("d", i), "example", []string{fmt.Sprint("t", i)}, "*")); err != nil {
				t.Error(err)
			}
		}
	})
	st.Settle()
	for _, change := range []func() error{
		func() error { return s.DeleteZone("infra", "example") },
		func() error { _, err := s.CreateZone(store.Zone("infra", "example", "example.org.")); return err },
	} {
		began := time.Now()
		must.Succeed(t, change())
		slow.Store(true)
		st.Settle()
		t.Logf("%d Delegations in %v", n, time.Since(began))
	}
	for i := range n {
		if d := s.Delegation("infra", fmt.Sprint("d", i)); describeAccepted(d) != "True Accepted" {
			t.Errorf("%s: %s", d.Name, describeAccepted(d))
		}
	}
}

// The rules of a namespace in a zone have a bounded size, even if they come from many Delegations or allow nothing,
// while other namespaces still get rules.
func TestDelegation_bounds_S4_4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server() // no server runs works
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	keys := layout.Keys{Prefix: st.Prefix}
	wide := strings.Repeat("x", 60)
	var refused error
	for i := range 1000 {
		d := store.Delegation("infra", fmt.Sprint("wide-", i), "example", []string{"a"})
		for j := range 20 {
			d.Spec.Records = append(d.Spec.Records, v1alpha1.RecordDelegation{Pattern: fmt.Sprintf("%s%d.%s", wide, j, wide)})
		}
		if _, refused = s.CreateDelegation(d); refused != nil {
			break
		}
	}
	if !apierrors.IsInvalid(refused) || !strings.Contains(refused.Error(), "spec.namespaces") || !strings.Contains(refused.Error(), "32768") {
		t.Errorf("rules without end: %v", refused)
	}
	// The size of rules with few octets is bounded by their storage.
	empty := 0
	for refused = nil; refused == nil && empty < 2000; empty++ {
		d := store.Delegation("infra", fmt.Sprint("empty-", empty), "example", []string{"c"})
		_, refused = s.CreateDelegation(d)
	}
	c := store.Must(st.Client.Client.Get(t.Context(), keys.Key(law.RulesKey(string(s.Zone("infra", "example").UID), "c")))).Kvs[0].Value
	if !apierrors.IsInvalid(refused) || len(c) > 64<<10 {
		t.Errorf("%d Delegations that allow nothing take %d octets: %v", empty, len(c), refused)
	}
	if _, err := s.CreateDelegation(store.Delegation("infra", "for-b", "example", []string{"b"}, "*")); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	s.Run()
	st.Settle()
}

// A Delegation allows names of a zone in its own namespace only. A tenant gains no name in another namespace's zone,
// neither by a zoneRef with that zone's object name, nor by an absolute pattern in a Delegation for a zone of its own.
// The answer to a Record with such a zoneRef does not tell whether the zone exists (S1.8).
func TestDelegation_ofAnotherNamespaceGivesNothing_S4_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"))))
	store.Must(s.CreateZone(store.Zone("a", "mine", "mine.test.")))
	if d := store.Must(s.CreateDelegation(store.Delegation("a", "grab", "example", []string{"a"}, "*",
		"*.example.org."))); describeAccepted(d) != "False ZoneNotFound" {
		t.Errorf("of a zone elsewhere: %s", describeAccepted(d))
	}
	if d := store.Must(s.CreateDelegation(store.Delegation("a", "wide", "mine", []string{"a"}, "*.example.org.", "*"))); describeAccepted(
		d) != "True Accepted" {
		t.Errorf("of his own zone: %s", describeAccepted(d))
	}
	st.Settle()
	_, absolute := s.CreateRecord(ctx, store.Record("a", "www", "www.example.org.", "A", "192.0.2.1"))
	if !apierrors.IsForbidden(absolute) {
		t.Errorf("an absolute name: %v", absolute)
	}
	for _, r := range []*v1alpha1.Record{makeReferringRecord("a", "example"), makeReferringRecord("a", "never")} {
		r.Spec.ZoneRef.Name = r.Name
		stored := store.Must(s.CreateRecord(ctx, r))
		c := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionAdopted)
		if message := strings.ReplaceAll(c.Message, r.Name, "NAME"); c.Reason != v1alpha1.ReasonZoneNotFound || message != `zone infra/NAME does not exist, or delegates nothing to namespace "a" yet; the record is adopted when that changes` {
			t.Errorf("S1.8: the zone of another, by reference: %s: %s", c.Reason, c.Message)
		}
	}
	if _, err := s.CreateRecord(ctx, store.Record("a", "own", "www.mine.test.", "A", "192.0.2.1")); err != nil {
		t.Errorf("his own zone: %v", err)
	}
}

func (b *bill) takeTotal() (octets int) {
	for _, n := range b.takeBill() {
		octets += n
	}
	return octets
}

// A write costs the same octets in a zone with one Delegation as in a zone with thousands. This holds for Records and
// for further Delegations.
func TestDelegation_costsNoOtherNamespace_S4_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var w bill
	s := st.Server(meterClient(&w))
	cost := map[string][2]int{}
	for zone, n := range map[string]int{"few": 1, "many": scaleTo(10000, 300)} {
		store.Must(s.CreateZone(store.Zone("infra", zone, zone+".test.")))
		for i := range n {
			store.Must(s.CreateDelegation(store.Delegation("infra", fmt.Sprintf("%s-%05d", zone, i), zone, []string{fmt.Sprintf("team-%05d", i)}, fmt.Sprintf("*.t%05d", i))))
		}
		var c [2]int
		for i, write := range []func() error{
			func() error {
				_, err := s.CreateRecord(t.Context(), store.Record("team-00000", zone, "www.t00000."+zone+".test.", "A", "192.0.2.1"))
				return err
			},
			func() error {
				_, err := s.CreateDelegation(store.Delegation("infra", zone+"-one-more", zone, []string{"one-more"}, "*.one-more"))
				return err
			},
		} {
			w.takeBill()
			must.Succeed(t, write())
			c[i] = w.takeTotal()
		}
		cost[zone] = c
	}
	for i, what := range []string{"a record", "a Delegation"} {
		few, many := cost["few"][i], cost["many"][i]
		if few == 0 || many > few*11/10 {
			t.Errorf("%s takes %d octets in a zone with one Delegation, and %d in one with many", what, few, many)
		}
	}
	s.Run()
	st.Settle()
}

// A Delegation that exceeds the limit on its namespace's rules in the zone waits with the reason LimitExceeded. When
// other Delegations are deleted, this Delegation is accepted, and the waiting Records are adopted.
func TestDelegation_waitsForRoom_S4_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	wide := strings.Repeat("x", 60)
	for i := range 20 {
		d := store.Delegation("infra", fmt.Sprintf("wide-%02d", i), "example", []string{"a"}, fmt.Sprintf("www-%02d", i))
		for j := range 20 {
			d.Spec.Records = append(d.Spec.Records, v1alpha1.RecordDelegation{Pattern: fmt.Sprintf("%s%d.%s", wide, j, wide)})
		}
		store.Must(s.CreateDelegation(d))
	}
	late := store.Record("a", "late", "www-19", "A", "192.0.2.1")
	late.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
	store.Must(s.CreateRecord(ctx, late))
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	st.Settle()
	if d := s.Delegation("infra", "wide-19"); describeAccepted(d) != "False LimitExceeded" || s.Record("a", "late").Status.ZoneRef != nil {
		t.Fatalf("twenty of them have room: %s", describeAccepted(d))
	}
	for i := range 10 {
		must.Succeed(t, s.DeleteDelegation("infra", fmt.Sprintf("wide-%02d", i)))
	}
	st.Settle()
	for i := 10; i < 20; i++ {
		if d := s.Delegation("infra", fmt.Sprintf("wide-%02d", i)); describeAccepted(d) != "True Accepted" {
			t.Errorf("%s: %s", d.Name, describeAccepted(d))
		}
	}
	if r := s.Record("a", "late"); r.Status.ZoneRef == nil {
		t.Errorf("what waited was forgotten: %+v", r.Status)
	}
}
