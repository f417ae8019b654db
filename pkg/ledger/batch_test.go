// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// gate holds writes at a named point until the test lets them go.
type gate struct {
	mu      sync.Mutex
	point   string
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) pass(point string) {
	g.mu.Lock()
	reached, open := g.reached, g.open
	held := point == g.point
	g.mu.Unlock()
	if held {
		reached <- struct{}{}
		<-open
	}
}

// set holds at another point; what the old one held goes on.
func (g *gate) set(point string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
	}
	g.point, g.reached, g.open = point, make(chan struct{}, 100), make(chan struct{})
}

// A turn at the disk is slow for the ledger: never, always.
const never, always = time.Hour, -1

// halfway is a store where a server stopped in the middle of a batch: of the
// records r0 to r3 the first is written, the others are decided.
type halfway struct {
	*store.Store
	stopped, other *store.Server
	gate           *gate
	outcomes       chan error
	going          sync.Once
}

func newHalfway(t *testing.T, change ...func(*store.Store)) *halfway {
	h := aboutToStop(t, change...)
	h.stop(t, func(r string) error {
		_, err := h.stopped.CreateRecord(context.Background(), store.Record("team", r, r+".example.org.", "A", "192.0.2.1"))
		return err
	})
	if n := len(h.other.ListRecords("team")); n != 2 {
		t.Fatalf("%d records are written, want 2: this store is not halfway", n)
	}
	return h
}

// aboutToStop is the same before the batch.
func aboutToStop(t *testing.T, change ...func(*store.Store)) *halfway {
	h := &halfway{Store: store.New(t, change...)}
	h.other = h.Server()
	store.Must(h.other.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	return h.beside(never)
}

// beside is one of another server on the same store, which sends records early, or does not.
func (h *halfway) beside(slowTurn time.Duration) *halfway {
	x := &halfway{Store: h.Store, other: h.other, gate: &gate{}, outcomes: make(chan error, 10)}
	x.stopped = h.Server(func(c *ledger.Config) { c.Fault = x.gate.pass }, ledger.SlowTurn(slowTurn))
	return x
}

// stop has a write of each of r0 to r3 go together, and stops among them.
func (h *halfway) stop(t *testing.T, write func(r string) error) {
	h.gate.set("before-commit")
	go func() {
		_, err := h.stopped.CreateRecord(context.Background(), store.Record("team", "alone", "alone.example.org.", "A", "192.0.2.1"))
		h.outcomes <- err
	}()
	<-h.gate.reached
	for i := range 4 {
		go func() { h.outcomes <- write(fmt.Sprintf("r%d", i)) }()
		store.Eventually(t, "a write waits at the zone", func() bool { return h.stopped.Ledger.Waiting("infra", "z") == i+1 })
	}
	h.gate.set("batch-record")
	for range 3 {
		<-h.gate.reached
	}
	// A record that is sent early is there before its batch is decided.
	store.Eventually(t, "the batch is decided", func() bool { return h.Fsck().Owed.Total >= 3 })
	if r := h.Fsck(); !r.Clean() {
		t.Fatalf("halfway: %s", store.Text(r))
	}
	t.Cleanup(func() { h.goOn(t) })
}

// goOn has the stopped server go on.
func (h *halfway) goOn(t *testing.T) {
	h.going.Do(func() {
		h.gate.set("")
		for range 5 {
			if err := <-h.outcomes; err != nil {
				t.Errorf("a write that was decided: %v", err)
			}
		}
	})
}

func (h *halfway) names() []string {
	var out []string
	for _, r := range h.other.ListRecords("team") {
		out = append(out, r.Name)
	}
	slices.Sort(out)
	return out
}

var allOfHalfway = []string{"alone", "r0", "r1", "r2", "r3"}

// The server that made the log may be dead: any other carries it out (I4).
func TestBatch_aLogIsSweptByAnotherServer_I4(t *testing.T) {
	t.Parallel()
	h := newHalfway(t)
	h.other.Run()
	store.Eventually(t, "all records are written", func() bool { return slices.Equal(h.names(), allOfHalfway) })
	h.Settle()
	serials := map[int64]bool{}
	for _, r := range h.other.ListRecords("team") {
		serials[r.Status.Serial] = true
	}
	if z := h.other.Zone("infra", "z"); len(serials) != 5 || !serials[z.Status.Serial] {
		t.Errorf("serials %v, the zone's is %d: want one for each record, the last the zone's (I3)", serials, z.Status.Serial)
	}
}

// Encrypted values are not compared where a log is carried out: neither log nor reservation rests on that.
func TestBatch_underEncryption(t *testing.T) {
	t.Parallel()
	h := newHalfway(t, store.Encrypted(provided("one")))
	h.other.Run()
	store.Eventually(t, "all records are written", func() bool { return slices.Equal(h.names(), allOfHalfway) })
	h.Settle()
}

// Who wants a record that a log reserves finds it as the log says.
func TestBatch_aReservedNameIsTaken_I5(t *testing.T) {
	t.Parallel()
	for i, writing := range []func(h *halfway) error{
		func(h *halfway) error {
			_, err := h.other.CreateRecord(t.Context(), store.Record("team", "r3", "other.example.org.", "A", "192.0.2.9"))
			return err
		},
		func(h *halfway) error { // into another zone: the reservation is of the record
			store.Must(h.other.CreateZone(store.Zone("infra", "y", "example.net.", store.Allow("", "*"))))
			_, err := h.other.CreateRecord(t.Context(), store.Record("team", "r3", "r3.example.net.", "A", "192.0.2.9"))
			return err
		},
		func(h *halfway) error { // adopted by none
			_, err := h.other.CreateRecord(t.Context(), store.Record("team", "r3", "r3.nowhere.", "A", "192.0.2.9"))
			return err
		},
	} {
		h := newHalfway(t)
		if err := writing(h); !storage.IsExist(err) {
			t.Errorf("%d: %v, want AlreadyExists", i, err)
		}
		if r := h.other.Record("team", "r3"); r.Status.FQDN != "r3.example.org." {
			t.Errorf("%d: %s", i, r.Status.FQDN)
		}
	}
}

// A record that a log has let go of, or put under another name, does not go together with what stands beside it until it
// is written: who writes it meanwhile writes on what the log says (I5).
func TestBatch_aReservedRecordIsWrittenOnWhatTheLogSays_I5(t *testing.T) {
	t.Parallel()
	for what, decided := range map[string]func(h *halfway, r string) error{
		"deleted": func(h *halfway, r string) error { return h.stopped.DeleteRecord(context.Background(), "team", r) },
		"renamed": func(h *halfway, r string) error {
			_, err := h.stopped.UpdateRecord(context.Background(), "team", r, func(o *v1alpha1.Record) { o.Spec.DomainName = "new-" + r + ".example.org." })
			return err
		},
	} {
		for _, write := range []string{"updated", "deleted"} {
			t.Run(what+" and "+write, func(t *testing.T) {
				h := aboutToStop(t)
				for i := range 4 {
					r := fmt.Sprintf("r%d", i)
					store.Must(h.other.CreateRecord(t.Context(), store.Record("team", r, r+".example.org.", "A", "192.0.2.1")))
				}
				h.stop(t, func(r string) error { return decided(h, r) })
				store.Must(h.other.CreateRecord(t.Context(), store.Record("team", "later", "later.example.org.", "A", "192.0.2.1"))) // it knows the zone as it is now
				var got *v1alpha1.Record
				var err error
				if write == "updated" {
					got, err = h.other.UpdateRecord(t.Context(), "team", "r3", func(o *v1alpha1.Record) { o.Spec.RData = "192.0.2.2" })
				} else {
					err = h.other.DeleteRecord(t.Context(), "team", "r3")
				}
				switch {
				case what == "deleted" && !storage.IsNotFound(err):
					t.Errorf("%v, want NotFound", err)
				case what == "renamed" && err != nil:
					t.Error(err)
				case what == "renamed" && write == "updated" && got.Status.FQDN != "new-r3.example.org.":
					t.Errorf("it stands at %s", got.Status.FQDN)
				}
				h.MustBeClean()
			})
		}
	}
}

// What is sent before the commit point is answered may be late as well: the record has been written by another server since,
// removed, and reserved by a log of its own. Then it does nothing (I5).
func TestBatch_anEarlyRecordThatComesLateDoesNothing_I5(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]func(*store.Store){"plain": nil, "encrypted": {store.Encrypted(provided("one"))}} {
		t.Run(name, func(t *testing.T) {
			h := aboutToStop(t, change...).beside(always)
			create := func(h *halfway, value string) func(string) error {
				return func(r string) error {
					_, err := h.stopped.CreateRecord(context.Background(), store.Record("team", r, r+".example.org.", "A", value))
					return err
				}
			}
			h.stop(t, create(h, "192.0.2.1"))
			store.Must(h.other.UpdateZone("infra", "z", func(z *v1alpha1.Zone) { z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("rival", "@")) })) // after its logs
			for _, r := range allOfHalfway {
				store.Must(0, h.other.DeleteRecord(t.Context(), "team", r))
			}
			again := h.beside(never)
			again.stop(t, create(again, "192.0.2.2"))
			h.goOn(t)
			if have := h.names(); !slices.Equal(have, []string{"alone", "r0"}) {
				t.Errorf("%v are written, want those that no log has", have)
			}
			again.goOn(t)
			h.MustBeClean()
			for _, r := range h.other.ListRecords("team") {
				if r.Name != "alone" && r.Spec.Values[0] != "192.0.2.2" {
					t.Errorf("%s is %s", r.Name, r.Spec.Values[0])
				}
			}
			if n := h.stopped.Ledger.Stats().Early.Load(); n != 0 {
				t.Errorf("%d records are said to be written early", n)
			}
		})
	}
}

// The control of the tests above: who does not compare reservations takes the name,
// the log takes it back, and two zones count it.
func TestBatch_withoutTheCompareOfReservationsTheDamageIsSeen(t *testing.T) {
	t.Parallel()
	h := newHalfway(t, store.Unchecked)
	blind := h.Server(ledger.DropGuards("reserved"))
	store.Must(blind.CreateZone(store.Zone("infra", "y", "example.net.", store.Allow("", "*"))))
	store.Must(blind.CreateRecord(t.Context(), store.Record("team", "r3", "r3.example.net.", "A", "192.0.2.9")))
	h.other.Run()
	store.Eventually(t, "the log is carried out", func() bool { return h.other.Record("team", "r3").Status.FQDN == "r3.example.org." })
	if r := h.Fsck(); r.Clean() {
		t.Error("two zones count one record, and fsck sees nothing")
	}
}

// What a delegation's withdrawal meets was decided before it: written before it
// too, and released by its cascade (I5).
func TestBatch_aZoneIsWrittenAfterItsLogs_I5(t *testing.T) {
	t.Parallel()
	h := newHalfway(t)
	z := store.Must(h.other.UpdateZone("infra", "z", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
	if have := h.names(); !slices.Equal(have, allOfHalfway) {
		t.Errorf("%v, want all of them", have)
	}
	for _, r := range h.other.ListRecords("team") {
		if rv := revision(r.ResourceVersion); rv >= revision(z.ResourceVersion) {
			t.Errorf("%s is of revision %d, the withdrawal of %s", r.Name, rv, z.ResourceVersion)
		}
	}
	h.other.Run()
	h.Settle()
	for _, r := range h.other.ListRecords("team") {
		if r.Status.ZoneRef != nil {
			t.Errorf("%s is still adopted", r.Name)
		}
	}
}

// A view that starts at such a moment has what the zone's serial says (I2).
func TestBatch_aViewStartsWithTheStandingLog_I2(t *testing.T) {
	t.Parallel()
	h := newHalfway(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base := make(chan ledger.Base, 1)
	go func() { _ = h.other.Ledger.Follow(ctx, firstBase(base)) }()
	b := <-base
	var owners []string
	for _, s := range b.Sets {
		owners = append(owners, s.Owner.String())
	}
	if !slices.Equal(owners, allOfHalfway) {
		t.Errorf("%v, want %v", owners, allOfHalfway)
	}
}

// firstBase hands on the first zone it hears of.
type firstBase chan ledger.Base

func (firstBase) Reset()                           {}
func (firstBase) Unreadable(string, string, error) {}
func (f firstBase) Base(b ledger.Base) {
	select {
	case f <- b:
	default:
	}
}
func (firstBase) Ready()                            {}
func (firstBase) Apply(string, content.Transaction) {}

// Each of a batch is decided on what those before it leave, and what is no matter
// for a batch goes its own way.
func TestBatch_refusalsAndLoneWritesOfOneBatch(t *testing.T) {
	t.Parallel()
	s := store.New(t)
	g := &gate{}
	server := s.Server(func(c *ledger.Config) { c.Fault = g.pass })
	server.Run()
	store.Must(server.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	for _, name := range []string{"updated", "deleted"} {
		store.Must(server.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	cold := s.Server(func(c *ledger.Config) { c.Fault = g.pass }) // knows nothing: what it needs is read for all at once
	store.Eventually(t, "it has heard of the zone", func() bool {
		_, err := cold.CreateRecord(t.Context(), store.Record("infra", "known", "known.example.org.", "A", "192.0.2.1"))
		known := cold.Record("infra", "known").Status.ZoneRef != nil
		store.Must(0, cold.DeleteRecord(t.Context(), "infra", "known"))
		return err == nil && known
	})
	before := server.Zone("infra", "z").Status.Serial
	g.set("before-commit")
	held := make(chan error, 1)
	go func() {
		_, err := cold.CreateRecord(t.Context(), store.Record("team", "first", "first.example.org.", "A", "192.0.2.1"))
		held <- err
	}()
	<-g.reached
	ctx := t.Context()
	writes := []struct {
		name string
		do   func() error
		want string
	}{
		{"a new name", func() error {
			_, err := cold.CreateRecord(ctx, store.Record("team", "new", "new.example.org.", "A", "192.0.2.1"))
			return err
		}, ""},
		{"a second value at it, decided on the first", func() error {
			_, err := cold.CreateRecord(ctx, store.Record("team", "new-2", "new.example.org.", "A", "192.0.2.2"))
			return err
		}, ""},
		{"a CNAME beside it", func() error {
			_, err := cold.CreateRecord(ctx, store.Record("team", "alias", "new.example.org.", "CNAME", "www"))
			return err
		}, "CNAME"},
		{"somebody else's name", func() error {
			_, err := cold.CreateRecord(ctx, store.Record("rival", "new", "new.example.org.", "TXT", "mine"))
			return err
		}, "held by another namespace"},
		{"an update", func() error {
			_, err := cold.UpdateRecord(ctx, "team", "updated", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.7"} })
			return err
		}, ""},
		{"a deletion", func() error { return cold.DeleteRecord(ctx, "team", "deleted") }, ""},
		{"a record too long for company", func() error {
			r := store.Record("team", "long", "long.example.org.", "TXT", "v")
			r.Annotations = map[string]string{"long": strings.Repeat("x", 200<<10)}
			_, err := cold.CreateRecord(ctx, r)
			return err
		}, ""},
		{"name servers of a cut: no matter for a batch", func() error {
			_, err := cold.CreateRecord(ctx, store.Record("infra", "ns", "sub.example.org.", "NS", "ns.elsewhere.net."))
			return err
		}, ""},
	}
	outcomes := make([]chan error, len(writes))
	for i, w := range writes {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- w.do() }()
		store.Eventually(t, w.name+" waits", func() bool { return cold.Ledger.Waiting("infra", "z") == i+1 })
	}
	g.set("")
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	for i, w := range writes {
		if err := <-outcomes[i]; w.want == "" && err != nil || w.want != "" && (err == nil || !strings.Contains(err.Error(), w.want)) {
			t.Errorf("%s: %v, want %q", w.name, err, w.want)
		}
	}
	if n := cold.Ledger.Stats().Batches.Load(); n != 1 {
		t.Errorf("%d batches, want 1", n)
	}
	s.Settle()
	if after := server.Zone("infra", "z").Status.Serial; after != before+7 {
		t.Errorf("serial %d, was %d: want one for each of 7 changes", after, before)
	}
	if got := server.Record("team", "updated").Spec.Values[0]; got != "192.0.2.7" {
		t.Errorf("updated: %s", got)
	}
}

// Whose time is up has his object to himself again, though the batch that took his
// write along is decided anew afterwards. The race detector judges this; without it,
// what he writes into the object would be in the zone.
func TestBatch_whoHasGoneIsNotReadAgain(t *testing.T) {
	t.Parallel()
	s := store.New(t)
	g := &gate{}
	server, other := s.Server(func(c *ledger.Config) { c.Fault = g.pass }), s.Server()
	store.Must(server.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	g.set("before-commit")
	outcomes := make(chan error, 3)
	create := func(ctx context.Context, r *v1alpha1.Record) {
		_, err := server.CreateRecord(ctx, r)
		outcomes <- err
	}
	go create(t.Context(), store.Record("team", "alone", "alone.example.org.", "A", "192.0.2.1"))
	<-g.reached
	ctx, cancel := context.WithCancel(t.Context())
	for i, name := range []string{"stays", "goes"} {
		r, ctx := store.Record("team", name, name+".example.org.", "A", "192.0.2.1"), ctx
		if name == "stays" {
			go create(t.Context(), r)
		} else {
			go func() {
				create(ctx, r)
				r.Spec.DomainName, r.Spec.Values[0] = "other.example.org.", "192.0.2.2"
				outcomes <- nil
			}()
		}
		store.Eventually(t, "a write waits at the zone", func() bool { return server.Ledger.Waiting("infra", "z") == i+1 })
	}
	g.set("before-commit")
	if err := <-outcomes; err != nil { // alone
		t.Fatal(err)
	}
	<-g.reached // both are decided
	store.Must(other.CreateRecord(t.Context(), store.Record("team", "first", "first.example.org.", "A", "192.0.2.1")))
	cancel()
	if err := <-outcomes; err == nil {
		t.Error("a write that was held is acknowledged")
	}
	<-outcomes // the object is changed
	g.set("")  // the batch is lost to the other server, and decided anew
	if err := <-outcomes; err != nil {
		t.Errorf("who stays: %v", err)
	}
	s.MustBeClean()
	var names []string
	for _, r := range other.ListRecords("team") {
		names = append(names, r.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"alone", "first", "stays"}) {
		t.Errorf("%v: want those whose callers have stayed", names)
	}
}

// What etcd takes in one transaction is what it was told: who finds it to be less than an embedded one is told
// decides smaller batches from then on, and nobody hears of it.
func TestBatch_isAsLargeAsEtcdTakes(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for what, x := range map[string]struct {
		change  func(*embed.Config)
		batches int64 // of each zone and round; 0: as many as it takes
	}{
		"as embedded":          {func(*embed.Config) {}, 1},
		"as etcd's default is": {func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }, 2},
		"fewer":                {func(c *embed.Config) { c.MaxTxnOps = 32 }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			s := store.On(t, store.Fresh(t, x.change), "/registry/kubizone")
			g := &gate{}
			server := s.Server(func(c *ledger.Config) { c.Fault = g.pass })
			zones := []string{"one", "two"} // which find out at once
			for _, z := range zones {
				store.Must(server.CreateZone(store.Zone("infra", z, z+".example.org.", store.Allow("", "*"))))
			}
			server.Run()
			s.Settle()
			const n = 40
			outcomes := make(chan error, len(zones)*n)
			for round := range 2 {
				g.set("before-commit")
				for _, z := range zones {
					for i := range n {
						go func() {
							name := fmt.Sprintf("%s-%d-%d", z, round, i)
							_, err := server.CreateRecord(context.Background(), store.Record("team", name, name+"."+z+".example.org.", "A", "192.0.2.1"))
							outcomes <- err
						}()
						if i == 0 { // the others wait for it
							<-g.reached
							continue
						}
						store.Eventually(t, "a write waits at the zone", func() bool { return server.Ledger.Waiting("infra", z) == i })
					}
				}
				g.set("before-commit")
				for range zones {
					<-g.reached // both batches are decided
				}
				g.set("")
				for range len(zones) * n {
					if err := <-outcomes; err != nil {
						t.Error(err)
					}
				}
				if have, want := server.Ledger.Stats().Batches.Load(), x.batches*int64(len(zones)*(round+1)); have != want && want > 0 {
					t.Errorf("%d batches after %d times %d writes of %d zones, want %d", have, round+1, n, len(zones), want)
				}
			}
			s.Settle()
		})
	}
}

// Where the record is being written that the only one waiting wants, he has his turn
// after that.
func TestBatch_aRecordIsWantedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	s := store.New(t)
	g := &gate{}
	server := s.Server(func(c *ledger.Config) { c.Fault = g.pass }, ledger.SlowTurn(never))
	store.Must(server.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	outcomes := map[string]chan error{}
	create := func(label, name, value string) {
		outcomes[label] = make(chan error, 1)
		done := outcomes[label]
		go func() {
			_, err := server.CreateRecord(context.Background(), store.Record("team", name, name+".example.org.", "A", value))
			done <- err
		}()
	}
	g.set("before-commit")
	create("alone", "alone", "192.0.2.1")
	<-g.reached
	for i, name := range []string{"r0", "r1"} {
		create(name, name, "192.0.2.1")
		store.Eventually(t, "a write waits at the zone", func() bool { return server.Ledger.Waiting("infra", "z") == i+1 })
	}
	g.set("batch-record")
	<-g.reached // r1 is decided, and not written
	for _, label := range []string{"alone", "r0"} {
		if err := <-outcomes[label]; err != nil {
			t.Errorf("%s: %v", label, err)
		}
		delete(outcomes, label)
	}
	create("again", "r1", "192.0.2.2")
	store.Eventually(t, "it waits at the zone", func() bool { return server.Ledger.Waiting("infra", "z") == 1 })
	create("meanwhile", "r2", "192.0.2.1")
	g.set("")
	for label, ch := range outcomes {
		if err := <-ch; (label == "again") != storage.IsExist(err) || label != "again" && err != nil {
			t.Errorf("%s: %v", label, err)
		}
	}
	if r := server.Record("team", "r1"); r.Spec.Values[0] != "192.0.2.1" {
		t.Errorf("r1 is %s", r.Spec.Values[0])
	}
}

// refusing answers transactions with err while that is set.
type refusing struct {
	clientv3.KV
	err atomic.Pointer[error]
}

func (r *refusing) Txn(ctx context.Context) clientv3.Txn { return refusingTxn{r.KV.Txn(ctx), r} }

type refusingTxn struct {
	clientv3.Txn
	r *refusing
}

func (t refusingTxn) If(cs ...clientv3.Cmp) clientv3.Txn { return refusingTxn{t.Txn.If(cs...), t.r} }
func (t refusingTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	return refusingTxn{t.Txn.Then(ops...), t.r}
}
func (t refusingTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	return refusingTxn{t.Txn.Else(ops...), t.r}
}

func (t refusingTxn) Commit() (*clientv3.TxnResponse, error) {
	if err := t.r.err.Load(); err != nil {
		return nil, *err
	}
	return t.Txn.Commit()
}

// Where etcd is full between a batch's commit point and its records, no client reads
// that nothing was written: the zone has all of them, and so will the store (S7.1).
func TestBatch_whatIsDecidedIsNotCalledRefused_S7_1(t *testing.T) {
	t.Parallel()
	full := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage", Message: "nothing was written"}}
	for what, cause := range map[string]error{"as etcd says it": rpctypes.ErrNoSpace, "as clients are told": full} {
		t.Run(what, func(t *testing.T) {
			st := store.New(t)
			g, etcd := &gate{}, &refusing{}
			s := st.Server(func(c *ledger.Config) {
				etcd.KV, c.Fault = c.Client.KV, g.pass
				c.Client.KV = etcd
			}, ledger.SlowTurn(never))
			store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
			outcomes := make(chan error, 5)
			create := func(name string) {
				_, err := s.CreateRecord(context.Background(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1"))
				outcomes <- err
			}
			g.set("before-commit")
			go create("alone")
			<-g.reached
			for i := range 4 {
				go create(fmt.Sprintf("r%d", i))
				store.Eventually(t, "a write waits at the zone", func() bool { return s.Ledger.Waiting("infra", "z") == i+1 })
			}
			g.set("batch-record")
			for range 3 {
				<-g.reached
			}
			etcd.err.Store(&cause)
			g.set("")
			told := 0
			for range 5 {
				err := <-outcomes
				if err == nil {
					continue
				}
				var answer apierrors.APIStatus
				if !errors.As(err, &answer) || answer.Status().Code != http.StatusGatewayTimeout || answer.Status().Details != nil || strings.Contains(err.Error(), "nothing was written") || !strings.Contains(err.Error(), "decided") {
					t.Errorf("a client whose write is decided reads %v", err)
				}
				told++
			}
			if told != 3 {
				t.Errorf("%d of 5 clients are told that it is decided only, want 3", told)
			}
			etcd.err.Store(nil)
			s.Run()
			store.Eventually(t, "all records stand", func() bool { return len(s.ListRecords("team")) == 5 })
			st.Settle()
		})
	}
}
