// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A child zone has 70 name servers with addresses, and later 70 others. The parent takes only content.MaxGlue of them,
// so that its change fits into a single transaction even with etcd's default limit.
func TestCut_isOneTransaction_S6_3(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }), "/registry/kubizone")
	s := st.Server()
	s.Run()
	all := store.Allow("team", "*")
	all.Records = append(all.Records, v1alpha1.RecordDelegation{Pattern: "@", Types: []string{"NS"}})
	top := store.Allow("team")
	top.Zones = []string{"sub"}
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", top)))
	store.Must(s.CreateZone(store.Zone("team", "sub", "sub.example.org.", all)))
	const n = 70
	hosts := func(prefix string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%s%d.sub.example.org.", prefix, i))
		}
		return out
	}
	for _, prefix := range []string{"a", "b"} {
		fillZone(t, s, n, func(i int) *v1alpha1.Record {
			return store.Record("team", fmt.Sprint(prefix, i), fmt.Sprintf("%s%d.sub.example.org.", prefix, i), "A", "192.0.2.1")
		})
	}
	entries := func(want int64) {
		t.Helper()
		store.Eventually(t, fmt.Sprintf("org. has %d entries", want), func() bool { return s.Zone("infra", "org").Status.EntryCount == want })
		st.Settle()
		st.MustBeClean()
	}
	st.Settle()
	none := s.Zone("infra", "org").Status.EntryCount // with the name server of sub itself, last by name
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "ns", "sub.example.org.", "NS", hosts("a")...)))
	entries(none - 2 + 2*content.MaxGlue)
	before := s.Zone("infra", "org").Status.Serial
	store.Must(s.UpdateRecord(t.Context(), "team", "ns", func(r *v1alpha1.Record) { r.Spec.Values = hosts("b") }))
	st.Settle()
	entries(none - 2 + 2*content.MaxGlue)
	if steps := s.Zone("infra", "org").Status.Serial - before; steps != 1 {
		t.Errorf("the parent followed in %d steps", steps)
	}
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", "ns"))
	entries(none)
}
