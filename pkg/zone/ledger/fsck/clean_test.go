// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func writeWorld(t *testing.T, st *store.Store) *store.Server {
	t.Helper()
	clock := store.Clock{}
	s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	stop := s.Run()
	defer stop()
	zone := func(z *v1alpha1.Zone, change ...func(*v1alpha1.Zone)) {
		t.Helper()
		for _, f := range change {
			f(z)
		}
		if _, err := s.CreateZone(z); err != nil {
			t.Fatalf("zone %s: %v", z.Name, err)
		}
	}
	record := func(r *v1alpha1.Record, change ...func(*v1alpha1.Record)) {
		t.Helper()
		for _, f := range change {
			f(r)
		}
		if _, err := s.CreateRecord(s.Ctx, r); err != nil {
			t.Fatalf("record %s/%s: %v", r.Namespace, r.Name, err)
		}
	}
	in := func(name string) func(*v1alpha1.Record) {
		return func(r *v1alpha1.Record) { r.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: name, Namespace: "infra"} }
	}
	ttl := func(seconds int32) func(*v1alpha1.Record) {
		return func(r *v1alpha1.Record) { r.Spec.TTL = &seconds }
	}

	// Some Records wait before any zone exists, and some for absent zones.
	record(store.Record("infra", "early", "early.example.org.", "A", "192.0.2.9"))
	record(store.Record("team-a", "nowhere", "www.nowhere.test.", "A", "192.0.2.9"))
	record(store.Record("team-a", "no-ref", "www", "A", "192.0.2.9"), func(r *v1alpha1.Record) { r.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "never"} })
	zone(store.Zone("team-a", "pending", "sub"), func(z *v1alpha1.Zone) { z.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "never"} })

	top := v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "_acme-challenge.*"}, {Pattern: "*", Types: []string{"NS", "DNAME", "DS", "CNAME", "A"}}},
		Zones: []string{"dev", "*.dev", "late"}, DS: true}
	zone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "@", "*"), top, v1alpha1.DelegationRule{Namespace: "infra", Records: []v1alpha1.RecordDelegation{{Pattern: "odd", Types: []string{"TYPE65280"}}}}, store.Allow("team-e", "*.apps")), func(z *v1alpha1.Zone) {
		limit := int32(5)
		z.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: &limit}
	})
	record(store.Record("infra", "www", "www", "A", "192.0.2.1", "192.0.2.2"), in("example"))
	record(store.Record("infra", "www-too", "www.example.org.", "A", "192.0.2.2", "192.0.2.3"), ttl(60))
	record(store.Record("infra", "mx", "@", "MX", "10 mail", "20 mail.example.net."), in("example"))
	record(store.Record("infra", "sale", "sale", "TXT", "until 2100"), in("example"), func(r *v1alpha1.Record) {
		r.Spec.ExpiresAt = &metav1.Time{Time: time.Unix(4102444800, 0)}
	})
	record(store.Record("infra", "mail", "mail", "AAAA", "2001:db8::1"), in("example"), ttl(0))
	record(store.Record("infra", "ns", "@", "NS", "ns2"), in("example"))
	record(store.Record("infra", "ns2", "ns2", "A", "192.0.2.54"), in("example"))
	record(store.Record("infra", "spf", "@", "TXT", "v=spf1 -all"), in("example"))
	record(store.Record("infra", "any", "*", "TXT", "anything"), in("example"))
	record(store.Record("team-a", "app", "app.example.org.", "CNAME", "www"))
	record(store.Record("team-b", "acme", "_acme-challenge.app.example.org.", "TXT", "token"))
	// A tenant and the zone's own namespace use the same base name, in an order that differs from that of their names.
	record(store.Record("team-e", "token", "_acme-challenge.both.apps.example.org.", "TXT", "token"))
	record(store.Record("infra", "both", "_dmarc.both.apps", "TXT", "v=DMARC1"), in("example"))
	// The zone's own namespace has data at the wildcard of an underscore name.
	record(store.Record("infra", "keys", "*._domainkey.mail", "TXT", "k=rsa;p="), in("example"))
	record(store.Record("team-b", "cut", "cut.example.org.", "NS", "ns.cut", "ns.example.net."))
	record(store.Record("team-b", "glue", "ns.cut.example.org.", "A", "192.0.2.7"))
	record(store.Record("team-c", "alias", "alias.example.org.", "DNAME", "www.example.net."))
	record(store.Record("infra", "unknown", "odd", "TYPE65280", `\# 3 010203`), in("example"))
	record(store.Record("team-e", "wild", "*.apps.example.org.", "A", "192.0.2.8"))

	// There are Delegations for a single namespace, for two, and for an absent zone.
	shared := store.Delegation("infra", "shared", "example", []string{"team-f", "team-g"}, "feed")
	for _, d := range []*v1alpha1.Delegation{shared, store.Delegation("infra", "team-f", "example", []string{"team-f"}, "*.f"), store.Delegation("team-a", "never", "never", []string{"team-f"}, "*")} {
		store.Must(s.CreateDelegation(d))
	}
	record(store.Record("team-f", "www", "www.f.example.org.", "A", "192.0.2.8"))
	record(store.Record("team-g", "feed", "feed.example.org.", "A", "192.0.2.8"))

	// There is a delegated child with glue, a grandchild, a child in another view, and a removed child.
	zone(store.Zone("team-d", "dev", "dev.example.org.", store.Allow("team-d", "@", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}}))
	record(store.Record("team-d", "dev-ns", "dev.example.org.", "NS", "ns2", "ns.elsewhere.test."))
	record(store.Record("team-d", "dev-ns2", "ns2.dev.example.org.", "A", "192.0.2.60"))
	record(store.Record("infra", "ds", "dev.example.org.", "DS", "1 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"))
	store.Must(s.UpdateZone("team-d", "dev", func(z *v1alpha1.Zone) {
		z.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: "dev.example.org.", DS: []v1alpha1.DelegationSigner{
			{KeyTag: 1, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("0123456789abcdef", 4)}, {KeyTag: 2, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("0123456789abcdef", 4)}}}
	}))
	zone(store.Zone("team-d", "deep", "deep"), func(z *v1alpha1.Zone) {
		z.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "dev"}
		z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns.deep.dev.example.org."}} // without an address, the parent lists none
	})
	zone(store.Zone("infra", "inside", "example.org.", store.Allow("", "*")), func(z *v1alpha1.Zone) { z.Spec.View = "inside" })
	record(store.Record("team-a", "inside", "www.example.org.", "A", "10.0.0.1"), func(r *v1alpha1.Record) { r.Spec.View = "inside" })
	zone(store.Zone("infra", "old", "old.test.", store.Allow("infra", "@", "*")))
	record(store.Record("infra", "in-old", "mail", "MX", "10 mail"), in("old"))
	store.Must(s.UpdateZone("infra", "old", func(z *v1alpha1.Zone) { z.Spec.Contact = "dns@old.test" }))
	zone(store.Zone("infra", "gone", "gone.test.", store.Allow("infra", "*")))
	record(store.Record("infra", "in-gone", "www", "A", "192.0.2.1"), in("gone"))
	must.Succeed(t, s.DeleteZone("infra", "gone"))

	// A mass deletion is followed by more changes than the journal keeps.
	zone(store.Zone("infra", "held", "held.test.", store.Allow("infra", "*")), func(z *v1alpha1.Zone) { z.Spec.Limits = nil })
	st.Settle()
	for i := range 12 {
		record(store.Record("infra", fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", i), "A", "192.0.2.1"), in("held"))
	}
	clock.PassPeriods()
	for i := range 12 {
		must.Succeed(t, s.DeleteRecord(s.Ctx, "infra", fmt.Sprintf("h%d", i)))
	}
	values := func(n int) (out []string) {
		for i := range 14 {
			out = append(out, strings.Repeat(string(rune('a'+n)), 3900)+fmt.Sprint(i))
		}
		return out
	}
	record(store.Record("infra", "long", "long", "TXT", values(0)...), in("held"))
	for i := range 15 {
		store.Must(s.UpdateRecord(s.Ctx, "infra", "long", func(r *v1alpha1.Record) { r.Spec.Values = values(i + 1) }))
	}
	store.Eventually(t, "the oldest changes since then are condensed", func() bool {
		return len(store.Must(st.Client.Client.Get(s.Ctx, s.Ledger.Layout().Room("condensed"), withPrefix()...)).Kvs) > 1
	})

	// Some Records wait at a taken name, and another waits because its namespace is at the limit.
	for i := range 3 {
		record(store.Record("team-e", fmt.Sprintf("e%d", i), fmt.Sprintf("e%d.example.org.", i), "A", "192.0.2.1"))
	}
	zone(store.Zone("infra", "late-view", "late.test.", store.Allow("", "*")), func(z *v1alpha1.Zone) { z.Spec.View = "late" })
	late := func(age time.Duration) func(*v1alpha1.Record) {
		return func(r *v1alpha1.Record) {
			r.Spec.View, r.CreationTimestamp = "late", metav1.NewTime(r.CreationTimestamp.Add(-age))
		}
	}
	record(store.Record("team-a", "first", "same.late.test.", "A", "192.0.2.1"), late(time.Hour))
	must.Succeed(t, s.DeleteZone("infra", "late-view"))
	st.Settle()
	record(store.Record("team-b", "second", "same.late.test.", "A", "192.0.2.2"), late(time.Minute))
	record(store.Record("team-a", "clash", "same.late.test.", "CNAME", "x.test."), late(0))
	zone(store.Zone("infra", "late-again", "late.test.", store.Allow("", "*")), func(z *v1alpha1.Zone) { z.Spec.View = "late" })

	// Some Records and zones are withdrawn.
	zone(store.Zone("infra", "lent", "lent.test.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}}),
		func(z *v1alpha1.Zone) {
			z.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: time.Hour}
		})
	record(store.Record("team-a", "lent", "www.lent.test.", "A", "192.0.2.1"))
	zone(store.Zone("team-d", "kid", "kid.lent.test.", store.Allow("", "*")))
	// An established zone is below a zone that does not delegate it.
	zone(store.Zone("team-d", "alone", "alone.above.test.", store.Allow("", "*")))
	zone(store.Zone("infra", "above", "above.test.", store.Allow("", "*")))

	// A reverse zone has PTR of own's names and a tenant's, and hides one behind a written PTR.
	zone(store.Zone("infra", "reverse", "2.0.192.in-addr.arpa.", store.Allow("infra", "*")), func(z *v1alpha1.Zone) {
		z.Spec.Reverse = &v1alpha1.ZoneReverse{Zones: []string{"example", "never"}, Namespaces: []string{"infra", "team-f"}}
	})
	record(store.Record("infra", "ptr", "8", "PTR", "www.example.org."), in("reverse"))

	zone(store.Zone("infra", "kinds", "kinds.test.", store.Allow("", "*", "_acme-challenge.*", "pay.shop"),
		v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "status", Shared: true},
			{Pattern: "*.status", Shared: true}}}))
	for i, at := range []string{"shop", "_acme-challenge.shop", "*.shop", "status", "_tcp.status", "*.status"} {
		record(store.Record("team-a", fmt.Sprint("kind", i), at+".kinds.test.", "TXT", "a"))
	}
	record(store.Record("team-b", "pay", "pay.shop.kinds.test.", "TXT", "b"))
	record(store.Record("team-b", "too", "status.kinds.test.", "TXT", "b"))
	record(store.Record("infra", "own", "_dmarc.kinds.test.", "TXT", "v=DMARC1"))
	store.Must(s.UpdateZone("infra", "lent", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))

	store.Must(s.UpdateRecord(s.Ctx, "infra", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2", "192.0.2.4"} }))
	store.Must(s.UpdateRecord(s.Ctx, "infra", "www-too", ttlOf(30)))
	store.Must(s.UpdateRecord(s.Ctx, "infra", "spf", func(r *v1alpha1.Record) { r.Spec.DomainName = "other" }))
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		seconds := int32(600)
		z.Spec.TTL = &seconds
	}))
	store.Must(s.UpdateZone("infra", "inside", func(z *v1alpha1.Zone) {
		minimum := int64(4000000000)
		z.Spec.MinimumSerial = &minimum
	}))
	must.Succeed(t, s.DeleteRecord(s.Ctx, "infra", "ns2"))
	st.Settle()
	return s
}

func ttlOf(seconds int32) func(*v1alpha1.Record) {
	return func(r *v1alpha1.Record) { r.Spec.TTL = &seconds }
}

func TestRun_isCleanOnEveryKindOfStore(t *testing.T) {
	st := store.New(t)
	if r := st.Fsck(); r.Zones+r.Records != 0 || r.Damage.Total != 1 || r.Damage.List[0].Rule != "format" {
		t.Errorf("an empty store without a format: %s", store.Text(r))
	}
	s := writeWorld(t, st)
	r := st.Fsck()
	if !r.Clean() || r.Pending.Total+r.Notes.Total > 0 {
		t.Fatalf("%s", store.Text(r))
	}
	for _, room := range layout.Rooms {
		got := store.Must(st.Client.Client.Get(s.Ctx, s.Ledger.Layout().Room(room), withPrefix()...))
		passing := []string{"outbox", "debts"}
		if !slices.Contains(passing, room) && len(got.Kvs) == 0 {
			t.Errorf("the store has no key under %s/: it does not show what it should", room)
		}
	}
	if text := store.Text(r); !strings.HasSuffix(text, "clean; no work is pending\n") || !strings.HasPrefix(text, fmt.Sprintf("checked %d zones", r.Zones)) {
		t.Errorf("report:\n%s", text)
	}
	// The report for an earlier revision lists the works of that revision.
	must.Succeed(t, s.DeleteZone("infra", "example"))
	if r = st.Fsck(); !r.Clean() || r.Pending.Total < 10 {
		t.Errorf("after a deletion that no server carries out:\n%s", store.Text(r))
	}
	s.Run()
	st.Settle()
}
