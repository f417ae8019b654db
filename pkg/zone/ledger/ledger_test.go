// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func TestWrite_deepNames_S1_3(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("default", "example-org", "example.org.", store.Allow("default", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	deep := strings.Repeat("a.", 120) + "example.org."
	r := store.Must(s.CreateRecord(s.Ctx, store.Record("default", "deep", deep, "A", "192.0.2.1")))
	if r.Status.FQDN != deep || r.Status.ZoneRef == nil {
		t.Fatalf("%+v", r.Status)
	}
	// The deep zone adopts the records below its name, so the parent's namespace cannot change them.
	store.Must(s.CreateZone(store.Zone("default", "deeper", strings.Repeat("a.", 110)+"example.org.", store.Allow("default", "*"))))
	st.Settle()
	if r := store.Must(s.CreateRecord(s.Ctx, store.Record("default", "deep2", "b."+deep, "A", "192.0.2.1"))); r.Status.ZoneRef.Name != "deeper" {
		t.Errorf("adopted by %s, not the longest zone", r.Status.ZoneRef.Name)
	}
	store.Must(s.UpdateRecord(s.Ctx, "default", "deep2", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	must.Succeed(t, s.DeleteRecord(s.Ctx, "default", "deep2"))
}

// A caller may change the returned object without changing the cache.
func TestWrite_answerIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	z := store.Must(s.CreateZone(store.Zone("default", "example-org", "example.org.", store.Allow("default", "*"))))
	z.Spec.NameServers[0].Name = "changed"
	z.Status.Conditions[0].Message = "changed"
	z.Labels = map[string]string{"changed": ""}
	store.Must(s.CreateRecord(s.Ctx, store.Record("default", "www", "www.example.org.", "A", "192.0.2.1")))
	if z = s.Zone("default", "example-org"); z.Spec.NameServers[0].Name != "ns1" || z.Status.Conditions[0].Message == "changed" {
		t.Errorf("the stored zone took over what its creator did with the answer: %+v %+v", z.Spec.NameServers, z.Status.Conditions)
	}
}
