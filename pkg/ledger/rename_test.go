// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// chainOf makes infra/z0 at top and n zones, each following the one before, each
// with a record of team-a.
func chainOf(t *testing.T, st *store.Store, s *store.Server, top string, n int) {
	t.Helper()
	stop := s.Run()
	rules := []v1alpha1.DelegationRule{store.Allow("", "@", "*"), {Zones: []string{"*"}}}
	store.Must(s.CreateZone(store.Zone("infra", "z0", top, rules...)))
	for i := range n {
		z := store.Zone("infra", fmt.Sprintf("z%d", i+1), fmt.Sprintf("l%d", i+1), rules...)
		z.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: fmt.Sprintf("z%d", i)}
		store.Must(s.CreateZone(z))
	}
	st.Settle()
	for i := range n + 1 {
		r := store.Record("team-a", fmt.Sprintf("r%d", i), "www", "A", "192.0.2.1")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: fmt.Sprintf("z%d", i)}
		store.Must(s.CreateRecord(t.Context(), r))
	}
	st.Settle()
	stop()
}

// chainIs: every zone and record of the chain has its name below top.
func chainIs(t *testing.T, s *store.Server, top string, n int) {
	t.Helper()
	want := top
	for i := range n + 1 {
		if i > 0 {
			want = fmt.Sprintf("l%d.%s", i, want)
		}
		if z := s.Zone("infra", fmt.Sprintf("z%d", i)); z.Status.FQDN != want {
			t.Errorf("zone %d is %s, want %s", i, z.Status.FQDN, want)
		}
		if r := s.Record("team-a", fmt.Sprintf("r%d", i)); r.Status.FQDN != "www."+want || r.Status.ZoneRef == nil {
			t.Errorf("record %d is %s, want www.%s", i, r.Status.FQDN, want)
		}
	}
}

// Three zones follow one another; the rename is interrupted anywhere, also between
// two of them, and goes on: each has one serial more for its name.
func TestCascade_chainRenamedInterrupted_S6_8(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	const n = 3
	chainOf(t, st, s, "example.org.", n)
	times := 0
	for _, to := range []string{"example.net.", "sub.example.net.", "example.net.", "example.org."} {
		serial := s.Zone("infra", "z3").Status.Serial
		z := store.Must(s.UpdateZone("infra", "z0", func(z *v1alpha1.Zone) { z.Spec.DomainName = to }))
		if z.Status.FQDN != to {
			t.Fatalf("renamed to %s: %s", to, z.Status.FQDN)
		}
		times += interrupted(t, st, nil)
		chainIs(t, s, to, n)
		if got := s.Zone("infra", "z3").Status.Serial; got <= serial || got > serial+3 {
			t.Errorf("renamed to %s: the last of the chain went from serial %d to %d", to, serial, got)
		}
	}
	t.Logf("%d interruptions", times)
}

// While a chain is renamed, clients of two servers try what must not be: zones at
// the new names, absolute names in zones that are about to leave, a second rename.
// Whatever they get, the chain arrives whole.
func TestRace_chainIsRenamedUnderLoad_S6_8(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	const n = 3
	chainOf(t, st, servers[0], "example.org.", n)
	servers[0].Run()
	servers[1].Run()
	ctx := deadline(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	var in, out atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(25 * time.Millisecond):
				}
				top := []string{"example.org.", "example.net."}[i%2]
				s, name := servers[w%2], fmt.Sprintf("x-%d-%d", w, i)
				var err error
				switch w {
				case 0: // where a zone of the chain will be, or below
					if _, err = s.CreateZone(store.Zone("foreign", name, []string{"l2.l1.", "x.l1.", "l1."}[i%3]+top, store.Allow("", "*"))); err == nil {
						err = s.DeleteZone("foreign", name)
					}
				case 1:
					if _, err = s.CreateRecord(ctx, store.Record("team-b", name, fmt.Sprintf("%s.l2.l1.%s", name, top), "A", "192.0.2.2")); err == nil {
						err = s.DeleteRecord(ctx, "team-b", name)
					}
				case 2: // what comes along
					r := store.Record("team-b", name, name, "A", "192.0.2.3")
					r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: fmt.Sprintf("z%d", i%(n+1))}
					if _, err = s.CreateRecord(ctx, r); err == nil && i%2 == 0 {
						err = s.DeleteRecord(ctx, "team-b", name)
					}
				case 3:
					_, err = s.UpdateZone("infra", "z2", func(z *v1alpha1.Zone) {
						ttl := int32(100 + i%300)
						z.Spec.TTL = &ttl
					})
				}
				switch {
				case err == nil:
					in.Add(1)
				case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
					out.Add(1)
				default:
					t.Errorf("client %d: %v", w, err)
					return
				}
			}
		})
	}
	renames, refused := 0, 0
	for i := 0; renames < scale(2, 1); i++ {
		to, seen := []string{"example.net.", "example.org."}[renames%2], in.Load()+out.Load()
		store.Eventually(t, "the others are at work", func() bool { return t.Failed() || in.Load()+out.Load() >= seen+int64(scale(20, 20)) })
		_, err := servers[i%2].WriteZone(ctx, "infra", "z0", func(z *v1alpha1.Zone) { z.Spec.DomainName = to; z.Generation++ })
		switch {
		case err == nil:
			renames++
			st.MustBeClean() // in the midst of it
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err): // under way, or an absolute name is in it for the moment
			refused++
		default:
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
	st.Settle()
	chainIs(t, servers[0], []string{"example.org.", "example.net."}[renames%2], n)
	t.Logf("%d renames, %d refused meanwhile; of the others' writes %d passed, %d were refused", renames, refused, in.Load(), out.Load())
}

// A crash in each window of the first commit and of the chain's: fault points are
// taken one after the other, by a server that renames and one that goes on.
func TestCascade_renameDiesInEachWindow_I4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for at := int64(1); ; at += int64(scale(1, 5)) {
		st := store.New(t)
		var m mishap
		ctx, cancel := context.WithCancel(t.Context())
		s := st.Server(func(c *ledger.Config) {
			c.Fault = func(string) {
				if m.left.Add(-1) == 0 {
					runtime.Goexit()
				}
			}
		})
		chainOf(t, st, s, "example.org.", 3)
		m.left.Store(at)
		died, done := true, make(chan struct{})
		go func() {
			defer close(done)
			store.Must(s.UpdateZone("infra", "z0", func(z *v1alpha1.Zone) { z.Spec.DomainName = "example.net." }))
			s.Ledger.CarryOut(ctx)
			died = false
		}()
		<-done
		if r := st.Fsck(); !r.Clean() {
			t.Fatalf("died at fault point %d: %s", at, store.Text(r))
		}
		next := st.Server()
		next.Run()
		st.Settle()
		top := next.Zone("infra", "z0").Spec.DomainName
		chainIs(t, next, top, 3)
		cancel()
		if !died {
			if at < 20 {
				t.Errorf("only %d windows", at)
			}
			return
		}
	}
}

// The dry run of a rename refuses what the write refuses, and says what would be (S7.3).
func TestPreview_renameOfAChain_S6_8(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(today)
	chainOf(t, st, s, "example.org.", 2)
	rename := func(to string) (error, error) {
		before := s.Zone("infra", "z0")
		after := before.DeepCopy()
		after.Spec.DomainName = to
		after.Generation++
		said := s.Ledger.PreviewZone(s.Ledger.WithEstablish(t.Context(), true), before, after)
		z, wrote := s.UpdateZone("infra", "z0", func(z *v1alpha1.Zone) { z.Spec.DomainName = to })
		if wrote == nil && (after.Status.FQDN != z.Status.FQDN || after.Status.Serial != z.Status.Serial || after.Status.Hash != z.Status.Hash) {
			t.Errorf("the dry run said %s serial %d, the write %s serial %d", after.Status.FQDN, after.Status.Serial, z.Status.FQDN, z.Status.Serial)
		}
		return said, wrote
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "abs", "abs.l2.l1.example.org.", "A", "192.0.2.1")))
	said, wrote := rename("example.net.")
	if said == nil || wrote == nil || said.Error() != wrote.Error() || !strings.Contains(wrote.Error(), "1 records with absolute names") {
		t.Errorf("the dry run: %v; the write: %v", said, wrote)
	}
	if err := s.DeleteRecord(t.Context(), "team-a", "abs"); err != nil {
		t.Fatal(err)
	}
	if said, wrote = rename("example.net."); said != nil || wrote != nil {
		t.Errorf("the dry run: %v; the write: %v", said, wrote)
	}
	s.Run()
	st.Settle()
	chainIs(t, s, "example.net.", 2)
}

// As many as one rename takes along fit into its first transaction, each with
// records, name servers and a zone below it; one more is 422.
func TestCascade_renameTakesAlongAsManyAsItSays_S6_8(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	rules := []v1alpha1.DelegationRule{store.Allow("", "@", "*"), {Zones: []string{"*"}}}
	store.Must(s.CreateZone(store.Zone("infra", "top", "top.example.org.", rules...)))
	follow := func(name, of string) {
		z := store.Zone("infra", name, "l-"+name, rules...)
		z.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: of}
		store.Must(s.CreateZone(z))
	}
	for i := range law.MaxFollowers / 2 {
		follow(fmt.Sprintf("a%d", i), "top")
		follow(fmt.Sprintf("b%d", i), fmt.Sprintf("a%d", i))
		r := store.Record("team-a", fmt.Sprintf("r%d", i), "www", "A", "192.0.2.1")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: fmt.Sprintf("b%d", i)}
		store.Must(s.CreateRecord(t.Context(), r))
	}
	s.Run()
	st.Settle()
	follow("more", "top")
	rename := func(to string) error {
		_, err := s.UpdateZone("infra", "top", func(z *v1alpha1.Zone) { z.Spec.DomainName = to })
		return err
	}
	if err := rename("top.example.net."); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "41 zones follow it") {
		t.Errorf("one more than fits: %v, want 422 with the number", err)
	}
	if err := s.DeleteZone("infra", "more"); err != nil {
		t.Fatal(err)
	}
	st.Settle()
	if err := rename("top.example.net."); err != nil {
		t.Fatal(err)
	}
	st.MustBeClean()
	st.Settle()
	for i := range law.MaxFollowers / 2 {
		if z, want := s.Zone("infra", fmt.Sprintf("b%d", i)), fmt.Sprintf("l-b%d.l-a%d.top.example.net.", i, i); z.Status.FQDN != want {
			t.Errorf("%s, want %s", z.Status.FQDN, want)
		}
		if r := s.Record("team-a", fmt.Sprintf("r%d", i)); !strings.HasSuffix(r.Status.FQDN, ".top.example.net.") {
			t.Errorf("record %s", r.Status.FQDN)
		}
	}
}
