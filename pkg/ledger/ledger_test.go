// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func TestWrite_recordTakesItsZoneAlong_S7_1(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	s.Run()
	z := store.Must(s.CreateZone(store.Zone("default", "example-org", "example.org.", store.Allow("default", "@", "*"), store.Allow("team-a", "*.dev"))))
	if z.Status.FQDN != "example.org." || z.Status.Serial == 0 || z.Status.Hash == "" || z.Status.EntryCount != 3 {
		t.Fatalf("zone after creation: %+v", z.Status)
	}
	store.Eventually(t, "the zone settles", func() bool { z = s.Zone("default", "example-org"); return z.Status.SettledSerial == z.Status.Serial })
	before := z.Status
	r := store.Must(s.CreateRecord(s.Ctx, store.Record("default", "www", "www.example.org.", "A", "192.0.2.1")))
	if r.Status.ZoneRef == nil || r.Status.FQDN != "www.example.org." || !meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionAdopted) {
		t.Fatalf("record: %+v", r.Status)
	}
	z = s.Zone("default", "example-org")
	if z.Status.Serial != before.Serial+1 || r.Status.Serial != z.Status.Serial || z.Status.Hash == before.Hash || z.Status.EntryCount != 4 {
		t.Errorf("zone after the record: %+v, record %+v", z.Status, r.Status)
	}
	if z.ResourceVersion != r.ResourceVersion {
		t.Errorf("zone at %s, record at %s: one transaction has one revision", z.ResourceVersion, r.ResourceVersion)
	}
	if got := r.Labels[v1alpha1.LabelParentZone]; got != "example-org.default" {
		t.Errorf("parent label %q", got)
	}
	r = store.Must(s.UpdateRecord(s.Ctx, "default", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	if r.Status.Serial != before.Serial+2 {
		t.Errorf("serial %d after the update, want %d", r.Status.Serial, before.Serial+2)
	}
	must.Succeed(t, s.DeleteRecord(s.Ctx, "default", "www"))
	z = s.Zone("default", "example-org")
	if z.Status.SettledSerial != z.Status.Serial {
		t.Errorf("settledSerial %d, serial %d: nothing holds the zone back", z.Status.SettledSerial, z.Status.Serial)
	}
	if z.Status.Hash != before.Hash || z.Status.Serial != before.Serial+3 || z.Status.EntryCount != 3 {
		t.Errorf("zone after the deletion: %+v, want hash %s", z.Status, before.Hash)
	}
}

func TestWrite_refusalReads_S2_2(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	store.Must(s.CreateZone(store.Zone("default", "example-org", "example.org.", store.Allow("default", "*"))))
	_, err := s.CreateRecord(s.Ctx, store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1"))
	want := `records.kubi.zone "www" is forbidden: zone example.org. does not delegate A at www.example.org. to namespace "team-a" (S4.1; its owner can add a delegation with pattern "www")`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if !apierrors.IsForbidden(err) {
		t.Errorf("%v is no 403", err)
	}
	if _, err = s.CreateZone(store.Zone("other", "again", "EXAMPLE.org.")); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second zone of the name (S1.4): %v", err)
	}
}

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
