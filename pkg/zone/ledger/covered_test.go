// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// CheckCovered reports a fact that was written without its Zone.
func TestCheckCovered_findsWhatIsWrittenBesideAZone(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	st.Damaged = true
	s := st.Server(ledger.CheckCovered)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*", "@"))))
	create := func(name, rrtype, value string) {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, "www.example.org.", rrtype, value)))
	}
	create("address", "A", "192.0.2.1")
	create("text", "TXT", "one")
	if _, errs := inSet(t.Context(), s, createLater(store.Record("infra", "host", "host.cut.example.org.", "A", "192.0.2.1")),
		createLater(store.Record("infra", "cut", "cut.example.org.", "NS", "host.cut.example.org."))); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	if n := s.Ledger.Stats().UncoveredFacts.Load(); n != 0 {
		t.Fatalf("%d facts beside their zone before there is one", n)
	}
	owners := layout.Keys{Prefix: st.Prefix}.Room("owners")
	if gone := must.Get(st.Client.Client.Delete(t.Context(), owners, clientv3.WithPrefix()))(t); gone.Deleted == 0 {
		t.Fatalf("nothing is stored under %s", owners)
	}
	create("mail", "MX", "10 mail")
	if s.Ledger.Stats().UncoveredFacts.Load() == 0 {
		t.Error("the fact about www.example.org. is gone, and the decision that rests on it has not found that")
	}
}
