// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// Namespace b has a Record below a claim of namespace a, which a literal rule allowed (S4.12). When the rule is gone,
// no rule in force explains the two claims (S4.8). fsck writes a note but reports no damage, because the store does not
// keep former rules.
func TestRun_notesNestedClaimsThatNoRuleInForceLetsCome(t *testing.T) {
	st := store.New(t)
	s := st.Server()
	s.Run()
	literal := v1alpha1.DelegationRule{Namespace: "b", Records: []v1alpha1.RecordDelegation{{Pattern: "pay.shop", Types: []string{"TXT"}}}}
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), store.Allow("c", "top"),
		store.Allow("b", "*.top"), literal)))
	for _, r := range []*v1alpha1.Record{
		store.Record("a", "shop", "shop.example.org.", "A", "192.0.2.1"),
		store.Record("b", "named", "pay.shop.example.org.", "TXT", "b"),
		store.Record("b", "plain", "pay.shop.example.org.", "A", "192.0.2.2"),
		store.Record("b", "under", "under.top.example.org.", "A", "192.0.2.2"),
		store.Record("c", "top", "top.example.org.", "A", "192.0.2.3"), // a literal claim blocks no namespace
		store.Record("b", "below", "x.pay.shop.example.org.", "A", "192.0.2.2"),
	} {
		store.Must(s.CreateRecord(t.Context(), r))
	}
	st.Settle()
	if r := st.Fsck(); !r.Clean() || r.Notes.Total > 0 {
		t.Fatalf("while the literal rule stands: %s", store.Text(r))
	}
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:3] }))
	st.Settle()
	r := st.Fsck()
	if !r.Clean() || r.Notes.Total != 1 || r.Notes.List[0].Rule != "S4.8" || !strings.HasSuffix(r.Notes.List[0].Key, "/shop.pay.") {
		t.Errorf("without it: %s", store.Text(r))
	}
	if text := store.Text(r); !strings.Contains(text, "note: ") || !strings.HasSuffix(text, "clean; no work is pending\n") {
		t.Errorf("report:\n%s", text)
	}
}
