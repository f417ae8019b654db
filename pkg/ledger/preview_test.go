// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// A dry run says what the write would, whatever this server remembers of a zone that another has changed since: neither
// is it refused nor does it pass by stale memory (ledger A8).
func TestPreview_isNotOfStaleMemory_S7_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	here, there := st.Server(), st.Server()
	store.Must(here.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("team", "a"))))
	store.Eventually(t, "the second server knows the zone", func() bool {
		return here.Ledger.Knows("", "example.org.") && there.Ledger.Knows("", "example.org.")
	})
	a, b := store.Record("team", "a", "a.example.org.", "A", "192.0.2.1"), store.Record("team", "b", "b.example.org.", "A", "192.0.2.1")
	if err := there.Ledger.PreviewRecord(t.Context(), nil, b.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Fatalf("b: %v", err)
	}
	store.Must(here.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team", "b")} }))
	preview := b.DeepCopy()
	if err := there.Ledger.PreviewRecord(t.Context(), nil, preview); err != nil || preview.Status.ZoneRef == nil {
		t.Errorf("b, which may be written now: %v", err)
	}
	if err := there.Ledger.PreviewRecord(t.Context(), nil, a.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("a, which may not: %v", err)
	}
	store.Must(here.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team", "a")} }))
	if err := there.Ledger.PreviewRecord(t.Context(), nil, b.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("b passes by what the rules were: %v", err)
	}
	child := store.Zone("team", "child", "child.example.org.")
	child.Namespace = "team"
	if err := there.Ledger.PreviewZone(there.Ledger.WithEstablish(t.Context(), true), nil, child.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("a child that nothing delegates: %v", err)
	}
	store.Must(here.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations[0].Zones = []string{"child"} }))
	if err := there.Ledger.PreviewZone(there.Ledger.WithEstablish(t.Context(), true), nil, child.DeepCopy()); err != nil {
		t.Errorf("a child that is delegated now: %v", err)
	}
}

// A name server's address that moves from a child into its parent changes the parent twice: where it comes to, and
// its cut. The answer is the serial with which it came, as the dry run said, and the cut follows.
func TestPreview_ofAMoveIntoTheParent_S7_3(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server(today)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*", "*.dev"), v1alpha1.DelegationRule{Zones: []string{"dev"}})))
	child := store.Zone("team", "dev", "dev.example.org.", store.Allow("", "@", "*"))
	child.Spec.NameServers = append(child.Spec.NameServers, v1alpha1.NameServer{Name: "ns2"})
	store.Must(s.CreateZone(child))
	before := store.Must(s.CreateRecord(t.Context(), store.Record("team", "ns2", "ns2.dev.example.org.", "A", "192.0.2.54")))
	entries := s.Zone("infra", "example").Status.EntryCount
	preview := before.DeepCopy()
	preview.Spec.DomainName = "www.example.org."
	preview.Generation++
	if err := s.Ledger.PreviewRecord(t.Context(), before, preview); err != nil {
		t.Fatal(err)
	}
	after := store.Must(s.UpdateRecord(t.Context(), "team", "ns2", func(r *v1alpha1.Record) { r.Spec.DomainName = "www.example.org." }))
	if after.Status.ZoneRef == nil || after.Status.Serial != preview.Status.Serial {
		t.Errorf("the dry run says serial %d of %v, the write %d of %v", preview.Status.Serial, preview.Status.ZoneRef, after.Status.Serial, after.Status.ZoneRef)
	}
	if z := s.Zone("infra", "example").Status; z.Serial != after.Status.Serial+1 || z.EntryCount != entries-1 { // with the record, without its name server and glue
		t.Errorf("serial %d with %d entries, %d before", z.Serial, z.EntryCount, entries)
	}
}
