// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// late runs next once, between a transaction and its answer.
type late struct{ next atomic.Pointer[func()] }

func (l *late) send(x *spiedTxn) (*clientv3.TxnResponse, error) {
	r, err := x.Txn.Commit()
	if next := l.next.Swap(nil); next != nil {
		(*next)()
	}
	return r, err
}

// readFact reads a fact and its zone, calls meanwhile, and only then caches the result.
func (l *late) readFact(t *testing.T, s *store.Server, k law.Key, meanwhile func()) {
	t.Helper()
	l.next.Store(&meanwhile)
	must.Succeed(t, s.Ledger.ReadFact(t.Context(), k))
}

// A dry run reads keys without waiting in the zone's queue, so a write may change a key between the read and its
// arrival in the cache. The late value must not be cached, because the next decision would use it without a compare. A
// late Zone must not replace the newer one either; otherwise the next write would fail as if another server had
// written.
func TestFacts_thatComeLateAreNotRemembered_I5(t *testing.T) {
	t.Parallel()
	st, l := store.New(t), &late{}
	s := st.Server(spyOn(l.send))
	ctx := t.Context()
	z := store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	key := layout.Keys{Prefix: st.Prefix}.Zone("infra", "example")
	create := func(object, typ, value string) error {
		_, err := s.CreateRecord(ctx, store.Record("infra", object, "www.example.org.", typ, value))
		return err
	}
	owner := law.OwnerKey(string(z.UID), store.Must(name.ParseRel("www")))
	l.readFact(t, s, owner, func() { must.Succeed(t, create("a", "A", "192.0.2.1")) })
	if err := create("alias", "CNAME", "example.net."); !apierrors.IsInvalid(err) {
		t.Errorf("a CNAME beside an A: %v", err)
	}
	lost := s.Ledger.Stats().Conflicts.Load()
	must.Succeed(t, s.Ledger.ReloadLate(ctx, key, func() {
		must.Succeed(t, create("b", "TXT", "t"))
	}))
	if err := create("c", "AAAA", "2001:db8::1"); err != nil {
		t.Error(err)
	}
	if now := s.Ledger.Stats().Conflicts.Load(); now != lost {
		t.Errorf("%d decisions lost without another server", now-lost)
	}
	s.Run()
	st.Settle()
}

// For a new Record the server assumes, without a read, that there is no data below its name, and the transaction
// compares this. If the assumption is wrong, the transaction fails, and the server reads and decides again.
func TestFacts_belowANewNameAreGuessed_I5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	create := func(namespace, object, domain, typ, value string) error {
		_, err := s.CreateRecord(t.Context(), store.Record(namespace, object, domain+".example.org.", typ, value))
		return err
	}
	for _, at := range []string{"held", "cut"} { // and the zone's content is cached
		must.Succeed(t, create("team-b", at, "www."+at, "A", "192.0.2.1"))
	}
	must.Succeed(t, create("team-a", "first", "first", "A", "192.0.2.1"))
	stats := s.Ledger.Stats()
	reads, transactions := stats.Reads.Load(), stats.Transactions.Load()
	if err := create("team-a", "alias", "alias", "CNAME", "example.net."); err != nil {
		t.Error(err)
	}
	if err := create("infra", "new", "new", "NS", "ns.example.net."); err != nil {
		t.Error(err)
	}
	if r, n := stats.Reads.Load()-reads, stats.Transactions.Load()-transactions; r != 0 || n != 2 {
		t.Errorf("two new names took %d reads and %d transactions", r, n)
	}
	lost := stats.Conflicts.Load()
	if err := create("team-a", "held", "held", "CNAME", "example.net."); !apierrors.IsForbidden(err) {
		t.Errorf("a CNAME above the name of another namespace: %v", err)
	}
	if n := stats.Conflicts.Load() - lost; n != 1 {
		t.Errorf("%d guesses were wrong, want one", n)
	}
	if err := create("team-a", "cut", "cut", "CNAME", "example.net."); !apierrors.IsForbidden(err) {
		t.Errorf("a CNAME above the name of another namespace: %v", err)
	}
	s.Run()
	st.Settle()
}

// Clients try to create a Record under an object name that is taken, each time at a new DNS name. The attempts fail,
// but must not mark these DNS names as stale in the server's cache: later creations there need no read.
func TestFacts_ofARaceWithinOneServerAreNotDoubted(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("infra", "x", "x.example.org.", "A", "192.0.2.1")))
	runParallel(8, func(w int) {
		for i := range 25 {
			for _, zone := range []string{"example.org.", "example.net."} {
				if _, err := s.CreateRecord(t.Context(), store.Record("infra", "x", fmt.Sprintf("a.b.c.r%d-%d.%s", w, i, zone), "A", "192.0.2.1")); !storage.IsExist(err) {
					t.Errorf("%v", err)
				}
			}
		}
	})
	reads := s.Ledger.Stats().Reads.Load()
	for w := range 8 {
		store.Must(s.CreateRecord(t.Context(), store.Record("infra", fmt.Sprint("new", w), fmt.Sprintf("a.b.c.r%d-24.example.org.", w), "A",
			"192.0.2.1")))
	}
	if n := s.Ledger.Stats().Reads.Load() - reads; n > 0 {
		t.Errorf("names are doubted: %d reads", n)
	}
}

// A zone is created or deleted during a read of it or of its name. The late result must neither bring back a deleted
// zone, nor remove a new zone or its name.
func TestFacts_ofALateReadOfAZoneThatCameOrWent(t *testing.T) {
	t.Parallel()
	st, l := store.New(t), &late{}
	s := st.Server(spyOn(l.send))
	key := layout.Keys{Prefix: st.Prefix}.Zone("infra", "example")
	make := func() {
		store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	}
	write := func(object string, adopted bool) {
		t.Helper()
		lost := s.Ledger.Stats().Conflicts.Load()
		r := store.Must(s.CreateRecord(t.Context(), store.Record("infra", object, object+".example.org.", "A", "192.0.2.1")))
		if now := s.Ledger.Stats().Conflicts.Load(); now != lost || (r.Status.ZoneRef != nil) != adopted {
			t.Errorf("%s: %d decisions lost without another server; %+v", object, now-lost, r.Status)
		}
	}
	l.readFact(t, s, law.HoldingKey("", name.MustParse("other.example.")), func() {
		store.Must(s.CreateZone(store.Zone("infra", "other", "other.example.")))
	})
	if !s.Ledger.Knows("", "other.example.") {
		t.Error("a late read has dropped the new name")
	}
	must.Succeed(t, s.Ledger.ReloadLate(t.Context(), key, make))
	write("a", true)
	must.Succeed(t, s.Ledger.ReloadLate(t.Context(), key, func() {
		must.Succeed(t, s.DeleteZone("infra", "example"))
	}))
	if exists := s.Ledger.Exists("infra", "example"); exists {
		t.Error("a late read has brought the zone back")
	}
	s.Run()
	st.Settle()
	write("b", false)
}
