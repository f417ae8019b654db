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
