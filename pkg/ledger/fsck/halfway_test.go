// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/fsck"
	"kubi.zone/kubizone/test/store"
)

// During the move of Records to a new zone, beside a zone that lost its name and waits, fsck reports pending works and
// no damage. It still finds real damage (S2.7).
func TestRun_halfway(t *testing.T) {
	st := store.New(t)
	s := st.Server()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	waiting := store.Zone("team-b", "kid", "kid", store.Allow("", "*"))
	waiting.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "edu"}
	store.Must(s.CreateZone(waiting))
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "above", "www.kid.example.edu.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "www", "www.sub.example.org.", "A", "192.0.2.1")))
	store.Must(s.CreateZone(store.Zone("infra", "edu", "example.edu.", store.Allow("", "*"))))
	st.Settle()
	store.Must(s.UpdateZone("infra", "edu", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"*"}})
	}))
	st.Settle()
	stop()
	store.Must(s.CreateZone(store.Zone("infra", "sub", "sub.example.org.", store.Allow("", "*"))))
	if r := st.Fsck(); !r.Clean() || r.Pending.Total == 0 {
		t.Fatalf("halfway: %s", store.Text(r))
	}
	names := s.Ledger.Layout().Room("names")
	held := func(v *vandal, change func(key string, h *law.Holding) bool) string {
		return editValue(v, names, change)
	}
	for _, c := range []struct {
		name string
		rule fsck.Rule
		do   func(v *vandal) string
	}{
		{"the mark of a zone that takes over is lost", "I4", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool {
				is := h.Name == "sub"
				h.Works = nil
				return is
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &vandal{t: t, s: s, st: st}
			key := c.do(v)
			r := st.Fsck()
			if !slices.ContainsFunc(r.Damage.List, func(f fsck.Finding) bool { return f.Rule == c.rule && strings.HasPrefix(f.Key, key) }) {
				t.Errorf("no finding of %s at %s: %s", c.rule, key, store.Text(r))
			}
			v.restoreAll()
			if r := st.Fsck(); !r.Clean() {
				t.Fatalf("not restored: %s", store.Text(r))
			}
		})
	}
	s.Run()
	st.Settle()
	if r := s.Record("team-a", "www"); r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != "sub" {
		t.Errorf("it ended as %+v", r.Status)
	}
}
