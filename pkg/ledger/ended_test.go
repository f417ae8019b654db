// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// A standalone zone is removed and made anew before its records are let go: no namespace takes a name of theirs, on
// either server, until they are back (S2.7).
func TestCascade_noNamespaceStealsANameOfAZoneMadeAnew_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	stop := servers[0].Run()
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	stop()
	n := scale(40, 10)
	name := func(i int) string { return "r" + string(rune('a'+i%26)) + string(rune('a'+i/26)) }
	fill(t, servers[0], n, func(i int) *v1alpha1.Record {
		return store.Record("team-a", name(i), name(i)+".example.org.", "TXT", "mine")
	})
	if err := servers[0].DeleteZone("infra", "example"); err != nil {
		t.Fatal(err)
	}
	store.Must(servers[1].CreateZone(store.Zone("infra", "again", "example.org.", store.Allow("", "*"))))
	steal := func() (stolen int) {
		for i := range n {
			_, err := servers[i%2].CreateRecord(t.Context(), store.Record("team-b", "thief-"+name(i), name(i)+".example.org.", "TXT", "stolen"))
			if err == nil {
				stolen++
			} else if !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
		}
		return stolen
	}
	if stolen := steal(); stolen > 0 {
		t.Errorf("%d of %d names went to another namespace in the gap", stolen, n)
	}
	st.MustBeClean()
	times := interrupted(t, st, func(int) {
		if stolen := steal(); stolen > 0 {
			t.Errorf("%d of %d names went to another namespace", stolen, n)
		}
	})
	for i := range n {
		if r := servers[0].Record("team-a", name(i)); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "again" {
			t.Errorf("%s: %+v", r.Name, r.Status.Conditions)
		}
	}
	t.Logf("%d interruptions", times)
}
