// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/fsck"
	"kubi.zone/kubizone/test/store"
)

// Halfway through a move, through the rename of a chain, and with a zone that lost
// and waits: nothing of it is damage, all of it is owed, and what is wrong there
// is found (S2.6, S2.7, S6.8).
func TestRun_halfway(t *testing.T) {
	st := store.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	armed := false
	s := st.Server(func(c *ledger.Config) {
		c.Fault = func(point string) {
			if point == "moved-out" && armed {
				cancel()
			}
		}
	})
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	store.Must(s.CreateZone(store.Zone("infra", "net", "example.net.", store.Allow("", "*"))))
	for _, parent := range []string{"org", "sub"} {
		z := store.Zone("infra", map[string]string{"org": "sub", "sub": "low"}[parent], parent+"s", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})
		z.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: parent}
		store.Must(s.CreateZone(z))
	}
	waiting := store.Zone("team-b", "kid", "kid", store.Allow("", "*"))
	waiting.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "edu"}
	store.Must(s.CreateZone(waiting))
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "above", "www.kid.example.edu.", "A", "192.0.2.1")))
	moving := store.Record("team-a", "www", "www", "A", "192.0.2.1")
	moving.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "org"}
	store.Must(s.CreateRecord(t.Context(), moving))
	edu := store.Zone("infra", "edu", "example.edu.", store.Allow("", "*"))
	store.Must(s.CreateZone(edu))
	st.Settle()
	store.Must(s.UpdateZone("infra", "edu", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"*"}})
	}))
	st.Settle()
	stop()
	armed = true
	store.Must(s.UpdateRecord(ctx, "team-a", "www", func(r *v1alpha1.Record) { r.Spec.ZoneRef.Name = "net" }))
	store.Must(s.UpdateZone("infra", "org", func(z *v1alpha1.Zone) { z.Spec.DomainName = "example.com." }))
	if r := st.Fsck(); !r.Clean() || r.Owed.Total < 4 {
		t.Fatalf("halfway: %s", store.Text(r))
	}
	names := s.Ledger.Layout().Room("names")
	held := func(v *vandal, change func(key string, h *law.Holding) bool) string { return edit(v, names, change) }
	item := func(v *vandal, suits func(law.Work) bool) string {
		return edit(v, v.room("outbox"), func(_ string, w *law.Work) bool { return suits(*w) })
	}
	for _, c := range []struct {
		name string
		rule fsck.Rule
		do   func(v *vandal) string
	}{
		{"a reserved place is lost", "S2.6", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool { is := h.Reserved != nil; h.Reserved = nil; return is })
		}},
		{"the move of a reserved place is lost", "S2.6", func(v *vandal) string {
			v.put(item(v, func(w law.Work) bool { return w.Move != nil }), nil)
			return names
		}},
		{"a moving record is lost from the outbox", "S2.3", func(v *vandal) string {
			v.put(item(v, func(w law.Work) bool { return w.Move != nil }), nil)
			return v.s.Ledger.Layout().Record("team-a", "www")
		}},
		{"a reserved place of no record", "S2.6", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool {
				is := h.Reserved != nil
				h.Reserved = append(h.Reserved, law.Reservation{ID: "none", UID: "none", Namespace: "team-x", Owner: name.MustRel("x"), Values: 1})
				return is
			})
		}},
		{"a reserved place with a turn that has not come", "S2.6", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool {
				if h.Reserved == nil {
					return false
				}
				h.Reserved[0].N = 1000
				return true
			})
		}},
		{"the mark of a zone that follows is lost", "I4", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool {
				is := h.Name == "low"
				h.Works = nil
				return is
			})
		}},
		{"a zone that follows is not told its name", "S1.5", func(v *vandal) string {
			held(v, func(key string, h *law.Holding) bool {
				if h.Name != "org" {
					return false
				}
				h.Works[0].Becomes, h.Works[0].Coming = name.Name{}, nil
				return true
			})
			held(v, func(_ string, h *law.Holding) bool {
				if h.Name != "sub" {
					return false
				}
				h.Works[0].Becomes = name.Name{}
				return true
			})
			return v.s.Ledger.Layout().Zone("infra", "sub")
		}},
		{"a rename that renames no zone", "S6.8", func(v *vandal) string {
			edit(v, v.room("outbox"), func(_ string, w *law.Work) bool { is := w.Renames; w.Renames = false; return is })
			return names
		}},
		{"a zone that is expected elsewhere", "S6.8", func(v *vandal) string {
			return held(v, func(_ string, h *law.Holding) bool {
				i := slices.IndexFunc(h.Works, func(w law.StandingWork) bool { return len(w.Coming) > 0 })
				if i < 0 {
					return false
				}
				h.Works[i].Coming = append(h.Works[i].Coming, name.MustParse("elsewhere.test."))
				return true
			})
		}},
		{"the mark of a zone that lost is gone", "S2.7", func(v *vandal) string {
			held(v, func(_ string, h *law.Holding) bool { is := h.Awaited != nil; h.Awaited = nil; return is })
			return v.s.Ledger.Layout().Zone("team-b", "kid")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &vandal{t: t, s: s, st: st}
			key := c.do(v)
			r := st.Fsck()
			if !slices.ContainsFunc(r.Damage.List, func(f fsck.Finding) bool { return f.Rule == c.rule && strings.HasPrefix(f.Key, key) }) {
				t.Errorf("no finding of %s at %s: %s", c.rule, key, store.Text(r))
			}
			v.restore()
			if r := st.Fsck(); !r.Clean() {
				t.Fatalf("not restored: %s", store.Text(r))
			}
		})
	}
	s.Run()
	st.Settle()
	if z := s.Zone("infra", "low"); z.Status.FQDN != "subs.orgs.example.com." {
		t.Errorf("the chain ended at %s", z.Status.FQDN)
	}
	if r := s.Record("team-a", "www"); r.Status.FQDN != "www.example.net." || r.Status.ZoneRef == nil {
		t.Errorf("the move ended as %+v", r.Status)
	}
}
