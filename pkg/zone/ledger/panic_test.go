// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

// faults makes decisions panic at Records with these names and at points of a write, once for each mention.
type faults struct {
	mu sync.Mutex
	at []string
}

func (f *faults) setFaults(at ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

func (f *faults) meetFault(at string, stays bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.at, at)
	if i < 0 {
		return
	}
	if !stays {
		f.at = slices.Delete(slices.Clone(f.at), i, i+1)
	}
	panic("the test says so at " + at)
}

type faultyCodec struct {
	runtime.Codec
	faults *faults
}

func (c faultyCodec) Encode(o runtime.Object, w io.Writer) error {
	if m, ok := o.(metav1.Object); ok {
		c.faults.meetFault(m.GetName(), true)
	}
	return c.Codec.Encode(o, w)
}

func (f *faults) injectFaults(c *ledger.Config) {
	c.Records.Codec = faultyCodec{c.Records.Codec, f}
	before := c.OnFault
	c.OnFault = func(point string) {
		if before != nil {
			before(point)
		}
		f.meetFault(point, false)
	}
}

func wantFault(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v: want 500 that says %q", err, want)
	}
	for _, inner := range []string{"goroutine", ".go:", "the test says so"} {
		if err != nil && strings.Contains(err.Error(), inner) {
			t.Errorf("the client reads %q of the server's inside: %v", inner, err)
		}
	}
}

// faultyZone returns a server with the zone infra/z, which is example.org. and open to every namespace.
func faultyZone(t *testing.T, st *store.Store, f *faults, change ...func(*ledger.Config)) *store.Server {
	s := st.Server(append(change, f.injectFaults)...)
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	return s
}

func mustGoOn(t *testing.T, s *store.Server, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.CreateRecord(ctx, store.Record("team", name, name+".example.org.", "A", "192.0.2.1")); err != nil {
		t.Errorf("the next write of the zone: %v", err)
	}
	if err := s.Ledger.AwaitUnlocked(ctx, "infra", "z"); err != nil {
		t.Errorf("the zone stays locked: %v", err)
	}
}

// A panic during a write answers this write with an error that says whether something may have been written. Later
// writes of the zone succeed.
func TestPanic_ofAWrite(t *testing.T) {
	t.Parallel()
	st, f := store.New(t), &faults{}
	s := faultyZone(t, st, f)
	for _, test := range []struct{ fault, want string }{
		{"bad", "nothing was written"}, // during the decision
		{"before-commit", "nothing was written"},
		{"after-commit", "whether it was written is not known"},
	} {
		f.setFaults(test.fault)
		_, err := s.CreateRecord(t.Context(), store.Record("team", "bad", "bad.example.org.", "A", "192.0.2.1"))
		f.setFaults()
		wantFault(t, err, test.want)
		mustGoOn(t, s, "after-"+test.fault)
	}
	s.Record("team", "bad") // written by the last case
	if n := s.Ledger.Stats().Panics.Load(); n != 3 {
		t.Errorf("%d panics are counted, want 3", n)
	}
	f.setFaults("before-commit")
	_, err := s.UpdateZone("infra", "z", func(o *v1alpha1.Zone) { o.Spec.Delegations = append(o.Spec.Delegations, store.Allow("more", "more")) })
	wantFault(t, err, "nothing was written")
	mustGoOn(t, s, "after-zone")
	f.setFaults("before-commit")
	wantFault(t, s.DeleteRecord(t.Context(), "team", "bad"), "nothing was written")
	mustGoOn(t, s, "after-deletion")
	s.Run()
	st.Settle()
}

func TestPanic_ofAWriteInABatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, fault string
		failed      int
	}{
		{"while one is decided", "r2", 1},
		{"where no one write is to blame", "before-commit", 1},
		{"after the commit", "after-commit", 5},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			st, f, g := store.New(t), &faults{}, &gate{}
			s := faultyZone(t, st, f, func(c *ledger.Config) { c.OnFault = g.passPoint })
			var failed atomic.Int64
			g.holdAt("before-commit")
			alone := make(chan error, 1)
			go func() { alone <- createAt(s, 100) }()
			<-g.reached
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() {
					err := createAt(s, i)
					if err == nil {
						return
					}
					failed.Add(1)
					want := "nothing was written"
					if test.fault == "after-commit" {
						want = "whether it was written is not known"
					}
					wantFault(t, err, want)
				})
				store.Eventually(t, "a write waits at the zone", func() bool { return s.Ledger.Waiting("infra", "z") == i+1 })
			}
			switch test.fault {
			case "before-commit": // of the batch, and then of the first write alone
				g.holdAt("before-commit")
				if err := <-alone; err != nil {
					t.Fatal(err)
				}
				<-g.reached
				f.setFaults(test.fault, test.fault)
				g.holdAt("")
			case "after-commit":
				g.holdAt("before-commit")
				if err := <-alone; err != nil {
					t.Fatal(err)
				}
				<-g.reached
				f.setFaults(test.fault)
				g.holdAt("")
			default:
				f.setFaults(test.fault)
				g.holdAt("")
				if err := <-alone; err != nil {
					t.Fatal(err)
				}
			}
			all.Wait()
			f.setFaults()
			if int(failed.Load()) != test.failed {
				t.Errorf("%d of 5 writes failed, want %d", failed.Load(), test.failed)
			}
			mustGoOn(t, s, "next")
			want := 7 - test.failed
			if test.fault == "after-commit" {
				want = 7
			}
			if n := len(s.ListRecords("team")); n != want {
				t.Errorf("%d records stand, want %d", n, want)
			}
			s.Run()
			st.Settle()
		})
	}
}

// A panic in one write of a change set answers all writes of the set.
func TestPanic_ofAChangeSet(t *testing.T) {
	t.Parallel()
	st, f := store.New(t), &faults{}
	s := faultyZone(t, st, f)
	for i, test := range []struct{ fault, want string }{
		{"bad", "nothing was written"},
		{"before-commit", "nothing was written"},
		{"after-commit", "whether it was written is not known"},
	} {
		f.setFaults(test.fault)
		name := fmt.Sprintf("good%d", i)
		set, errs := inSet(t.Context(), s, createLater(store.Record("team", "bad", "bad.example.org.", "A", "192.0.2.1")),
			createLater(store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
		f.setFaults()
		for _, err := range append(errs, set.Err()) {
			wantFault(t, err, test.want)
		}
		mustGoOn(t, s, "after-"+test.fault)
	}
	s.Record("team", "good2")
	s.Run()
	st.Settle()
}

// warningFault panics at the fault "warning" when a Warning is added.
type warningFault struct{ faults *faults }

func (w warningFault) AddWarning(string, string) { w.faults.meetFault("warning", false) }

// A panic after the commit of a change set becomes the error of the set, which says that it may be written. The zone
// accepts further writes.
func TestPanic_afterTheCommitOfAChangeSet(t *testing.T) {
	t.Parallel()
	st, f := store.New(t), &faults{}
	s := faultyZone(t, st, f)
	f.setFaults("warning")
	set, _ := inSet(warning.WithWarningRecorder(t.Context(), warningFault{f}), s,
		createLater(store.Record("team", "a", "a.example.org.", "MX", "10 host.example.org."))) // a host that the zone lacks
	f.setFaults()
	wantFault(t, set.Err(), "whether it was written is not known")
	if zone, _ := set.CommittedZone(); zone != nil || set.NothingWritten() {
		t.Errorf("committed in %v, unwritten %t", zone, set.NothingWritten())
	}
	mustGoOn(t, s, "after")
	s.Record("team", "a")
	s.Run()
	st.Settle()
}

// A panic while a cascade decides a Record, or between its steps, ends neither the server nor the cascade. Clients can
// write to the zone meanwhile, and the cascade completes later.
func TestPanic_ofACascade(t *testing.T) {
	t.Parallel()
	st, f := store.New(t), &faults{}
	s := st.Server(f.injectFaults)
	for _, name := range []string{"bad", "good"} { // both wait for a zone
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	f.setFaults("bad")
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	// The record panics once together with the other record, and once alone, which interrupts the cascade.
	store.Eventually(t, "the cascade panics", func() bool { return s.Ledger.Stats().Panics.Load() > 1 })
	mustGoOn(t, s, "next")
	f.setFaults("cascade-step")
	panics := s.Ledger.Stats().Panics.Load()
	store.Eventually(t, "the cascade panics outside of a decision", func() bool { return s.Ledger.Stats().Panics.Load() > panics })
	f.setFaults()
	st.Settle()
	if r := s.Record("team", "bad"); r.Status.ZoneRef == nil {
		t.Error("the cascade did not go on")
	}
}

// The Record at which the panic occurs keeps its conditions, and the others get theirs.
func TestPanic_ofAConfirmation(t *testing.T) {
	t.Parallel()
	st, f := store.New(t), &faults{}
	s := faultyZone(t, st, f)
	names := []string{"first", "bad", "last"}
	for _, name := range names {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	f.setFaults("bad")
	if n, err := s.Ledger.ChangeRecords(t.Context(), "team", names, makeReady); n != 2 || err != nil {
		t.Errorf("%d changed, %v", n, err)
	}
	f.setFaults()
	if n := s.Ledger.Stats().Panics.Load(); n != 1 || isReady(s.Record("team", "bad")) || !isReady(s.Record("team", "last")) {
		t.Errorf("%d panics are counted, or the wrong Record is Ready", n)
	}
	mustGoOn(t, s, "after")
	if n, err := s.Ledger.ChangeRecords(t.Context(), "team", names, makeReady); n != 1 || err != nil {
		t.Errorf("afterwards %d changed, %v", n, err)
	}
	s.Run()
	st.Settle()
}
