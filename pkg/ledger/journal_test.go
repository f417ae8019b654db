// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// journalOf is what etcd has of a zone's journal: the keys behind the zone's uid, and how long all values are.
func journalOf(t *testing.T, st *store.Store, uid string) (keys []string, octets int) {
	t.Helper()
	prefix := st.Prefix + "/ledger/journal/" + uid + "/"
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs {
		keys = append(keys, strings.TrimPrefix(string(kv.Key), prefix))
		octets += len(kv.Value)
	}
	return keys, octets
}

// following takes in the last step of each zone, and those of the journal.
type following struct {
	listing
	last  chan uint64
	steps chan uint64
}

func (f *following) Base(b ledger.Base) { f.last <- b.Zone.N }
func (f *following) Apply(_ string, tx content.Transaction) {
	for _, step := range tx.Steps {
		f.steps <- step.N
	}
}

// One fat record that is changed for ever fills neither etcd nor what has to be read of it: the journal keeps so many octets.
// What is left is whole, the newest step among it, and whoever follows goes on; two servers trim beside each other.
func TestJournal_keepsSoManyOctets(t *testing.T) {
	const bound, rounds = 1 << 20, 60
	for what, change := range map[string]func(*store.Store){"plain": func(*store.Store) {}, "encrypted": store.Encrypted(provided("one"))} {
		t.Run(what, func(t *testing.T) {
			st, g := store.New(t, change), &gate{}
			servers := []*store.Server{st.Server(ledger.JournalOctets(bound), func(c *ledger.Config) { c.Fault = g.pass }), st.Server(ledger.JournalOctets(bound))}
			s := servers[0]
			servers[1].Run()
			store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
			uid := string(s.Zone("infra", "example").UID)
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "small", "small.example.org.", "A", "192.0.2.1")))
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "fat", "fat.example.org.", "TXT", fat("<", 0)...)))
			before, _ := journalOf(t, st, uid)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			early := &following{listing: listing{ready: func() {}}, last: make(chan uint64, 1), steps: make(chan uint64, 10*rounds)}
			go servers[1].Ledger.Follow(ctx, early)
			began := <-early.last
			most := 0
			for i := range rounds {
				s := servers[i/(rounds/4)%2]
				store.Must(s.UpdateRecord(t.Context(), "team-b", "fat", func(r *v1alpha1.Record) { r.Spec.Values = fat("<", i+1) }))
				if i == rounds/2 { // a mark that the zone has settled stands among its steps
					for _, who := range []string{"team-b", ""} {
						store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.Delegation{store.Allow(who, "*")} }))
					}
					st.Settle()
				}
				_, octets := journalOf(t, st, uid)
				most = max(most, octets)
			}
			if most > 5*bound {
				t.Errorf("the journal had %d octets, want some %d for each of two servers", most, 2*bound)
			}
			writes := map[string]func() error{} // batches are counted too
			for i := range 10 {
				name := fmt.Sprintf("t%d", i)
				writes[name] = func() error {
					_, err := s.CreateRecord(context.Background(), store.Record("team-b", name, name+".example.org.", "TXT", fat("<", i)...))
					return err
				}
			}
			for name, err := range company(t, s, g, writes) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for i := range 2 * bound / (100 << 10) {
				store.Must(s.UpdateRecord(t.Context(), "team-b", "fat", func(r *v1alpha1.Record) { r.Spec.Values = fat("<", i) }))
			}
			st.Settle()
			until(t, "the journal is trimmed", func() bool { _, octets := journalOf(t, st, uid); return octets <= 2*bound })
			keys, _ := journalOf(t, st, uid)
			z := s.Zone("infra", "example")
			if newest := fmt.Sprintf("%016x", z.Status.ContentGeneration); keys[0] <= before[len(before)-1] || !strings.HasPrefix(keys[len(keys)-1], newest) {
				t.Errorf("the journal has %v, had %v before; the newest step is %s", keys, before, newest)
			}
			st.MustBeClean()

			late := &following{listing: listing{ready: func() {}}, last: make(chan uint64, 1), steps: make(chan uint64, 10)}
			go s.Ledger.Follow(ctx, late)
			if n := <-late.last; n != uint64(z.Status.ContentGeneration) {
				t.Errorf("who starts now starts at step %d, the zone is at %d", n, z.Status.ContentGeneration)
			}
			store.Must(s.UpdateRecord(t.Context(), "team-b", "small", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
			for who, f := range map[string]*following{"who has followed": early, "who started late": late} {
				n := began
				if f == late {
					n = uint64(z.Status.ContentGeneration)
				}
				for n <= uint64(z.Status.ContentGeneration) {
					select {
					case next := <-f.steps:
						if n++; next != n {
							t.Fatalf("%s: step %d, want %d", who, next, n)
						}
					case <-time.After(time.Minute):
						t.Fatalf("%s: step %d does not come", who, n+1)
					}
				}
			}
		})
	}
}

// Many small changes do not fill etcd either: of each zone so many steps stay, and what a server with other bounds left goes with
// the first write of the zone.
func TestJournal_keepsSoManySteps(t *testing.T) {
	st := store.New(t)
	before := st.Server()
	store.Must(before.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	store.Must(before.CreateRecord(t.Context(), store.Record("team-b", "small", "small.example.org.", "A", "192.0.2.1")))
	change := func(s *store.Server, times int) {
		for i := range times {
			store.Must(s.UpdateRecord(t.Context(), "team-b", "small", func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("192.0.2.%d", i+2)} }))
		}
	}
	const keep = 10
	change(before, 4*keep)
	uid := string(before.Zone("infra", "example").UID)
	if keys, _ := journalOf(t, st, uid); len(keys) < 4*keep {
		t.Fatalf("%d steps", len(keys))
	}
	now := st.Server(func(c *ledger.Config) { c.JournalSteps = keep })
	change(now, 1)
	until(t, "old steps are gone", func() bool { keys, _ := journalOf(t, st, uid); return len(keys) <= keep+1 })
	change(now, 3*keep)
	if keys, octets := journalOf(t, st, uid); len(keys) > keep+1 {
		t.Errorf("%d steps of %d octets", len(keys), octets)
	}
	st.MustBeClean()
}
