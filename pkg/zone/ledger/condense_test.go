// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func condensedKeys(b *brake) map[string]int64 {
	out := map[string]int64{}
	for _, kv := range store.Must(b.Client.Client.Get(b.Context(), layout.Keys{Prefix: b.Prefix}.Room("condensed"), clientv3.WithPrefix())).Kvs {
		out[string(kv.Key)] = kv.ModRevision
	}
	return out
}

// stalled is a server that starts slowly: meanwhile runs between its listing of the zones and the Base of one zone.
type stalled struct {
	listing
	resets    int
	zone      string
	meanwhile func()
	done      bool
	since     []int // steps in each Base of the zone
}

func (s *stalled) Reset() { s.resets++; s.listing.Reset() }

func (s *stalled) Base(base ledger.Base) {
	name := base.Identity.Namespace + "/" + base.Identity.Name
	if !s.done && name != s.zone { // zones come in any order
		s.done = true
		s.meanwhile()
	}
	if name == s.zone {
		s.since = append(s.since, len(base.UndeliveredSteps))
	}
	s.listing.Base(base)
	if name == s.zone && !s.done {
		s.zone = ""
	}
}

// A server that starts gets the delivered state of a held zone (S7.5), even if another server condenses past the listed
// step, or etcd has compacted the listed revision. All other zones arrive in any case.
func TestCondense_whileAServerStarts_S7_8(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const bound = 16 << 10
	for _, compacted := range []bool{false, true} {
		b := newBrakeOn(t, store.On(t, store.Fresh(t), "/registry/kubizone"), 1, 200, func(c *ledger.Config) { c.JournalSteps = 10 }, ledger.JournalOctets(bound))
		for i := range 20 {
			store.Must(b.pickFirst().CreateZone(store.Zone("infra", fmt.Sprint("other", i), fmt.Sprintf("other%d.example.", i),
				store.Allow("infra", "*"))))
		}
		b.deleteRecords("infra", "r", 1, 61)
		z := b.expectHeld(true)
		was := rowsOf(t, followLedger(t, b.pickFirst()).bases["infra/example"], true)
		round := 0
		churn := func() {
			from := condensedTo(b, z)
			listed := uint64(b.getZone().Status.ContentGeneration)
			for ; from <= listed; from = condensedTo(b, z) {
				round++
				b.runEach(1, 200, func(s *store.Server, i int) error {
					r := store.Record("team", fmt.Sprint("t", round, "-", i), fmt.Sprintf("t%d.example.org.", i%10), "TXT", fmt.Sprint("v", i, strings.Repeat("x", 200)))
					_, err := s.CreateRecord(t.Context(), r)
					return err
				})
				b.runEach(1, 200, func(s *store.Server, i int) error {
					return s.DeleteRecord(t.Context(), "team", fmt.Sprint("t", round, "-", i))
				})
			}
			if compacted {
				rev := store.Must(b.Client.Client.Get(t.Context(), "x")).Header.Revision
				store.Must(b.Client.Client.Compact(t.Context(), rev))
			}
		}
		var s *stalled
		for try := 0; s == nil || s.zone == ""; try++ { // the held zone came first
			if try == 20 {
				t.Fatal("the held zone comes first each time")
			}
			ctx, cancel := context.WithCancel(t.Context())
			s = &stalled{listing: listing{ready: cancel}, zone: "infra/example", meanwhile: churn}
			if compacted {
				readies := 0
				s.ready = func() {
					if readies++; readies == 2 || !s.done {
						cancel()
					}
				}
			}
			must.Succeed(t, b.Server(b.change...).Ledger.Follow(ctx, s))
			cancel()
		}
		want := 1
		if compacted {
			want = 2
		}
		if s.resets != want || len(s.bases) != 21 || len(s.since) != want {
			t.Errorf("compacted %t: %d starts, and %d wanted; %d zones; steps of the held one %v", compacted, s.resets, want, len(s.bases), s.since)
		}
		base := s.bases["infra/example"]
		if base.Settled || len(base.UndeliveredSteps) == 0 || base.UndeliveredSteps[0].From != serial.Serial(z.Status.SettledSerial) ||
			!maps.Equal(rowsOf(t, base, true), was) {
			t.Errorf("compacted %t: settled %t, %d steps since serial %d", compacted, base.Settled,
				len(base.UndeliveredSteps), base.Zone.SettledSerial)
		}
	}
}

func condensedTo(b *brake, z *v1alpha1.Zone) uint64 {
	r := store.Must(b.Client.Client.Get(b.Context(), layout.Keys{Prefix: b.Prefix}.Room("condensed")+string(z.UID)+"/"))
	if len(r.Kvs) == 0 {
		return 0
	}
	var c journal.Condensed
	must.Succeed(b.T, layout.Decode(r.Kvs[0].Value, &c))
	return c.Step.N
}

// A server stalls while condensing the journal of a held zone. The hold ends, a second one begins, and another server
// condenses for the second hold. The stalled server must then give up, and must not delete the other server's keys,
// from which starting servers compute the delivered content (S7.5).
func TestCondense_ofAnEarlierHold_S7_8(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 2, 30)
	b.deleteRecords("infra", "r", 1, 20)
	first := b.expectHeld(true)
	b.publishDeletions(first.Status.SettledSerial)
	b.expectHeld(false)
	b.fillRecords("infra", "s", 20)
	b.waitPeriods()
	b.deleteRecords("infra", "s", 1, 20)
	b.fillRecords("team", "t", 3)
	second := b.expectHeld(true)
	was := rowsOf(t, followLedger(t, b.pickFirst()).bases["infra/example"], true)
	n := uint64(second.Status.ContentGeneration) - 2
	if to, err := b.servers[1].Ledger.Condense(t.Context(), second, n); err != nil || to != n {
		t.Fatalf("condensed to step %d, and not to %d: %v", to, n, err)
	}
	if to, err := b.pickFirst().Ledger.Condense(t.Context(), first, uint64(first.Status.ContentGeneration)-1); err != nil || to != 0 {
		t.Errorf("condensed for the first hold, to step %d: %v", to, err)
	}
	// Delete the old keys, as trim does after condense.
	l := layout.Keys{Prefix: b.Prefix}
	store.Must(b.Client.Client.Delete(t.Context(), l.Room("journal")+string(second.UID)+"/", clientv3.WithRange(fmt.Sprintf("%s%s/%016x", l.Room("journal"), second.UID, n))))
	if base := followLedger(t, b.Server(b.change...)).bases["infra/example"]; len(base.UndeliveredSteps) == 0 ||
		!maps.Equal(rowsOf(t, base, true), was) {
		t.Errorf("settled %t, %d steps since serial %d", base.Settled, len(base.UndeliveredSteps), base.Zone.SettledSerial)
	}
}

// While a mass deletion holds a zone, servers condense its journal, that is, they merge old steps into one stored step
// (S7.5). If the zone is deleted meanwhile, the condensing server gives up, and no condensed keys of the zone remain.
func TestCondense_ofAZoneThatIsGone_S7_8(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 30)
	b.deleteRecords("infra", "r", 1, 20)
	z := b.expectHeld(true)
	n := uint64(z.Status.ContentGeneration) - 3
	if to, err := b.pickFirst().Ledger.Condense(t.Context(), z, n); err != nil || to != n {
		t.Fatalf("condensed to step %d, and not to %d: %v", to, n, err)
	}
	kvs := store.Must(b.Client.Client.Get(t.Context(), layout.Keys{Prefix: b.Prefix}.Room("condensed"), clientv3.WithPrefix())).Kvs
	reached := 0
	slow := b.Server(append(b.change, func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "condense" {
				reached++
				must.Succeed(b.T, b.pickFirst().DeleteZone("infra", "example"))
				b.Settle()
			}
		}
	})...)
	if to, err := slow.Ledger.Condense(t.Context(), z, n+1); err != nil || to != 0 || reached != 1 {
		t.Errorf("condensed for a zone that went meanwhile, to step %d: %v", to, err)
	}
	if keys := condensedKeys(b); len(keys) > 0 || len(kvs) < 2 {
		t.Errorf("keys of a zone that is gone: %v", keys)
	}
	b.MustBeClean()
}

// Parts to which no header refers stay until the zone has settled (S7.5).
func TestCondense_sweepsParts_S7_8(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 30)
	b.deleteRecords("infra", "r", 1, 20)
	z := b.expectHeld(true)
	sweep := func(want int) {
		t.Helper()
		must.Succeed(b.T, b.pickFirst().Ledger.SweepCondensed(t.Context()))
		if keys := condensedKeys(b); len(keys) != want {
			t.Errorf("%d keys are left, and not %d: %v", len(keys), want, keys)
		}
	}
	part := func(uid string, i int) {
		store.Must(b.Client.Client.Put(t.Context(), fmt.Sprintf("%s%s/%016x/%08x", layout.Keys{Prefix: b.Prefix}.Room("condensed"), uid, 999, i), `{"r":[{"o":"x","t":"A","d":"192.0.2.1"}]}`))
	}
	for i := range 3 {
		part(string(z.UID), i)
	}
	sweep(3)
	if to, err := b.pickFirst().Ledger.Condense(t.Context(), z, uint64(z.Status.ContentGeneration)-3); err != nil || to == 0 {
		t.Fatalf("condensed to step %d: %v", to, err)
	}
	sweep(5)
	b.publishDeletions(z.Status.SettledSerial)
	b.expectHeld(false)
	sweep(0)
	part(string(z.UID), 0)
	sweep(0)
}
