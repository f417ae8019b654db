// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// An early check costs an allowed write no round trip, and its refusal equals the refusal of the write.
func TestEarlyRecord_saysWhatTheWriteWillSay_S2_2(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("platform", "@", "*"), store.Allow("team-a", "*.dev", "www"), store.Allow("team-b", "www"))))
	zone := store.Zone("platform", "limited", "example.net.", store.Allow("", "*"))
	zone.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: new(int32(1))}
	store.Must(s.CreateZone(zone))
	store.Must(s.CreateRecord(s.Ctx, store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(s.Ctx, store.Record("team-a", "one", "one.example.net.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(s.Ctx, store.Record("team-b", "alias", "alias.example.net.", "CNAME", "www.example.org.")))
	below := store.Record("team-a", "below", "x.example.org.", "A", "192.0.2.1")
	below.Spec.DomainName, below.Spec.ZoneRef = "x.example.org.", &v1alpha1.ZoneReference{Namespace: "platform", Name: "limited"}

	for _, c := range []struct {
		name    string
		record  *v1alpha1.Record
		rule    string
		refused bool
	}{
		{"delegated", store.Record("team-a", "x", "x.dev.example.org.", "A", "192.0.2.1"), `zone example.org., pattern "*.dev"`, false},
		{"not delegated", store.Record("team-c", "x", "x.dev.example.org.", "A", "192.0.2.1"), "", true},
		{"a type the rule must name", store.Record("team-a", "x", "x.dev.example.org.", "DS", "1 8 2 E2D3C916F6DEEAC73294E8268FB5885044A833FC5459588F4A9184CFC41A5766"), "", true},
		{"held by another namespace", store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.2"), "", true},
		{"one too many", store.Record("team-a", "two", "two.example.net.", "A", "192.0.2.1"), "", true},
		{"422 is left to the write", store.Record("platform", "apex", "example.org.", "CNAME", "www"), "", false},
		{"422 of the reference too", below, "", false},
		{"422 comes before one too many", store.Record("team-b", "alias-2", "alias.example.net.", "CNAME", "mail.example.org."), "", false},
		{"no zone yet", store.Record("team-a", "x", "x.example.com.", "A", "192.0.2.1"), "", false},
		{"data is left to the write", store.Record("team-a", "x", "x.dev.example.org.", "A", "no address"), `zone example.org., pattern "*.dev"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads, transactions := s.Ledger.Stats().Reads.Load(), s.Ledger.Stats().Transactions.Load()
			rule, early := s.Ledger.EarlyRecord(s.Ctx, nil, c.record)
			if rule != c.rule || (early != nil) != c.refused {
				t.Errorf("rule %q, %v; want rule %q, refused %v", rule, early, c.rule, c.refused)
			}
			if n := s.Ledger.Stats().Reads.Load() - reads; n != 0 {
				t.Errorf("%d reads for an early answer", n)
			}
			want := int64(0)
			if c.refused {
				want = 1 // the proof
			}
			if n := s.Ledger.Stats().Transactions.Load() - transactions; n != want {
				t.Errorf("%d transactions, want %d", n, want)
			}
			if !c.refused {
				return
			}
			_, late := s.CreateRecord(s.Ctx, c.record)
			if late == nil || early == nil || early.Error() != late.Error() {
				t.Errorf("early %v\nlate  %v", early, late)
			}
		})
	}
}

// A refusal must not rest on the cache alone, because another server may have written since. A server without the facts
// in its cache reads none for an early answer.
func TestEarlyRecord_isNeverRefusedByAStaleMemory_S2_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s, other := st.Server(), st.Server()
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("team-a", "*"))))
	mine := store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.1")
	if _, err := s.Ledger.EarlyRecord(s.Ctx, nil, mine); err == nil {
		t.Fatal("nothing delegates the name, and it is not refused")
	}
	rule, err := other.Ledger.EarlyRecord(other.Ctx, nil, mine)
	if n := other.Ledger.Stats().Reads.Load() + other.Ledger.Stats().Transactions.Load(); rule != "" || err != nil || n != 0 {
		t.Errorf("without a memory: %q, %v after %d round trips", rule, err, n)
	}
	store.Must(other.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team-b", "*"))
	}))
	if _, err := s.Ledger.EarlyRecord(s.Ctx, nil, mine); err != nil {
		t.Errorf("delegated by now, and refused early: %v", err)
	}
	r := store.Must(s.CreateRecord(s.Ctx, mine))

	store.Must(other.UpdateRecord(other.Ctx, "team-b", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	foreign := r.DeepCopy()
	foreign.Spec.DomainName = "team-a.example.org."
	store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-a", "*"), store.Allow("team-b", "www")}
	}))
	if _, err := s.Ledger.EarlyRecord(s.Ctx, r, foreign); err != nil {
		t.Errorf("refused early from a state of the object that is gone: %v", err)
	}
	now := store.Must(s.UpdateRecord(s.Ctx, "team-b", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.3"} }))
	if _, err := s.Ledger.EarlyRecord(s.Ctx, r, foreign); err != nil {
		t.Errorf("refused early from a state of the object that is gone, with everything else remembered: %v", err)
	}
	foreign = now.DeepCopy()
	foreign.Spec.DomainName = "team-a.example.org."
	if _, err := s.Ledger.EarlyRecord(s.Ctx, now, foreign); err == nil {
		t.Error("from its present state it is not refused")
	}
	// Changes of metadata and description always pass (S2.4).
	store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
	labelled := now.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	labelled.Spec.Description = "why"
	if rule, err := s.Ledger.EarlyRecord(s.Ctx, now, labelled); rule != "" || err != nil {
		t.Errorf("an update that leaves spec alone: %q, %v", rule, err)
	}

	// Without a zone the record would wait (S2.3), so there is no refusal.
	must.Succeed(t, other.DeleteZone("platform", "example-org"))
	if _, err := s.Ledger.EarlyRecord(s.Ctx, nil, store.Record("team-c", "www", "www.example.org.", "A", "192.0.2.1")); err != nil {
		t.Errorf("the zone is gone, and it refuses early: %v", err)
	}
	other.Run() // not before: a cascade would make this memory stale
	st.Settle()
}

// Each transaction must contain an operation. etcd answers a transaction of compares alone from a member that may lag,
// so that a refusal or a dry run would rest on an old state.
func TestTransactions_areOfTheMajority(t *testing.T) {
	t.Parallel()
	var all, empty atomic.Int64
	s := store.New(t).Server(spyOn(func(x *spiedTxn) (*clientv3.TxnResponse, error) {
		if all.Add(1); len(x.then)+len(x.orelse) == 0 {
			empty.Add(1)
		}
		return x.Txn.Commit()
	}))
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("team", "*"))))
	must.Get(s.CreateRecord(s.Ctx, store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))(t)
	foreign := store.Record("other", "www", "www.example.org.", "A", "192.0.2.1")
	for range 2 { // the second from memory
		if _, err := s.CreateRecord(s.Ctx, foreign); !apierrors.IsForbidden(err) {
			t.Errorf("another namespace's name: %v", err)
		}
		if _, err := s.Ledger.EarlyRecord(s.Ctx, nil, foreign); !apierrors.IsForbidden(err) {
			t.Errorf("another namespace's name, early: %v", err)
		}
		must.Succeed(t, s.Ledger.PreviewRecord(s.Ctx, nil, store.Record("team", "two", "two.example.org.", "A", "192.0.2.1")))
	}
	if n := empty.Load(); n > 0 {
		t.Errorf("%d of %d transactions only compare", n, all.Load())
	}
}
