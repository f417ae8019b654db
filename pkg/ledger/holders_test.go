// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// What a decision has read of names below, and of wildcards above, is compared when it is committed (I5): of two servers
// that write at once, the tenant's record that the other's refuses comes in before that one or not at all (S4.6, S4.7),
// with the names in keys plain and sealed.
func TestRace_holdersAboveAndBelow_I5(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*store.Store){"plain": func(*store.Store) {}, "sealed": store.Encrypted(provided("one"))} {
		t.Run(what, func(t *testing.T) {
			st := store.New(t, change)
			first, second := st.Server(), st.Server()
			store.Must(first.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"), store.Allow("attacker", "*"))))
			type try struct{ above, domain, kind, value string }
			refused, both := 0, 0
			for i := range 12 {
				for n, x := range []try{
					{"a.b%d.example.org.", "_dmarc.b%d.example.org.", "TXT", "v=DMARC1"},
					{"x.c%d.example.org.", "c%d.example.org.", "CAA", `0 issue ";"`},
					{"*.w%d.example.org.", "login.w%d.example.org.", "A", "192.0.2.66"},
				} {
					id := fmt.Sprintf("r%d-%d", i, n)
					var victims, attackers *v1alpha1.Record
					var err error
					var wait sync.WaitGroup
					wait.Go(func() {
						victims = store.Must(first.CreateRecord(t.Context(), store.Record("victim", id, fmt.Sprintf(x.above, i), "A", "192.0.2.1")))
					})
					wait.Go(func() {
						attackers, err = second.CreateRecord(t.Context(), store.Record("attacker", id, fmt.Sprintf(x.domain, i), x.kind, x.value))
					})
					wait.Wait()
					switch {
					case apierrors.IsForbidden(err):
						refused++
					case err != nil:
						t.Fatalf("%s: %v", fmt.Sprintf(x.domain, i), err)
					case attackers.Status.Serial > victims.Status.Serial:
						t.Errorf("%s came in with serial %d, after %s with %d", attackers.Spec.DomainName, attackers.Status.Serial, victims.Spec.DomainName, victims.Status.Serial)
					default:
						both++
					}
				}
			}
			t.Logf("%d were refused, %d came first", refused, both)
			st.MustBeClean()
		})
	}
}
