// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A Record of others at a literal name of a new Delegation gets a grace period. A change of all names fits into a
// transaction of etcd's default limit, and a deleted Delegation leaves nothing behind.
func TestDelegation_reservesNames_S4_22(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }), "/registry/kubizone")
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(setGrace(store.Zone("infra", "example", "example.org.", store.Allow("mallory", "*")), time.Hour)))
	store.Must(s.CreateRecord(s.Ctx, store.Record("mallory", "below", "x.n8.example.org.", "A", "192.0.2.66")))
	st.Settle()

	names := func(prefix string) (all []string) {
		for i := range 32 {
			all = append(all, fmt.Sprint(prefix, i))
		}
		return all
	}
	namespaces := make([]string, 16)
	for i := range namespaces {
		namespaces[i] = fmt.Sprint("b", i)
	}
	store.Must(s.CreateDelegation(store.Delegation("infra", "names", "example", namespaces, names("n")...)))
	st.Settle()
	if r := s.Record("mallory", "below"); r.Status.ZoneRef == nil || r.Status.EndsAt == nil {
		t.Errorf("below a name of another: %+v", r.Status)
	}
	must.Get(s.UpdateDelegation("infra", "names", func(d *v1alpha1.Delegation) {
		d.Spec = store.Delegation("infra", "names", "example", []string{"c0", "c1", "c2"}, names("m")...).Spec
	}))(t)
	st.Settle()
	if r := s.Record("mallory", "below"); r.Status.ZoneRef == nil || r.Status.EndsAt != nil {
		t.Errorf("no rule names it any more: %+v", r.Status)
	}
	must.Succeed(t, s.DeleteDelegation("infra", "names"))
	st.Settle()
	keys := layout.Keys{Prefix: st.Prefix}
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), keys.Room("owners"), clientv3.WithPrefix())).Kvs {
		if strings.Contains(string(kv.Key), "/m") {
			t.Errorf("%s is left", kv.Key)
		}
	}
}

// Reserved names have no data: a name below shop.apps hides shop.apps from *.apps only if none below it has data.
// Concurrent writes read that together. Beside law.FirstOwners reserved names, a write reads no further names for a
// Warning.
func TestRecord_hidesBesideReservedNames_S4_25(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"))))
	for n, above := range []string{"shop.apps", "many.apps", "many.apps"} {
		var reserved []string
		for i := range law.FirstOwners / 2 {
			reserved = append(reserved, fmt.Sprintf("r%d-%02d.%s", n, i, above))
		}
		store.Must(s.CreateDelegation(store.Delegation("infra", fmt.Sprint("names", n), "example", []string{"b"}, reserved...)))
	}
	store.Must(s.CreateRecord(ctx, store.Record("infra", "wild", "*.apps.example.org.", "A", "192.0.2.1")))
	hides := func(name, above string) bool {
		warnings := &warned{}
		_, err := s.CreateRecord(warning.WithWarningRecorder(ctx, warnings), store.Record("infra", name, name+"."+above+".example.org.",
			"A", "192.0.2.1"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return strings.Contains(fmt.Sprint(warnings.texts), "S4.25")
	}
	if !hides("z0", "shop.apps") {
		t.Error("the first name below shop.apps has no Warning")
	}
	runParallel(8, func(i int) {
		if name := fmt.Sprint("z", i+1); hides(name, "shop.apps") {
			t.Errorf("%s has a Warning, and shop.apps was hidden already", name)
		}
	})
	if hides("many", "many.apps") {
		t.Errorf("a Warning beside %d reserved names, as if all names below many.apps were read", law.FirstOwners)
	}
}

// Delegations that wait for their zone reserve names for their namespaces. When the zone is created, servers may stop
// at any point before the Delegations are in force. No tenant with the pattern "*" may get a reserved name; until then,
// such a tenant gets 429.
func TestDelegation_reservesBeforeItsZone_S4_22(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	ctx := withDeadline(t)
	for i := range 6 {
		store.Must(s.CreateDelegation(store.Delegation("infra", fmt.Sprint("d", i), "example", []string{"b"}, fmt.Sprint("n", i))))
	}
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("mallory", "*"), store.Allow("c", "lit"))))
	if _, err := s.CreateRecord(ctx, store.Record("c", "lit", "lit.example.org.", "A", "192.0.2.1")); err != nil {
		t.Errorf("a literal rule: %v", err)
	}
	free := func() *v1alpha1.Record { return store.Record("mallory", "free", "free.example.org.", "A", "192.0.2.1") }
	if _, err := s.CreateRecord(ctx, free()); !apierrors.IsTooManyRequests(err) {
		t.Errorf("before its Delegations are taken in: %v", err)
	}
	runInterrupted(t, st, func(int) {
		for i := range 6 {
			r := store.Record("mallory", fmt.Sprint("r", i), fmt.Sprintf("n%d.example.org.", i), "A", "192.0.2.66")
			if _, err := s.CreateRecord(ctx, r); err == nil {
				t.Errorf("n%d is mallory's", i)
			}
		}
	})
	if _, err := s.CreateRecord(ctx, free()); err != nil {
		t.Errorf("when they are: %v", err)
	}
}

// The owner takes a tenant's name for a new zone: the literal rule and kubi.zone/release-now are one write. The zone is
// written until it is taken, with 429 meanwhile. Wherever servers stop, another tenant with the pattern "*" never gets
// the name.
func TestZone_takesAReservedName_S2_13(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	ctx := withDeadline(t)
	z := store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("mallory", "*"), store.Allow("eve", "*"))
	z.Spec.Delegations[0].Zones = []string{"*"}
	store.Must(s.CreateZone(setGrace(z, time.Hour)))
	store.Must(s.CreateRecord(ctx, store.Record("mallory", "at", "portal.example.org.", "CNAME", "evil.example.")))
	portal := func() error {
		z := store.Zone("infra", "portal", "portal.example.org.")
		return s.Zones.Create(ctx, store.Key("zones", "infra", "portal"), z, &v1alpha1.Zone{}, 0)
	}
	warnings := &warned{}
	must.Get(s.WriteZone(warning.WithWarningRecorder(ctx, warnings), "infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("infra", "portal"))
		z.Generation++
		z.Annotations = map[string]string{v1alpha1.AnnotationReleaseNow: "mallory"}
	}))(t)
	if text := fmt.Sprint(warnings.texts); !strings.Contains(text, "1 Record (portal.example.org. CNAME); they are released at once") {
		t.Errorf("S2.16: the answer says %q", text)
	}
	if err := portal(); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "S2.13") {
		t.Errorf("while the CNAME is there: %v", err)
	}
	runInterrupted(t, st, func(int) {
		for _, kind := range []string{"A", "CNAME"} {
			value := map[string]string{"A": "192.0.2.66", "CNAME": "evil.example."}[kind]
			if _, err := s.CreateRecord(ctx, store.Record("eve", strings.ToLower(kind), "portal.example.org.", kind, value)); err == nil {
				t.Errorf("eve has %s at the name", kind)
			}
		}
	})
	must.Succeed(t, portal())
	if s.Zone("infra", "portal").Status.FQDN != "portal.example.org." || s.Record("mallory", "at").Status.ZoneRef != nil {
		t.Errorf("zone %+v, the record %+v", s.Zone("infra", "portal").Status, s.Record("mallory", "at").Status)
	}
}

// Of nested reserved names the nearest decides, and fsck agrees: a tenant writes below its own name in another's.
func TestReserved_nearestNameDecides_S4_20(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("a", "pay"), store.Allow("b", "x.pay", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("b", "y", "y.x.pay.example.org.", "A", "192.0.2.1")))
	st.MustBeClean()
}

// A policy of DMARC at the root has no label to compare, and is an odd value, not a fault of the server.
func TestRecord_ofAPolicyAtTheRoot(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "root", ".", store.Allow("infra", "@"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("infra", "policy", ".", "TXT", "v=DMARC1; p=none")))
	st.MustBeClean()
}
