// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// twoZones are org and net, open to every namespace, and team-a's record www in the first.
func twoZones(st *store.Store, s *store.Server) {
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateZone(store.Zone("infra", "net", "example.net.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(st.T.Context(), store.Record("team-a", "www", "www.example.org.", "TXT", "mine")))
	st.Settle()
	stop()
}

func toNet(r *v1alpha1.Record) { r.Spec.DomainName = "www.example.net." }

func reasonOf(r *v1alpha1.Record) string {
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c != nil {
		return c.Reason
	}
	return ""
}

// The answer to a move is the record in its new zone, with one serial in each, and
// the dry run says the same (S7.3).
func TestMove_answersFromTheNewZone_S2_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(today)
	twoZones(st, s)
	org, net := s.Zone("infra", "org").Status.Serial, s.Zone("infra", "net").Status.Serial
	before := s.Record("team-a", "www")
	preview := before.DeepCopy()
	toNet(preview)
	preview.Generation++
	if err := s.Ledger.PreviewRecord(t.Context(), before, preview); err != nil {
		t.Fatal(err)
	}
	r := store.Must(s.UpdateRecord(t.Context(), "team-a", "www", toNet))
	if r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "net" || r.Status.FQDN != "www.example.net." || r.Status.Serial != net+1 || r.Status.ObservedGeneration != r.Generation {
		t.Errorf("moved: %+v", r.Status)
	}
	if p := preview.Status; p.FQDN != r.Status.FQDN || p.Serial != r.Status.Serial || *p.ZoneRef != *r.Status.ZoneRef || reasonOf(preview) != reasonOf(r) {
		t.Errorf("the dry run said %+v, the write %+v", p, r.Status)
	}
	if got := s.Zone("infra", "org").Status.Serial; got != org+1 {
		t.Errorf("serial %d in the zone it left, want %d", got, org+1)
	}
	if got := s.Record("team-a", "www"); got.ResourceVersion != r.ResourceVersion {
		t.Errorf("answered at revision %s, it stands at %s", r.ResourceVersion, got.ResourceVersion)
	}
	if rep := st.Fsck(); rep.Owed.Total > 0 {
		t.Errorf("owed after the answer: %s", store.Text(rep))
	}
	// A refused move reads as any refusal and changes nothing.
	store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "other", "taken.example.org.", "TXT", "theirs")))
	rev := s.Zone("infra", "org").ResourceVersion
	if _, err := s.UpdateRecord(t.Context(), "team-a", "www", func(r *v1alpha1.Record) { r.Spec.DomainName = "taken.example.org." }); !apierrors.IsForbidden(err) {
		t.Errorf("a move to a held name: %v, want 403", err)
	}
	if got := s.Zone("infra", "org").ResourceVersion; got != rev {
		t.Errorf("a refused move wrote the zone")
	}
}

// Two servers move the same records around two zones while others want their
// names: nothing is stolen, nothing is lost, and fsck is clean.
func TestRace_recordsMoveAroundTwoZones_S2_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	servers[0].Run()
	servers[1].Run()
	ctx := deadline(t)
	zones := []string{"org", "net"}
	for _, z := range zones {
		store.Must(servers[0].CreateZone(store.Zone("infra", z, "example."+z+".", store.Allow("", "*"))))
	}
	// A name is free when no namespace has a record or a place there: the first that comes has it, and keeps it on
	// the way.
	n, moves := 6, scale(60, 12)
	at := func(i int, z string) string { return fmt.Sprintf("r%d.example.%s.", i, z) }
	for i := range n {
		store.Must(servers[0].CreateRecord(ctx, store.Record("team-a", fmt.Sprintf("r%d", i), at(i, "org"), "TXT", "mine")))
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	var refused, taken atomic.Int64
	for w := range 2 {
		wg.Go(func() { // a thief takes what is free, and gives it back
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprintf("thief-%d", w)
				_, err := servers[w].CreateRecord(ctx, store.Record("team-b", name, at(i%n, zones[(i/n)%2]), "TXT", "theirs"))
				switch {
				case apierrors.IsForbidden(err):
					refused.Add(1)
				case err != nil:
					t.Errorf("thief: %v", err)
					return
				default:
					taken.Add(1)
					if err := servers[w].DeleteRecord(ctx, "team-b", name); err != nil {
						t.Errorf("thief: %v", err)
						return
					}
				}
			}
		})
	}
	var moved, away atomic.Int64
	parallel(4, func(w int) {
		rnd := rand.New(rand.NewPCG(uint64(w), 3))
		for range moves {
			i := rnd.IntN(n)
			to := at(i, zones[rnd.IntN(2)])
			r, err := servers[w%2].UpdateRecord(ctx, "team-a", fmt.Sprintf("r%d", i), func(r *v1alpha1.Record) { r.Spec.DomainName = to })
			switch {
			case apierrors.IsForbidden(err): // a thief has the name for the moment
				away.Add(1)
			case err != nil:
				t.Errorf("mover %d: %v", w, err)
				return
			case r.Status.ZoneRef == nil && reasonOf(r) != "Moving":
				t.Errorf("a move ended as %s: %+v: its name was stolen on the way", reasonOf(r), r.Status)
			default:
				moved.Add(1)
			}
		}
	})
	close(done)
	wg.Wait()
	st.Settle()
	for i := range n {
		if r := servers[0].Record("team-a", fmt.Sprintf("r%d", i)); r.Status.ZoneRef == nil {
			t.Errorf("r%d: %s", i, reasonOf(r))
		}
	}
	t.Logf("%d moves, %d to names that others had; others got %d names and were refused %d", moved.Load(), away.Load(), taken.Load(), refused.Load())
}

// A client that moves records into a busy zone starves neither the zone's writers nor itself.
func TestRace_movesIntoABusyZone_S2_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(today), st.Server(today)}
	twoZones(st, servers[0])
	servers[0].Run()
	ctx := deadline(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	var writes atomic.Int64
	for w := range 6 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := servers[w%2].CreateRecord(ctx, store.Record("infra", fmt.Sprintf("b-%d-%d", w, i), fmt.Sprintf("b-%d-%d.example.net.", w, i), "A", "192.0.2.1")); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				writes.Add(1)
			}
		})
	}
	n := scale(40, 10)
	var worst time.Duration
	for i := range n {
		begin := time.Now()
		r, err := servers[i%2].UpdateRecord(ctx, "team-a", "www", func(r *v1alpha1.Record) {
			r.Spec.DomainName = []string{"www.example.net.", "www.example.org."}[i%2]
		})
		if err != nil || r.Status.ZoneRef == nil {
			t.Fatalf("move %d: %v, %+v", i, err, r.Status)
		}
		worst = max(worst, time.Since(begin))
	}
	close(done)
	wg.Wait()
	st.Settle()
	t.Logf("%d moves beside %d writes, the slowest took %v", n, writes.Load(), worst.Round(time.Millisecond))
}
