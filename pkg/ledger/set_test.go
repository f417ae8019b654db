// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// setWrite is one write of a change set.
type setWrite func(context.Context, *store.Server) error

func created(r *v1alpha1.Record) setWrite {
	return func(ctx context.Context, s *store.Server) error {
		_, err := s.CreateRecord(ctx, r)
		return err
	}
}

func changed(ns, name string, change func(*v1alpha1.Record)) setWrite {
	return func(ctx context.Context, s *store.Server) error {
		_, err := s.UpdateRecord(ctx, ns, name, change)
		return err
	}
}

func valued(ns, name string, values ...string) setWrite {
	return changed(ns, name, func(r *v1alpha1.Record) { r.Spec.Values = values })
}

func deleted(ns, name string) setWrite {
	return func(ctx context.Context, s *store.Server) error { return s.DeleteRecord(ctx, ns, name) }
}

// inSet makes the writes as one change set, as a ChangeSet's items are.
func inSet(ctx context.Context, s *store.Server, writes ...setWrite) (*ledger.Set, []error) {
	set, errs := s.Ledger.NewSet(len(writes)), make([]error, len(writes))
	parallel(len(writes), func(i int) {
		errs[i] = writes[i](set.Context(ctx, i), s)
		set.Leave(i, errs[i] != nil)
	})
	return set, errs
}

// exampleOrg is a server with the zone example.org. of platform, in which team writes too, and records of the names in it.
func exampleOrg(t *testing.T, st *store.Store, names ...string) *store.Server {
	s := st.Server(today)
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*", "@"))))
	for _, name := range names {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	return s
}

func text(errs []error) string {
	var lines []string
	for i, err := range errs {
		lines = append(lines, fmt.Sprintf("%d: %v", i, err))
	}
	return strings.Join(lines, "\n")
}

// S10.1, S10.2: creations, updates and deletions are one transaction, one serial and one step; each object has a version of its own.
func TestSet_isOneSerial_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := exampleOrg(t, st, "a", "b", "c", "d")
	before := s.Zone("platform", "example-org")
	set, errs := inSet(t.Context(), s,
		created(store.Record("team", "new", "new.example.org.", "A", "192.0.2.9")), valued("team", "a", "192.0.2.2"), deleted("team", "b"),
		changed("team", "c", func(r *v1alpha1.Record) { r.Labels = map[string]string{"x": "y"} }), changed("team", "d", func(*v1alpha1.Record) {}))
	if errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	keys, revisions := layout.Keys{Prefix: st.Prefix}, map[int64]bool{}
	for _, key := range []string{keys.Zone("platform", "example-org"), keys.Record("team", "new"), keys.Record("team", "a"), keys.Record("team", "c")} {
		revisions[store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].ModRevision] = true
	}
	if len(revisions) != 1 {
		t.Errorf("%d transactions, want one", len(revisions))
	}
	after := s.Zone("platform", "example-org")
	if after.Status.Serial != before.Status.Serial+1 || after.Status.ContentGeneration != before.Status.ContentGeneration+1 {
		t.Errorf("from serial %d to %d", before.Status.Serial, after.Status.Serial)
	}
	if ref, serial := set.Committed(); serial != after.Status.Serial || ref.UID != after.UID || ref.Name != "example-org" {
		t.Errorf("the set says %v at %d", ref, serial)
	}
	versions := map[string]bool{}
	for _, r := range s.ListRecords("team") {
		versions[r.ResourceVersion] = true
		if r.Name != "c" && r.Name != "d" && r.Status.Serial != after.Status.Serial {
			t.Errorf("%s has serial %d", r.Name, r.Status.Serial)
		}
	}
	if len(versions) != 4 {
		t.Errorf("four objects have %d versions", len(versions))
	}
	tx := journalled(t, st, after)
	if len(tx.Steps) != 1 || len(tx.Steps[0].Added) != 2 || len(tx.Steps[0].Removed) != 2 || int64(tx.Steps[0].From) != before.Status.Serial {
		t.Errorf("the journal has %+v", tx.Steps)
	}
}

// journalled is the last value in the journal of a zone.
func journalled(t *testing.T, st *store.Store, z *v1alpha1.Zone) content.Transaction {
	t.Helper()
	var tx content.Transaction
	r := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Step(string(z.UID), uint64(z.Status.ContentGeneration))))
	if len(r.Kvs) != 1 {
		t.Fatalf("%d values at step %d", len(r.Kvs), z.Status.ContentGeneration)
	}
	if err := layout.Decode(r.Kvs[0].Value, &tx); err != nil {
		t.Fatal(err)
	}
	return tx
}

// S10.3: one refusal, and nothing is written; each item that is refused says why, the others that the set is not written.
func TestSet_isRefusedWhole_S10_3(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a", "b")
	store.Must(s.CreateRecord(t.Context(), store.Record("other", "held", "held.example.org.", "A", "192.0.2.1")))
	store.Must(s.CreateZone(store.Zone("platform", "net", "example.net.", store.Allow("", "*"))))
	serial := s.Zone("platform", "example-org").Status.Serial
	set, errs := inSet(t.Context(), s,
		valued("team", "a", "192.0.2.2"), created(store.Record("team", "held", "held.example.org.", "A", "192.0.2.9")),
		created(store.Record("team", "away", "www.example.net.", "A", "192.0.2.9")), created(store.Record("team", "none", "www.nowhere.test.", "A", "192.0.2.9")),
		changed("team", "b", func(r *v1alpha1.Record) { r.Spec.DomainName = "b.example.net." }))
	for i, want := range []string{"other items of it were refused", "another namespace", "belongs to zone example.net.", "no zone takes it in", "moves to zone example.net."} {
		if errs[i] == nil || !strings.Contains(errs[i].Error(), want) {
			t.Errorf("%d: %v\nwant %s", i, errs[i], want)
		}
	}
	if after := s.Zone("platform", "example-org").Status.Serial; after != serial || len(s.ListRecords("team")) != 2 || s.Record("team", "a").Spec.Values[0] != "192.0.2.1" {
		t.Errorf("something was written: serial %d to %d", serial, after)
	}
	if ref, _ := set.Committed(); ref != nil || set.Creates() != 3 {
		t.Errorf("committed in %v, creations %d", ref, set.Creates())
	}
}

// S10.3: where an item is refused before it comes to the decision, the others are decided all the same, for their refusals.
func TestSet_tellsAllRefusals_S10_3(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a")
	store.Must(s.CreateRecord(t.Context(), store.Record("other", "held", "held.example.org.", "A", "192.0.2.1")))
	denied := errors.New("denied by a webhook")
	_, errs := inSet(t.Context(), s, valued("team", "a", "192.0.2.2"),
		func(context.Context, *store.Server) error { return denied }, created(store.Record("team", "held", "held.example.org.", "A", "192.0.2.9")))
	if errs[1] != denied || !apierrors.IsForbidden(errs[2]) || apierrors.ReasonForError(errs[0]) != v1alpha1.StatusReasonChangeSetEnded {
		t.Error(text(errs))
	}
	if s.Record("team", "a").Spec.Values[0] != "192.0.2.1" {
		t.Error("it was written")
	}
}

// S10.2: what one item frees another may have, in whichever order they stand; and what they do together is what counts.
func TestSet_isDecidedTogether_S10_2(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a")
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "alias", "www.example.org.", "CNAME", "a.example.org.")))
	_, errs := inSet(t.Context(), s, created(store.Record("team", "www", "www.example.org.", "A", "192.0.2.9")), deleted("team", "alias"))
	if errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	// An alias that moves away, behind the address that takes its name.
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "alias", "web.example.org.", "CNAME", "a.example.org.")))
	if _, errs = inSet(t.Context(), s, created(store.Record("team", "web", "web.example.org.", "A", "192.0.2.9")),
		changed("team", "alias", func(r *v1alpha1.Record) { r.Spec.DomainName = "web2.example.org." })); errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	// The same data by another record: no new content, so no new serial (S6.6).
	before := s.Zone("platform", "example-org").Status
	set, errs := inSet(t.Context(), s, created(store.Record("team", "a2", "a.example.org.", "A", "192.0.2.1")), deleted("team", "a"))
	if errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	after := s.Zone("platform", "example-org").Status
	if _, serial := set.Committed(); after.Serial != before.Serial || after.Hash != before.Hash || serial != before.Serial || s.Record("team", "a2").Status.Serial != before.Serial {
		t.Errorf("serial %d to %d, the record's %d", before.Serial, after.Serial, s.Record("team", "a2").Status.Serial)
	}
	if _, err := s.CreateRecord(t.Context(), store.Record("team", "next", "next.example.org.", "A", "192.0.2.1")); err != nil {
		t.Error(err)
	}
}

// S10.2, S7.5: no content between two items was ever there, so a set that removes much and puts it back under other names is no mass deletion,
// and one that removes too much is held at the serial of before.
func TestSet_isOneContentForMassDeletions_S7_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	exampleOrg(t, st)
	var told atomic.Int64
	s := st.Server(today, func(c *ledger.Config) { c.Held = func(*v1alpha1.Zone) { told.Add(1) } })
	store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) { z.Spec.Limits = nil }))
	s.Run()
	st.Settle()
	var first, second, gone []setWrite
	for i := range 20 {
		store.Must(s.CreateRecord(t.Context(), store.Record("platform", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
		first = append(first, created(store.Record("platform", fmt.Sprintf("s%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.2")), deleted("platform", fmt.Sprintf("r%d", i)))
		second = append(second, created(store.Record("platform", fmt.Sprintf("t%d", i), fmt.Sprintf("t%d.example.org.", i), "A", "192.0.2.2")))
		gone = append(gone, deleted("platform", fmt.Sprintf("s%d", i)))
	}
	if _, errs := inSet(t.Context(), s, first...); errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	before := s.Zone("platform", "example-org").Status
	if before.SettledSerial != before.Serial || told.Load() != 0 {
		t.Fatalf("held at %d of %d, told %d times", before.SettledSerial, before.Serial, told.Load())
	}
	if _, errs := inSet(t.Context(), s, append(second, gone...)...); errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	if after := s.Zone("platform", "example-org").Status; after.SettledSerial != before.Serial || after.Serial != before.Serial+1 || told.Load() != 1 {
		t.Errorf("%d is delivered of %d, want %d; told %d times", after.SettledSerial, after.Serial, before.Serial, told.Load())
	}
}

// S10.2: what changes while others of the set are waited for is met by another decision, also where an item changes nothing.
func TestSet_isDecidedAnew_S10_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := exampleOrg(t, st, "a", "b", "c")
	others := st.Server(today)
	held := make(chan struct{})
	runs := atomic.Int64{}
	_, errs := inSet(t.Context(), s, valued("team", "a", "192.0.2.2"), changed("team", "b", func(r *v1alpha1.Record) {
		runs.Add(1)
		r.Spec.Values = append(r.Spec.Values[:1], "192.0.2.7")
	}), changed("team", "c", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.1"} }), func(ctx context.Context, s *store.Server) error {
		close(held)
		for _, change := range []setWrite{valued("team", "b", "192.0.2.3"), valued("team", "c", "192.0.2.3"), created(store.Record("team", "e", "e.example.org.", "A", "192.0.2.3"))} {
			if err := change(context.WithoutCancel(t.Context()), others); err != nil { // which no lock of the set holds up
				return err
			}
		}
		return created(store.Record("team", "d", "d.example.org.", "A", "192.0.2.3"))(ctx, s)
	})
	<-held
	if errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	if b := s.Record("team", "b").Spec.Values; fmt.Sprint(b) != "[192.0.2.3 192.0.2.7]" {
		t.Errorf("b is %v: what came meanwhile is lost", b)
	}
	if c := s.Record("team", "c").Spec.Values; fmt.Sprint(c) != "[192.0.2.1]" {
		t.Errorf("c is %v: the item that changed nothing does not hold", c)
	}
}

// S10.2: a record that a cascade releases, and a zone that is made anew, while others of the set are waited for: what was read of them goes with
// nothing that stands, and the items are decided on what does.
func TestSet_isDecidedAnewAfterACascade_S10_2(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		meanwhile func(*store.Server)
		refused   bool
	}{
		"released": {func(s *store.Server) {
			store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("other", "*")} }))
		}, true},
		"in a zone that went": {func(s *store.Server) {
			store.Must(0, s.DeleteZone("platform", "example-org"))
		}, true},
		"in another zone of the name": {func(s *store.Server) {
			store.Must(0, s.DeleteZone("platform", "example-org"))
			store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*", "@"))))
		}, false},
	} {
		for _, settled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, settled %t", what, settled), func(t *testing.T) {
				t.Parallel()
				st := store.New(t)
				s, others := exampleOrg(t, st, "a", "b"), st.Server(today)
				stop := others.Run()
				st.Settle()
				if !settled {
					stop()
				}
				set, errs, ctx := s.Ledger.NewSet(2), make([]error, 2), deadline(t)
				write := func(i int, name string) {
					errs[i] = valued("team", name, "192.0.2.2")(set.Context(ctx, i), s)
					set.Leave(i, errs[i] != nil)
				}
				var first sync.WaitGroup
				first.Go(func() { write(0, "a") })
				store.Eventually(t, "the first has come", func() bool { return set.Came(0) })
				c.meanwhile(others)
				if settled {
					st.Settle()
				}
				if settled {
					store.Must(s.CreateRecord(ctx, store.Record("other", "o", "o.example.org.", "A", "192.0.2.1"))) // so this server has read the zone anew
				}
				write(1, "b")
				first.Wait()
				for i, err := range errs {
					var status apierrors.APIStatus
					if err != nil && !errors.As(err, &status) || err == nil && settled && c.refused || err != nil && settled && !c.refused {
						t.Errorf("%d: %v", i, err)
					}
				}
				others.Run()
				st.Settle()
			})
		}
	}
}

// S10.6: the end of one item's request ends the set, and what waits for it is released.
func TestSet_endsWithAnyOfItsRequests_S10_6(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a", "b")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	set := s.Ledger.NewSet(2)
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = valued("team", "a", "192.0.2.2")(set.Context(ctx, 0), s) })
	store.Eventually(t, "the first has come", func() bool { return set.Came(0) })
	cancel(gone)
	wg.Wait()
	if !errors.Is(err, gone) {
		t.Errorf("the first says %v", err)
	}
	if err := valued("team", "b", "192.0.2.2")(set.Context(t.Context(), 1), s); !errors.Is(err, gone) {
		t.Errorf("the second says %v", err)
	}
	if err := valued("team", "a", "192.0.2.5")(t.Context(), s); err != nil {
		t.Error(err)
	}
	if s.Record("team", "b").Spec.Values[0] != "192.0.2.1" {
		t.Error("the second was written")
	}
}

// S10.2: what a set owes elsewhere is owed in its transaction: a name that becomes free is had by who waits for it.
func TestSet_owesWhatItsItemsOwe(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := exampleOrg(t, st, "www")
	s.Run()
	store.Must(s.CreateZone(store.Zone("platform", "dev", "dev.example.net.", store.Allow("", "*"))))
	// A record that waits behind a CNAME: it comes by the cascade of a new zone, and loses to what is there.
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "late", "x.example.com.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "older", "x.example.com.", "CNAME", "www.example.org.")))
	store.Must(s.CreateZone(store.Zone("platform", "com", "example.com.", store.Allow("", "*"))))
	st.Settle()
	first, second := "late", "older"
	if s.Record("team", "late").Status.ZoneRef == nil {
		first, second = second, first
	}
	if _, errs := inSet(t.Context(), s, deleted("team", first), created(store.Record("team", "y", "y.example.com.", "A", "192.0.2.1"))); errors.Join(errs...) != nil {
		t.Fatal(text(errs))
	}
	st.Settle()
	if s.Record("team", second).Status.ZoneRef == nil {
		t.Errorf("%s waits for a name that is free", second)
	}
}

// S10.5: what etcd does not take is refused before anything is written, with what it takes.
func TestSet_saysWhatEtcdTakes_S10_5(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = 40 }), "/registry/kubizone")
	s := exampleOrg(t, st)
	set := func(n int) (writes []setWrite) {
		for i := range n {
			writes = append(writes, created(store.Record("team", fmt.Sprintf("r%d-%d", n, i), fmt.Sprintf("r%d-%d.example.org.", n, i), "A", "192.0.2.1")))
		}
		return writes
	}
	_, errs := inSet(t.Context(), s, set(20)...)
	for _, err := range errs {
		if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "and etcd takes 40;") {
			t.Fatal(text(errs))
		}
	}
	if len(s.ListRecords("team")) != 0 {
		t.Error("something was written")
	}
	if _, errs := inSet(t.Context(), s, set(5)...); errors.Join(errs...) != nil {
		t.Error(text(errs))
	}
}

// S10.2, S6.1: name servers of a child and their addresses, changed together, are in its parent when the set is answered, in an encrypted store too.
func TestSet_paysTheParent_S6_1(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*store.Store){"plain": func(*store.Store) {}, "encrypted": store.Encrypted(provided("one"))} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			st := store.New(t, change)
			s := st.Server(today)
			top := store.Zone("platform", "top", "example.org.", store.Allow("", "*"))
			top.Spec.Delegations[0].Zones = []string{"*"}
			store.Must(s.CreateZone(top))
			store.Must(s.CreateZone(store.Zone("team", "dev", "dev.example.org.", store.Allow("", "*", "@"))))
			before := s.Zone("platform", "top").Status
			set, errs := inSet(t.Context(), s,
				created(store.Record("team", "ns", "dev.example.org.", "NS", "ns8.dev.example.org.", "ns9.dev.example.org.")),
				created(store.Record("team", "ns8", "ns8.dev.example.org.", "A", "192.0.2.60")), created(store.Record("team", "ns9", "ns9.dev.example.org.", "AAAA", "2001:db8::60")))
			if errors.Join(errs...) != nil {
				t.Fatal(text(errs))
			}
			if ref, _ := set.Committed(); ref.Name != "dev" {
				t.Errorf("committed in %v", ref)
			}
			if after := s.Zone("platform", "top").Status; after.EntryCount != before.EntryCount+4 || after.Serial != before.Serial+1 {
				t.Errorf("the parent had %d entries and has %d, its serial was %d and is %d", before.EntryCount, after.EntryCount, before.Serial, after.Serial)
			}
		})
	}
}

// S10.6: a set pays the parent when it holds the lock of no zone any more: what changes both takes the parent's first, and each would wait for
// the other's until its time ends.
func TestSet_paysWithoutLocks_S10_6(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(today, func(c *ledger.Config) { c.Fault = g.pass })
	top := store.Zone("platform", "top", "example.org.", store.Allow("", "*"))
	top.Spec.Delegations[0].Zones = []string{"*"}
	store.Must(s.CreateZone(top))
	store.Must(s.CreateZone(store.Zone("team", "dev", "dev.example.org.", store.Allow("", "*", "@"))))
	g.set("before-commit")
	var set sync.WaitGroup
	set.Go(func() {
		if _, errs := inSet(deadline(t), s, created(store.Record("team", "ns", "dev.example.org.", "NS", "ns8.example.net."))); errs[0] != nil {
			t.Error(errs[0])
		}
	})
	<-g.reached
	if !s.Ledger.Locked("team", "dev") {
		t.Error("the set is committed without the lock of its zone")
	}
	g.set("before-commit")
	<-g.reached
	if !s.Ledger.Locked("platform", "top") || s.Ledger.Locked("team", "dev") {
		t.Error("the parent is paid without its lock, or under the child's")
	}
	g.set("")
	set.Wait()
}

// S10.1: one zone, by whichever of its names its Records say so, and by whichever rule they are in it.
func TestSet_isOfOneZoneByAnyName_S10_1(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	byRef := store.Record("team", "ref", "ref", "A", "192.0.2.1")
	byRef.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "example-org"}
	if _, errs := inSet(t.Context(), s, created(byRef), created(store.Record("team", "absolute", "absolute.example.org.", "A", "192.0.2.1"))); errors.Join(errs...) != nil {
		t.Error(text(errs))
	}
}

// S10.5: what is decided by all names below its own is refused where others of the set write there, and taken where they do not.
func TestSet_refusesWhatRestsOnOthers_S10_5(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	cut := store.Record("platform", "cut", "sub.example.org.", "NS", "ns.example.net.")
	_, errs := inSet(t.Context(), s, created(store.Record("platform", "below", "www.sub.example.org.", "A", "192.0.2.1")), created(cut))
	if !apierrors.IsInvalid(errs[1]) || !strings.Contains(errs[1].Error(), "is decided by all that stands below sub") {
		t.Error(text(errs))
	}
	if _, errs := inSet(t.Context(), s, created(store.Record("platform", "beside", "www.example.org.", "A", "192.0.2.1")), created(cut.DeepCopy())); errors.Join(errs...) != nil {
		t.Error(text(errs))
	}
}

// S10.5: a hundred items are one transaction of an etcd that takes 512 operations.
func TestSet_ofAHundred_S10_5(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	var writes []setWrite
	for i := range v1alpha1.MaxChangeSetItems {
		writes = append(writes, created(store.Record("team", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
	}
	serial := s.Zone("platform", "example-org").Status.Serial
	if _, errs := inSet(t.Context(), s, writes...); errors.Join(errs...) != nil || s.Zone("platform", "example-org").Status.Serial != serial+1 {
		t.Error(text(errs))
	}
}

// S10.1: beside lone writes, batches and other sets, on two servers, a set is seen whole or not at all.
func TestRace_setsAreWhole_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{exampleOrg(t, st, "left", "right", "count"), st.Server(today)}
	ctx := deadline(t)
	var wrote atomic.Int64
	parallel(8, func(w int) {
		s := servers[w%2]
		for i := range scale(60, 12) {
			value := fmt.Sprintf("192.0.%d.%d", w+1, i+1)
			if w < 4 {
				_, errs := inSet(ctx, s, valued("team", "left", value), valued("team", "right", value), created(store.Record("team", fmt.Sprintf("s%d-%d", w, i), fmt.Sprintf("s%d-%d.example.org.", w, i), "A", value)))
				if errors.Join(errs...) != nil {
					t.Error(text(errs))
				}
			} else if _, err := s.CreateRecord(ctx, store.Record("team", fmt.Sprintf("r%d-%d", w, i), fmt.Sprintf("r%d-%d.example.org.", w, i), "A", value)); err != nil {
				t.Error(err)
			}
			wrote.Add(1)
		}
	})
	if l, r := s0(servers).Record("team", "left"), s0(servers).Record("team", "right"); l.Spec.Values[0] != r.Spec.Values[0] || l.Status.Serial != r.Status.Serial {
		t.Errorf("left is %v at %d, right %v at %d", l.Spec.Values, l.Status.Serial, r.Spec.Values, r.Status.Serial)
	}
	if have := len(s0(servers).ListRecords("team")); int64(have) != wrote.Load()+3 {
		t.Errorf("%d records, want %d", have, wrote.Load()+3)
	}
}

func s0(servers []*store.Server) *store.Server { return servers[0] }

// S10.7: a preview of a set decides all together, and writes nothing.
func TestSet_previews_S10_7(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	alias := store.Must(s.CreateRecord(t.Context(), store.Record("team", "alias", "www.example.org.", "CNAME", "a.example.org.")))
	serial := s.Zone("platform", "example-org").Status.Serial
	www := store.Record("team", "www", "www.example.org.", "A", "192.0.2.9")
	set := s.Ledger.NewSet(2)
	errs := make([]error, 2)
	parallel(2, func(i int) {
		if i == 0 {
			errs[i] = s.Ledger.PreviewRecord(set.Context(t.Context(), i), nil, www)
		} else {
			errs[i] = s.Ledger.PreviewRecord(set.Context(t.Context(), i), alias, nil)
		}
	})
	if errors.Join(errs...) != nil || www.Status.Serial != serial+1 {
		t.Errorf("%s, serial %d", text(errs), www.Status.Serial)
	}
	if _, would := set.Committed(); would != serial+1 {
		t.Errorf("the set says serial %d", would)
	}
	if now := s.Zone("platform", "example-org").Status.Serial; now != serial || len(s.ListRecords("team")) != 1 {
		t.Errorf("serial %d to %d", serial, now)
	}
}
