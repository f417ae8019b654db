// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// setTryEvery sets the time between two rounds.
func setTryEvery(d time.Duration) func(*ledger.Config) {
	return func(c *ledger.Config) { c.TryEvery = d }
}

// makeLosers has records of namespace other wait for names that victim holds: the name www, and names below it that
// need that one.
func makeLosers(t *testing.T, st *store.Store, s *store.Server, losers int) {
	t.Helper()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("victim", "www", "www.example.org.", "A", "192.0.2.1")))
	for i := range losers {
		r := store.Record("other", fmt.Sprint("r", i), fmt.Sprintf("_%d.www", i), "TXT", "t")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
		store.Must(s.CreateRecord(t.Context(), r))
	}
	store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("victim", "*"), store.Allow("other", "*")}
	}))
	st.Settle()
	for i := range losers {
		r := s.Record("other", fmt.Sprint("r", i))
		if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c == nil || c.Reason != v1alpha1.ReasonNameHeld {
			t.Fatalf("%s: %+v", r.Name, c)
		}
	}
}

// S2.7: where a value goes, what waits at its name or below it is tried at once, and needs no round.
func TestRound_isNotNeededWhereAValueGoes_S2_7(t *testing.T) {
	t.Parallel()
	const losers = 20
	st := store.New(t)
	s := st.Server(setTryEvery(time.Hour))
	s.Run()
	makeLosers(t, st, s, losers)
	must.Succeed(t, s.DeleteRecord(t.Context(), "victim", "www"))
	store.Eventually(t, "the losers have the name", func() bool {
		for i := range losers {
			if s.Record("other", fmt.Sprint("r", i)).Status.ZoneRef == nil {
				return false
			}
		}
		return true
	})
	st.Settle()
	st.MustBeClean()
}

// S2.7: a round finds what no value at the name tells: a limit that a record leaves room in.
func TestRound_findsRoomBelowALimit_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(50 * time.Millisecond))
	s.Run()
	z := store.Zone("platform", "top", "example.org.", store.Allow("", "*"))
	z.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: new(int32(1))}
	early := store.Record("team", "early", "early.example.org.", "A", "192.0.2.1")
	late := store.Record("team", "late", "late.example.org.", "A", "192.0.2.2")
	for _, r := range []*v1alpha1.Record{early, late} { // both wait for the zone, which has room for one
		store.Must(s.CreateRecord(t.Context(), r))
	}
	store.Must(s.CreateZone(z))
	st.Settle()
	adopted, waiting := "early", "late"
	if s.Record("team", adopted).Status.ZoneRef == nil {
		adopted, waiting = waiting, adopted
	}
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", adopted))
	store.Eventually(t, "the other one has the room", func() bool { return s.Record("team", waiting).Status.ZoneRef != nil })
	st.Settle()
}

// S2.7: rounds that find nothing write nothing, and losers have no keys but those under which they wait (S9.1).
func TestRound_ofAnIdleClusterWritesNothing_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(5 * time.Millisecond))
	s.Run()
	makeLosers(t, st, s, 30)
	revision := func() int64 {
		return store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Config())).Header.Revision
	}
	var before int64
	store.Eventually(t, "the server is idle", func() bool { // e.g. the journal is trimmed and a status follows
		before = revision()
		time.Sleep(500 * time.Millisecond)
		return revision() == before
	})
	tried := s.Ledger.Tried()
	store.Eventually(t, "rounds went by", func() bool { return s.Ledger.Tried() > tried+100 })
	if after := revision(); after != before {
		t.Errorf("while rounds went by, etcd went from revision %d to %d", before, after)
	}
}

// S2.7: of 100,000 keys that a round reads, a namespace has at most a hundred tried, so no flood of another one keeps
// it from its turn.
func TestRound_givesEachNamespaceItsTurn_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(time.Hour))
	ctx := context.WithoutCancel(t.Context())
	for i := range 300 {
		store.Must(s.CreateRecord(ctx, store.Record("flood", fmt.Sprint("r", i), fmt.Sprintf("a%d.example.org.", i), "A", "192.0.2.1")))
	}
	store.Must(s.CreateRecord(ctx, store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))
	drawn := map[string]int{}
	for range 20 {
		of := must.Get(s.Ledger.DrawWaiting(ctx))(t)
		if len(of["team"]) != 1 || len(of["flood"]) != 100 {
			t.Fatalf("drawn: %v", of)
		}
		for _, object := range of["flood"] {
			drawn[object]++
		}
	}
	if len(drawn) < 290 { // each is left out of 20 draws with a probability of (2/3)^20
		t.Errorf("in 20 rounds %d of 300 were tried", len(drawn))
	}
}

// BenchmarkRound is what a round takes that tries the hundred of a namespace which wait for a name and do not get it.
func BenchmarkRound(b *testing.B) {
	st := store.New(b)
	s := st.Server(setTryEvery(time.Hour))
	ctx := b.Context()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"))))
	store.Must(s.CreateRecord(ctx, store.Record("victim", "www", "www.example.org.", "A", "192.0.2.1")))
	for i := range 100 {
		r := store.Record("other", fmt.Sprint("r", i), fmt.Sprintf("_%d.www", i), "TXT", "t")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
		store.Must(s.CreateRecord(ctx, r))
	}
	store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("victim", "*"), store.Allow("other", "*")}
	}))
	s.Ledger.CarryOut(ctx)
	for b.Loop() {
		s.Ledger.CarryOut(ctx)
	}
}
