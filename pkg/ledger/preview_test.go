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
