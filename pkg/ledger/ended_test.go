// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// A parent pays for its new child under the mark of the child's cascade, and while
// the payment is on its way the cascade ends, on another server. The payment must
// leave no mark: nobody would take it off again (S7.2, I4).
func TestDebt_isPaidWhileTheChildsCascadeEnds_S7_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var commits atomic.Int64
	payer := st.Server(func(c *ledger.Config) {
		c.Fault = func(point string) {
			// The first commit is the child's own, the second pays for it.
			if point == "before-commit" && commits.Add(-1) == 0 {
				close(reached)
				<-goOn
			}
		}
	})
	other := st.Server()
	stop := other.Run()
	store.Must(payer.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	store.Must(payer.CreateRecord(t.Context(), store.Record("team-a", "www", "www.dev.example.org.", "A", "192.0.2.1")))
	st.Settle()
	stop()
	commits.Store(2)
	done := make(chan error, 1)
	go func() {
		_, err := payer.CreateZone(store.Zone("team-a", "dev", "dev.example.org.", store.Allow("", "*")))
		done <- err
	}()
	<-reached
	if st.Quiet() {
		t.Fatal("nothing is owed where the payment was held")
	}
	ledger.CarryOut(other.Ledger, t.Context())
	if r := other.Record("team-a", "www"); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "dev" {
		t.Fatalf("the cascade has not run: %+v", r.Status)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !st.Quiet() {
		t.Error("something is owed after the payment")
	}
	st.MustBeClean() // a mark without its work is damage
	z := other.Zone("infra", "example")
	if z.Status.SettledSerial != z.Status.Serial {
		t.Errorf("the parent is unsettled for ever: serial %d, settled %d", z.Status.Serial, z.Status.SettledSerial)
	}
	if z.Status.EntryCount != 5 { // SOA, its name server with address, and the child's
		t.Errorf("%d entries, want the child's name server and its address among 5", z.Status.EntryCount)
	}
}

// A standalone zone is removed and made anew before its records are let go: nobody
// takes a name of theirs, on either server, until they are back (S2.7).
func TestCascade_nobodyStealsANameOfAZoneMadeAnew_S2_7(t *testing.T) {
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
			t.Errorf("%s: %s", r.Name, reasonOf(r))
		}
	}
	t.Logf("%d interruptions", times)
}

// A zone that waits and lost because of names below it is tried again when they
// go, on whichever server, and its mark is fsck's matter (S2.7, S3.1).
func TestCascade_pendingZoneIsTriedAgain_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	kid := store.Zone("team-b", "kid", "kid", store.Allow("", "*"))
	kid.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
	store.Must(s.CreateZone(kid))
	parent := store.Zone("infra", "example", "example.org.", store.Allow("", "*"))
	store.Must(s.CreateZone(parent))
	st.Settle()
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "www", "www.kid.example.org.", "A", "192.0.2.1")))
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"*"}})
	}))
	st.Settle()
	if z := s.Zone("team-b", "kid"); z.Status.FQDN != "" {
		t.Fatalf("it stands at %s over names of another namespace", z.Status.FQDN)
	}
	if err := st.Server().DeleteRecord(t.Context(), "team-a", "www"); err != nil {
		t.Fatal(err)
	}
	st.Settle()
	if z := s.Zone("team-b", "kid"); z.Status.FQDN != "kid.example.org." {
		t.Errorf("still pending when the names have gone: %+v", z.Status.Conditions)
	}
}
