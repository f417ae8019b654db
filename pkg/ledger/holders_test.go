// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// The names below and what speaks for them above, which a decision has read, are compared when it is committed (I5): of
// two servers that write at once one takes in its tenant's record and the other none, or a CAA before the name below it
// (S4.6, S4.7).
func TestRace_holdersAboveAndBelow_I5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	first, second := st.Server(), st.Server()
	store.Must(first.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"), store.Allow("attacker", "*"))))
	type try struct{ above, domain, kind, value string }
	refused, late, both := 0, 0, 0
	for i := range 12 {
		for n, x := range []try{
			{"a.b%d.example.org.", "_dmarc.b%d.example.org.", "TXT", "v=DMARC1"},
			{"x.c%d.example.org.", "c%d.example.org.", "CAA", `0 issue ";"`},
			{"*.w%d.example.org.", "login.w%d.example.org.", "A", "192.0.2.66"},
		} {
			id := fmt.Sprintf("r%d-%d", i, n)
			var victims, attackers *v1alpha1.Record
			var victimsErr, err error
			var wait sync.WaitGroup
			wait.Go(func() {
				victims, victimsErr = first.CreateRecord(t.Context(), store.Record("victim", id, fmt.Sprintf(x.above, i), "A", "192.0.2.1"))
			})
			wait.Go(func() {
				attackers, err = second.CreateRecord(t.Context(), store.Record("attacker", id, fmt.Sprintf(x.domain, i), x.kind, x.value))
			})
			wait.Wait()
			switch {
			case apierrors.IsForbidden(err) && victimsErr == nil:
				refused++
			case err != nil:
				t.Fatalf("%s: %v", fmt.Sprintf(x.domain, i), err)
			case x.kind != "CAA" && apierrors.IsForbidden(victimsErr):
				late++
			case victimsErr != nil || x.kind != "CAA":
				t.Errorf("%s after %s: %v", fmt.Sprintf(x.above, i), fmt.Sprintf(x.domain, i), victimsErr)
			case attackers.Status.Serial > victims.Status.Serial:
				t.Errorf("%s came in with serial %d, after %s with %d", attackers.Spec.DomainName, attackers.Status.Serial, victims.Spec.DomainName, victims.Status.Serial)
			default:
				both++
			}
		}
	}
	t.Logf("%d attackers and %d victims were refused, %d came first", refused, late, both)
	st.MustBeClean()
}

// So is what it has read of zones below: of two servers that write at once, a record that is taken for the names
// below comes in before another namespace's zone there or not at all (S4.7).
func TestRace_zonesBelow_I5_S4_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	first, second := st.Server(), st.Server()
	first.Run()
	store.Must(first.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("attacker", "*"), v1alpha1.DelegationRule{Namespace: "victim", Zones: []string{"*"}})))
	refused, both := 0, 0
	for i := range 24 {
		var zone *v1alpha1.Zone
		var record *v1alpha1.Record
		var err error
		var wait sync.WaitGroup
		wait.Go(func() {
			zone = store.Must(first.CreateZone(store.Zone("victim", fmt.Sprintf("z%d", i), fmt.Sprintf("z.b%d.example.org.", i))))
		})
		wait.Go(func() {
			record, err = second.CreateRecord(t.Context(), store.Record("attacker", fmt.Sprintf("r%d", i), fmt.Sprintf("b%d.example.org.", i), "CAA", `0 issue ";"`))
		})
		wait.Wait()
		switch {
		case apierrors.IsForbidden(err):
			refused++
		case err != nil:
			t.Fatal(err)
		case store.Must(strconv.Atoi(record.ResourceVersion)) > store.Must(strconv.Atoi(zone.ResourceVersion)):
			t.Errorf("%s came in at revision %s, after zone %s at %s", record.Spec.DomainName, record.ResourceVersion, zone.Spec.DomainName, zone.ResourceVersion)
		default:
			both++
		}
	}
	t.Logf("%d were refused, %d came first", refused, both)
	st.Settle()
	st.MustBeClean()
}

// A server looks at all names below one, also where a tenant has filled them: it neither refuses the tenant that holds
// them all nor overlooks a name of another one that is last among them (S4.7).
func TestHolders_manyBelow_S4_7(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked) // the names are put there without their records
	var b bill
	s := st.Server(metered(&b))
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"), store.Allow("attacker", "*"))))
	record := func(ns, name, domain, kind, value string) error {
		_, err := s.CreateRecord(t.Context(), store.Record(ns, name, domain, kind, value))
		return err
	}
	for _, x := range [][3]string{{"victim", "www", "www.example.org."}, {"victim", "old", "zz.big.example.org."}, {"victim", "x", "x.www.example.org."}, {"attacker", "y", "x.big.example.org."}} {
		if err := record(x[0], x[1], x[2], "A", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	client := store.Must(st.Connect())
	all := store.Must(client.Get(t.Context(), st.Prefix+"/", clientv3.WithPrefix()))
	for _, kv := range all.Kvs {
		at, one := strings.CutSuffix(string(kv.Key), "x.")
		if !one || !strings.Contains(at, "/holders/") {
			continue
		}
		for i := range 15 {
			var puts []clientv3.Op
			for n := range 100 {
				puts = append(puts, clientv3.OpPut(fmt.Sprintf("%sn%d-%d.", at, i, n), string(kv.Value)))
			}
			store.Must(client.Txn(t.Context()).Then(puts...).Commit())
		}
	}
	b.take()
	if err := record("victim", "challenge", "_acme-challenge.www.example.org.", "TXT", "token"); err != nil {
		t.Errorf("the holder of a name and of 1,501 below it: %v", err)
	}
	if of := b.take(); of["victim"] < 32<<10 { // S9.2
		t.Errorf("what it read of them is charged as %v", of)
	}
	if err := record("attacker", "big", "big.example.org.", "A", "192.0.2.2"); err != nil {
		t.Fatal(err)
	}
	if err := record("attacker", "challenge", "_acme-challenge.big.example.org.", "TXT", "token"); !apierrors.IsForbidden(err) {
		t.Errorf("above an older name with 1,501 others: %v", err)
	}
}
