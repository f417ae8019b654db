// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func fillZone(t *testing.T, s *store.Server, n int, make func(i int) *v1alpha1.Record) {
	t.Helper()
	ctx := withDeadline(t)
	var next atomic.Int64
	runParallel(8, func(int) {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if _, err := s.CreateRecord(ctx, make(i)); err != nil {
				t.Errorf("record %d: %v", i, err)
				return
			}
		}
	})
}

// mishap stops a server's background work at a random fault point, like a panic or a restart.
type mishap struct{ left atomic.Int64 }

// runInterrupted restarts servers after a few fault points each until no work is pending, and runs fsck after each
// stop.
func runInterrupted(t *testing.T, st *store.Store, between func(i int)) (times int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(len(t.Name()))))
	for i := 0; ; i++ {
		if i > 2000 {
			t.Fatal("2,000 interruptions and still not through: a cascade makes no way")
		}
		var m mishap
		ctx, cancel := context.WithCancel(t.Context())
		// Each attempt runs longer than the one before, so that any work ends.
		m.left.Store(1 + int64(rnd.IntN(8<<min(i/scaleTo(4, 2), 10))))
		softly := i%2 == 0
		s := st.Server(func(c *ledger.Config) {
			c.OnFault = func(string) {
				if m.left.Add(-1) == 0 {
					cancel()
					if !softly {
						runtime.Goexit()
					}
				}
			}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Ledger.Run(ctx)
		}()
		quiet := false
		for waiting := true; waiting; {
			select {
			case <-done:
				waiting = false
			case <-time.After(10 * time.Millisecond):
				if st.Quiet() {
					quiet, waiting = true, false
				}
			}
		}
		cancel()
		<-done
		if r := st.Fsck(); !r.Clean() {
			t.Fatalf("after interruption %d: %s", i, store.Text(r))
		} else if quiet && r.Pending.Total == 0 {
			return i
		}
		if between != nil {
			between(i)
		}
	}
}

func TestCascade_interruptedAnywhereItGoesOn_I4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	n := scaleTo(120, 40)
	in := func(i int) *v1alpha1.Record {
		return store.Record(fmt.Sprintf("team-%d", i%3), fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.dev.example.org.", i), "A", fmt.Sprintf("192.0.2.%d", i%250))
	}
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	stop := s.Run()
	st.Settle()
	stop()
	fillZone(t, s, n, in)
	count := func(zone string) (in int) {
		for _, r := range s.ListRecords("") {
			if r.Status.ZoneRef != nil && r.Status.ZoneRef.Name == zone {
				in++
			}
		}
		return in
	}
	// The child zone gains the records, loses them when the rules are withdrawn, gains them again, and is deleted.
	store.Must(s.CreateZone(store.Zone("infra", "dev", "dev.example.org.", store.Allow("", "*"))))
	times := runInterrupted(t, st, nil)
	if got := count("dev"); got != n {
		t.Errorf("%d of %d records in the child", got, n)
	}
	store.Must(s.UpdateZone("infra", "dev", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-0", "*")} }))
	times += runInterrupted(t, st, nil)
	if got := count("dev"); got != (n+2)/3 {
		t.Errorf("%d records in the child, want the %d of team-0", got, (n+2)/3)
	}
	store.Must(s.UpdateZone("infra", "dev", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("", "*")} }))
	times += runInterrupted(t, st, func(i int) { // clients write meanwhile
		if _, err := s.CreateRecord(t.Context(), store.Record("team-9", fmt.Sprintf("between-%d", i), fmt.Sprintf("between-%d.dev.example.org.", i), "TXT", "x")); err != nil {
			t.Errorf("a client's write between: %v", err)
		}
	})
	if got, all := count("dev"), len(s.ListRecords("")); got != all {
		t.Errorf("%d of %d records in the child", got, all)
	}
	must.Succeed(t, s.DeleteZone("infra", "dev"))
	times += runInterrupted(t, st, nil)
	if got, all := count("example"), len(s.ListRecords("")); got != all {
		t.Errorf("%d of %d records back in the parent", got, all)
	}
	t.Logf("%d interruptions", times)
}

// Two servers change a child's name servers at the same time. The parent must count each pending change exactly once,
// so that in the end its NS and glue records are those of the child.
func TestPendingCut_parentFollowsItsChildUnderLoad_S6_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	servers[0].Run()
	servers[1].Run()
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	store.Must(servers[0].CreateZone(store.Zone("team-a", "dev", "dev.example.org.", store.Allow("", "@", "*"))))
	st.Settle()
	ctx := withDeadline(t)
	writes := scaleTo(41, 9) // odd, so that NS and addresses stay
	runParallel(8, func(w int) {
		s := servers[w%2]
		for i := range writes {
			var err error
			switch w {
			case 0, 1, 2, 3: // apex NS and addresses come and go
				ns := fmt.Sprintf("ns-%d", w)
				if i%2 == 0 {
					if _, err = s.CreateRecord(ctx, store.Record("team-a", ns, "dev.example.org.", "NS", ns)); err == nil {
						_, err = s.CreateRecord(ctx, store.Record("team-a", ns+"-a", ns+".dev.example.org.", "A", fmt.Sprintf("192.0.2.%d", i)))
					}
				} else if err = s.DeleteRecord(ctx, "team-a", ns); err == nil {
					err = s.DeleteRecord(ctx, "team-a", ns+"-a")
				}
			case 4, 5: // the child's own header
				_, err = s.WriteZone(ctx, "team-a", "dev", func(z *v1alpha1.Zone) {
					ttl := int32(300 + i)
					z.Spec.TTL = &ttl
					z.Generation++
				})
			default: // the parent's own writes
				_, err = s.CreateRecord(ctx, store.Record("team-b", fmt.Sprintf("r-%d-%d", w, i), fmt.Sprintf("r-%d-%d.example.org.", w, i), "TXT", strconv.Itoa(i)))
			}
			if err != nil {
				t.Errorf("writer %d, write %d: %v", w, i, err)
				return
			}
		}
	})
	st.Settle() // fsck compares the cut with the child
}

// A tenant's stalled cascade must not stop another tenant's, and the zone that loses records to both is delivered after
// a minute.
func TestCascade_namespacesDoNotWaitForEachOther_S7_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var late atomic.Bool
	var held atomic.Int64
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := st.Server(func(c *ledger.Config) {
		c.Now = func() time.Time {
			if late.Load() {
				return time.Now().Add(2 * time.Minute)
			}
			return time.Now()
		}
		c.OnFault = func(point string) {
			if point == "cascade-step" && held.Add(-1) == 0 {
				close(reached)
				<-goOn
			}
		}
	})
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	st.Settle()
	const n = 20
	in := func(team string) (in int) {
		for _, r := range s.ListRecords(team) {
			if r.Status.ZoneRef != nil && r.Status.ZoneRef.Name == team {
				in++
			}
		}
		return in
	}
	for _, team := range []string{"a", "b"} {
		fillZone(t, s, n, func(i int) *v1alpha1.Record {
			return store.Record(team, fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.%s.example.org.", i, team), "A", "192.0.2.1")
		})
	}
	held.Store(1)
	store.Must(s.CreateZone(store.Zone("a", "a", "a.example.org.", store.Allow("", "*"))))
	<-reached
	store.Must(s.CreateZone(store.Zone("b", "b", "b.example.org.", store.Allow("", "*"))))
	store.Eventually(t, "b's records are in its zone", func() bool { return in("b") == n })
	if got := in("a"); got > 0 {
		t.Fatalf("%d of a's records are in a zone whose cascade stands still", got)
	}
	settled := func(ns, zone string) bool {
		z := s.Zone(ns, zone).Status
		return z.SettledSerial == z.Serial
	}
	store.Eventually(t, "b's zone is settled", func() bool { return settled("b", "b") })
	if settled("infra", "example") {
		t.Fatal("the parent is settled while a's records leave it")
	}
	late.Store(true)
	store.Eventually(t, "the parent is delivered as it is", func() bool { return settled("infra", "example") })
	close(goOn)
	st.Settle()
	stop()
	if got := in("a"); got != n {
		t.Errorf("%d of a's %d records are in its zone", got, n)
	}
	st.MustBeClean()
}

// When a zone's rules change, only Records of the namespaces concerned are decided again. Records of other namespaces
// cost no writes (S2.5).
func TestRules_concernTheirNamespaces(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	team := func(ns string) v1alpha1.DelegationRule { return store.Allow(ns, "*."+ns) }
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", team("a"), team("b"), team("c"))))
	const n = 60
	for i := range n {
		for _, ns := range []string{"a", "b"} {
			store.Must(s.CreateRecord(t.Context(), store.Record(ns, fmt.Sprint("r", i), fmt.Sprintf("r%d.%s.example.org.", i, ns), "A", "192.0.2.1")))
		}
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("c", "r", "r.c.example.org.", "A", "192.0.2.1")))
	st.Settle()
	for _, x := range []struct {
		rules   []v1alpha1.DelegationRule
		adopted bool // the record of c
		most    int64
	}{
		{[]v1alpha1.DelegationRule{team("a"), team("c")}, true, n}, // the records of b wait from now on
		{[]v1alpha1.DelegationRule{team("a")}, false, 1},
		{[]v1alpha1.DelegationRule{team("a"), team("c")}, true, 1},
		{[]v1alpha1.DelegationRule{team("c"), team("a")}, true, 0},
		{[]v1alpha1.DelegationRule{team("a")}, false, 1},
		{[]v1alpha1.DelegationRule{team("a"), store.Allow("", "*.c")}, true, 2*n + 1},
	} {
		before := s.Ledger.Stats().CascadeSteps.Load()
		store.Must(s.UpdateZone("infra", "org", func(z *v1alpha1.Zone) { z.Spec.Delegations = x.rules }))
		st.Settle()
		steps := s.Ledger.Stats().CascadeSteps.Load() - before
		if adopted := meta.IsStatusConditionTrue(s.Record("c", "r").Status.Conditions, v1alpha1.ConditionAdopted); adopted != x.adopted || steps > x.most || x.most > 2*n && steps < x.most {
			t.Errorf("with %d rules: the record is adopted: %t, want %t; %d steps, want at most %d", len(x.rules), adopted, x.adopted, steps, x.most)
		}
	}
	st.MustBeClean()
}
