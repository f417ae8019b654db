// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// A name below one with CAA that a tenant writes before a cascade comes to another's names
// takes none of them, and a wildcard above them is refused: whether the zone that they leave is gone or stands,
// and whether the steps go together or one by one.
func TestCascade_whatStoodKeepsItsName_S2_7(t *testing.T) {
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
				if _, err := s.CreateRecord(t.Context(), store.Record("b", "wild", "*.shop.example.org.", "A", "192.0.2.66")); !apierrors.IsForbidden(err) {
					t.Errorf("a wildcard above names that are to come: %v", err)
				}
				if r := store.Must(s.CreateRecord(t.Context(), store.Record("b", "below", "x.pay.example.org.", "A", "192.0.2.66"))); r.Status.ZoneRef == nil {
					t.Fatal("x.pay is not taken in: this test looks at nothing")
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

// A record that a rule with shared let in at a name holds the name no more in the zone that gains it.
func TestCascade_whatNeverHeldTakesNoName_S2_7(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		for _, n := range []int{1, 40} {
			t.Run(fmt.Sprintf("made=%v,records=%d", made, n), func(t *testing.T) {
				t.Parallel()
				st := store.New(t)
				s := st.Server()
				s.Run()
				zone := func(name, fqdn string) *v1alpha1.Zone {
					listed := store.Allow("a", "listed.example.org.")
					listed.Records[0].Shared, listed.Records[0].Types = true, []string{"TXT"}
					z := store.Zone("platform", name, fqdn, store.Allow("a", "*"), listed, store.Allow("platform"))
					z.Spec.Delegations[2].Zones = []string{"*"}
					return z
				}
				store.Must(s.CreateZone(zone("org", "org.")))
				if !made {
					store.Must(s.CreateZone(zone("example", "example.org.")))
				}
				st.Settle()
				for i := range n {
					store.Must(s.CreateRecord(t.Context(), store.Record("a", fmt.Sprint("r", i), "listed.example.org.", "TXT", fmt.Sprint("text ", i))))
				}
				if made {
					store.Must(s.CreateZone(zone("example", "example.org.")))
				} else if err := s.DeleteZone("platform", "example"); err != nil {
					t.Fatal(err)
				}
				st.Settle()
				for _, r := range s.ListRecords("a") {
					if r.Status.ZoneRef == nil {
						t.Errorf("%s: %s", r.Name, r.Status.Conditions[0].Message)
					}
				}
				if r, err := s.CreateRecord(t.Context(), store.Record("a", "taken", "listed.example.org.", "A", "192.0.2.66")); err == nil {
					t.Errorf("a holds the listed name now: %s", r.Status.Conditions[0].Message)
				}
				st.MustBeClean()
			})
		}
	}
}
