// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// grace sets the period of a zone.
func grace(z *v1alpha1.Zone, d time.Duration) *v1alpha1.Zone {
	z.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: d}
	return z
}

// kids is a zone that delegates kids to a tenant that has a record and a zone in it.
func kids(t *testing.T, s *store.Server, period time.Duration) (allow, none []v1alpha1.Delegation) {
	t.Helper()
	ctx := deadline(t)
	none = []v1alpha1.Delegation{store.Allow("", "*"), {Namespace: "infra", Zones: []string{"*"}}}
	allow = append(slices.Clone(none), v1alpha1.Delegation{Namespace: "team-a", Zones: []string{"kids"}})
	store.Must(s.CreateZone(grace(store.Zone("infra", "shared", "shared.example.", allow...), period)))
	store.Must(s.CreateZone(store.Zone("team-a", "kids", "kids.shared.example.", store.Allow("", "*"), v1alpha1.Delegation{Zones: []string{"*"}})))
	r := store.Record("team-a", "www", "www", "A", "203.0.113.66")
	r.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "kids"}
	store.Must(s.CreateRecord(ctx, r))
	store.Must(s.CreateRecord(ctx, store.Record("team-a", "abs", "abs.kids.shared.example.", "A", "203.0.113.67")))
	low := store.Zone("team-a", "low", "low", store.Allow("", "*"))
	low.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "kids"}
	store.Must(s.CreateZone(low))
	return allow, none
}

func rules(s *store.Server, d []v1alpha1.Delegation) {
	store.Must(s.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { z.Spec.Delegations = d }))
}

func standing(s *store.Server, name string) bool { return s.Zone("team-a", name).Status.FQDN != "" }

// A child whose rule goes stands for the period of its parent, with endsAt; a rule that comes back cancels it; and it ends
// when its time is over, with the zones below it. Its records are released, its name is free, and a later rule makes it
// anew, with a serial ahead of the one it had (S3.4, attack 63).
func TestWithdrawal_endsAChild_S3_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := deadline(t)
	allow, none := kids(t, s, time.Hour)
	st.Settle()
	before := s.Zone("team-a", "kids").Status

	rules(s, none)
	st.Settle()
	z := s.Zone("team-a", "kids")
	if z.Status.FQDN == "" || z.Status.EndsAt == nil || z.Status.ParentRef != nil {
		t.Fatalf("withdrawn: %+v", z.Status)
	}
	if left := time.Until(z.Status.EndsAt.Time); left < 50*time.Minute || left > time.Hour {
		t.Errorf("it says that it ends in %s", left)
	}
	rules(s, allow)
	st.Settle()
	if z := s.Zone("team-a", "kids"); z.Status.EndsAt != nil || z.Status.ParentRef == nil {
		t.Errorf("a rule came back: %+v", z.Status)
	}

	rules(s, none)
	st.Settle()
	store.Must(s.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { grace(z, 48*time.Hour) }))
	store.Eventually(t, "it says that it ends later", func() bool {
		return time.Until(s.Zone("team-a", "kids").Status.EndsAt.Time) > 47*time.Hour
	})
	store.Must(s.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { grace(z, 0) }))
	store.Eventually(t, "both zones ended", func() bool { return !standing(s, "kids") && !standing(s, "low") })
	st.Settle()
	if z := s.Zone("team-a", "kids"); z.Status.Serial != 0 || z.Status.Hash != "" || z.Status.EndsAt != nil || z.Labels[v1alpha1.LabelParentZone] != "" {
		t.Errorf("a pending zone: %+v, labels %v", z.Status, z.Labels)
	}
	if r := s.Record("team-a", "www"); r.Status.ZoneRef != nil {
		t.Error("a record stands in a zone that ended")
	}
	if r := s.Record("team-a", "abs"); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "shared" {
		t.Errorf("an absolute name that the parent allows: %+v", r.Status)
	}
	if err := s.DeleteRecord(ctx, "team-a", "abs"); err != nil {
		t.Fatal(err)
	}
	store.Must(s.CreateRecord(ctx, store.Record("team-b", "www", "www.kids.shared.example.", "A", "192.0.2.80")))
	if err := s.DeleteRecord(ctx, "team-b", "www"); err != nil {
		t.Fatal(err)
	}

	rules(s, allow)
	st.Settle()
	z = s.Zone("team-a", "kids")
	if z.Status.FQDN == "" || z.Status.Serial <= before.Serial || z.Status.EntryCount != before.EntryCount-1 {
		t.Errorf("made anew: %+v, and before %+v", z.Status, before)
	}
	if r := s.Record("team-a", "www"); r.Status.ZoneRef == nil {
		t.Error("its record was forgotten")
	}
}

// What is counted is the time that servers ran, by two of them: neither a clock that is a year ahead nor a server that
// starts ends anything, and its tenant holds nothing up by writing to it all the time (S3.4, attack 63).
func TestWithdrawal_countsTimeThatServersRan_S3_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	ahead := func(c *ledger.Config) { c.Now = func() time.Time { return time.Now().AddDate(1, 0, 0) } }
	s, other := st.Server(ahead), st.Server()
	s.Run()
	other.Run()
	const period = 3 * time.Second
	_, none := kids(t, s, period)
	st.Settle()
	began := time.Now()
	rules(s, none)
	for n := 0; standing(s, "kids"); n++ {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not end while its tenant writes to it")
		}
		_, err := s.UpdateZone("team-a", "kids", func(z *v1alpha1.Zone) {
			z.Spec.NameServers = []v1alpha1.NameServer{{Name: fmt.Sprintf("ns%d.example.net.", n)}}
		})
		if err != nil && !apierrors.IsForbidden(err) { // it ended meanwhile
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // a hundred times a second holds nothing up, and leaves the processor to others
	}
	if ran := time.Since(began); ran < period {
		t.Errorf("it ended after %s", ran)
	}
	store.Eventually(t, "the one below ended", func() bool { return !standing(s, "low") })
	st.Settle()
}

// Servers that end anywhere in the end of a zone leave what the next one goes on with (S3.4, I4).
func TestWithdrawal_interruptedAnywhereItGoesOn_S3_4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	allow, none := kids(t, s, 0)
	rules(s, none)
	for standing(s, "kids") || standing(s, "low") {
		interrupted(t, st, nil)
	}
	rules(s, allow)
	interrupted(t, st, nil)
	if r := s.Record("team-a", "www"); r.Status.ZoneRef == nil || !standing(s, "low") {
		t.Errorf("made anew without its record or the zone below: %+v", r.Status)
	}
}
