// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func reverseZone(ns, object, domain string, reverse *v1alpha1.ZoneReverse) *v1alpha1.Zone {
	z := store.Zone(ns, object, domain, store.Allow(ns, "*"))
	z.Spec.Reverse = reverse
	return z
}

// readPTR returns the derived PTR of a zone, such as "7 www.example.org.". fsck compares them with content and hash.
func readPTR(ctx context.Context, t *testing.T, st *store.Store, z *v1alpha1.Zone) (found []string) {
	t.Helper()
	keys := layout.Keys{Prefix: st.Prefix}
	prefix := keys.Room("cuts") + string(z.UID) + "/@"
	client := must.Get(st.Connect())(t)
	for _, kv := range must.Get(client.Get(ctx, prefix, clientv3.WithPrefix()))(t).Kvs {
		var cut law.CountedCut
		must.Succeed(t, layout.Decode(kv.Value, &cut))
		owner := must.Get(name.RelFromKey(strings.TrimPrefix(string(kv.Key), prefix)))(t)
		for _, set := range cut.Sets {
			found = append(found, owner.String()+" "+strings.Join(set.Data, " "))
		}
	}
	return found
}

// The steps follow one another. Each has the PTR right after its answer.
func TestReverse_followsAddresses_S16_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	forward := store.Zone("own", "forward", "example.org.", store.Allow("own", "*"), store.Allow("team", "*.team", "team"),
		store.Allow("other", "*.other"))
	rule := &v1alpha1.ZoneReverse{Zones: []string{"forward", "later"}, Namespaces: []string{"own", "team"}}
	reverse := store.Must(s.CreateZone(reverseZone("own", "reverse", "2.0.192.in-addr.arpa.", rule)))
	store.Must(s.CreateZone(forward))
	create := func(ns, object, domain, rtype string, values ...string) func() error {
		return func() error {
			_, err := s.CreateRecord(ctx, store.Record(ns, object, domain, rtype, values...))
			return err
		}
	}
	remove := func(ns, object string) func() error { return func() error { return s.DeleteRecord(ctx, ns, object) } }
	change := func(change func(*v1alpha1.ZoneReverse)) func() error {
		return func() error {
			_, err := s.WriteZone(ctx, "own", "reverse", func(z *v1alpha1.Zone) {
				z.Spec.Reverse = z.Spec.Reverse.DeepCopy()
				change(z.Spec.Reverse)
				z.Generation++
			})
			return err
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
		want string
	}{
		{"a name", create("own", "www", "www.example.org.", "A", "192.0.2.7", "198.51.100.7"), "7 www.example.org."},
		{"a second name", create("own", "b", "b.example.org.", "A", "192.0.2.7", "192.0.2.8"), "7 www.example.org., 8 b.example.org."},
		{"a tenant's", create("team", "t", "a.team.example.org.", "A", "192.0.2.8", "192.0.2.9"),
			"7 www.example.org., 8 b.example.org., 9 a.team.example.org."},
		{"another namespace's", create("other", "o", "o.other.example.org.", "A", "192.0.2.10"),
			"7 www.example.org., 8 b.example.org., 9 a.team.example.org."},
		{"a wildcard", create("own", "w", "*.w.example.org.", "A", "192.0.2.10"),
			"7 www.example.org., 8 b.example.org., 9 a.team.example.org."},
		{"own after a tenant", create("own", "c", "c.example.org.", "A", "192.0.2.9"),
			"7 www.example.org., 8 b.example.org., 9 c.example.org."},
		{"the first goes", remove("own", "www"), "7 b.example.org., 8 b.example.org., 9 c.example.org."},
		{"a written PTR", create("own", "p", "7.2.0.192.in-addr.arpa.", "PTR", "x.example.org."), "8 b.example.org., 9 c.example.org."},
		{"a CNAME", create("own", "q", "8.2.0.192.in-addr.arpa.", "CNAME", "8.0/28"), "9 c.example.org."},
		{"the written go", func() error { return cmp.Or(remove("own", "p")(), remove("own", "q")()) },
			"7 b.example.org., 8 b.example.org., 9 c.example.org."},
		{"all", change(func(r *v1alpha1.ZoneReverse) { r.All = true }),
			"7 b.example.org., 8 a.team.example.org. b.example.org., 9 a.team.example.org. c.example.org."},
		{"a prefix", change(func(r *v1alpha1.ZoneReverse) { r.Prefixes = []string{"192.0.2.8/29"} }),
			"8 a.team.example.org. b.example.org., 9 a.team.example.org. c.example.org."},
		{"own alone", change(func(r *v1alpha1.ZoneReverse) { r.Namespaces, r.All = nil, false }), "8 b.example.org., 9 c.example.org."},
		{"a zone above takes none", func() error {
			_, err := s.CreateZone(store.Zone("own", "later", "example.net.", store.Allow("own", "*")))
			return err
		}, "8 b.example.org., 9 c.example.org."},
		{"a zone made later", create("own", "l", "l.example.net.", "A", "192.0.2.10"),
			"10 l.example.net., 8 b.example.org., 9 c.example.org."},
		{"the zone leaves the rule", change(func(r *v1alpha1.ZoneReverse) { r.Zones = []string{"later"} }), "10 l.example.net."},
		{"the zone goes", func() error { return s.DeleteZone("own", "later") }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		st.Settle()
		if got := strings.Join(readPTR(ctx, t, st, reverse), ", "); got != step.want {
			t.Fatalf("%s: %q, want %q", step.what, got, step.want)
		}
	}
	st.Settle()
	must.Succeed(t, s.DeleteZone("own", "reverse"))
	st.Settle()
}

// Two servers write A records of few addresses at once, while the rule and written PTR change.
func TestReverse_raceOfNames_S16_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	servers[0].Run()
	servers[1].Run()
	store.Must(servers[0].CreateZone(store.Zone("own", "forward", "example.org.", store.Allow("", "*"))))
	reverse := store.Must(servers[0].CreateZone(reverseZone("own", "reverse", "2.0.192.in-addr.arpa.",
		&v1alpha1.ZoneReverse{Zones: []string{"forward"}, Namespaces: []string{"own", "team"}})))
	ctx := withDeadline(t)
	runParallel(6, func(w int) {
		s := servers[w%2]
		for i := range scaleTo(20, 5) {
			var err error
			n := fmt.Sprintf("n-%d-%d", w, i)
			switch {
			case w == 0:
				_, err = s.WriteZone(ctx, "own", "reverse", func(z *v1alpha1.Zone) {
					z.Spec.Reverse = z.Spec.Reverse.DeepCopy()
					z.Spec.Reverse.All = i%2 == 0
					z.Generation++
				})
			case w == 1 && i%2 == 0:
				_, err = s.CreateRecord(ctx, store.Record("own", n, fmt.Sprintf("%d.2.0.192.in-addr.arpa.", i%4), "PTR",
					"x.example.org."))
			case w == 1:
				err = s.DeleteRecord(ctx, "own", fmt.Sprintf("n-1-%d", i-1))
			default:
				ns := []string{"own", "team"}[w%2]
				if _, err = s.CreateRecord(ctx, store.Record(ns, n, n+".example.org.", "A", fmt.Sprintf("192.0.2.%d",
					i%4))); err == nil && i%3 == 0 {
					err = s.DeleteRecord(ctx, ns, n)
				}
			}
			if err != nil {
				t.Errorf("writer %d, write %d: %v", w, i, err)
				return
			}
		}
	})
	st.Settle()
	if got := readPTR(ctx, t, st, reverse); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "1 ") }) {
		t.Errorf("%q, want PTR at 1", got)
	}
}

// Attacks of a tenant by its A records (134, 135, 137 and 139): each row has the PTR, and the balance that counts
// towards a hold of the reverse zone, after its answer.
func TestReverse_attacks_S16_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	// A zone of the name "private" is the tenant's: listing the name gives own nothing of it, nor the tenant of own.
	rule := &v1alpha1.ZoneReverse{Zones: []string{"forward", "private"}, Namespaces: []string{"own", "team"},
		Prefixes: []string{"192.0.2.0/28"}}
	store.Must(s.CreateZone(store.Zone("own", "forward", "example.org.", store.Allow("own", "*"), store.Allow("team", "*.team", "team"))))
	store.Must(s.CreateZone(store.Zone("team", "private", "example.net.", store.Allow("team", "*"))))
	z := reverseZone("own", "reverse", "2.0.192.in-addr.arpa.", rule)
	z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team", "9"))
	reverse := store.Must(s.CreateZone(z))
	refused := func(err error, part string) error {
		if err == nil || !strings.Contains(err.Error(), part) {
			return fmt.Errorf("%w, want a refusal with %q", cmp.Or(err, fmt.Errorf("taken")), part)
		}
		return nil
	}
	create := func(ns, object, domain, rtype string, values ...string) error {
		_, err := s.CreateRecord(ctx, store.Record(ns, object, domain, rtype, values...))
		return err
	}
	flood := func(do func(i int) error) (err error) {
		for i := range 20 {
			err = cmp.Or(err, do(i))
		}
		return err
	}
	const www = "7 www.example.org."
	for _, step := range []struct {
		what string
		do   func() error
		want string
		own  int64
	}{
		{"own has an address", func() error { return create("own", "www", "www.example.org.", "A", "192.0.2.7") }, www, 1},
		{"a tenant takes the address of another", func() error { return create("team", "a", "a.team.example.org.", "A", "192.0.2.7") },
			www, 1},
		{"its zone is no zone of own", func() error { return create("team", "n", "n.example.net.", "A", "192.0.2.3") }, www, 1},
		{"a wildcard", func() error { return create("team", "w", "*.team.example.org.", "A", "192.0.2.3") }, www, 1},
		{"an address outside of the prefixes", func() error { return create("team", "x", "x.team.example.org.", "A", "192.0.2.77") },
			www, 1},
		{"many names of an address", func() error {
			return flood(func(i int) error {
				return create("team", fmt.Sprint("f", i), fmt.Sprintf("f%d.team.example.org.", i), "A", "192.0.2.8",
					fmt.Sprintf("192.0.2.%d", i%7))
			})
		}, "0 f0.team.example.org., 1 f1.team.example.org., 2 f2.team.example.org., 3 f3.team.example.org., 4 f4.team.example.org., " +
			"5 f5.team.example.org., 6 f6.team.example.org., 7 www.example.org., 8 f0.team.example.org.", 1},
		{"and their deletion, which holds nothing", func() error {
			return flood(func(i int) error { return s.DeleteRecord(ctx, "team", fmt.Sprint("f", i)) })
		}, www, 1},
		{"a written PTR beside", func() error {
			return cmp.Or(create("team", "nine", "n.team.example.org.", "A", "192.0.2.9"),
				create("team", "ptr", "9.2.0.192.in-addr.arpa.", "PTR", "elsewhere.example.net."))
		}, www, 1},
		{"a rule in a zone without addresses", func() error {
			_, err := s.CreateZone(reverseZone("team", "no", "example.com.", rule))
			return refused(err, "S16.1")
		}, www, 1},
		{"own deletes", func() error { return s.DeleteRecord(ctx, "own", "www") }, "7 a.team.example.org.", 1},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		st.Settle()
		own := int64(0)
		if d := s.Zone("own", "reverse").Status.Deletions; d != nil {
			own = d.Own
		}
		if got := strings.Join(readPTR(ctx, t, st, reverse), ", "); got != step.want || own != step.own {
			t.Errorf("%s: %q %d, want %q %d", step.what, got, own, step.want, step.own)
		}
	}
}

// A tenant's deletion of many addresses holds no reverse zone, and one by the zone's own namespace does (attack 138).
func TestReverse_massDeletion_S16_4(t *testing.T) {
	t.Parallel()
	for ns, isHeld := range map[string]bool{"team": false, "own": true} {
		t.Run(ns, func(t *testing.T) {
			t.Parallel()
			clock := store.Clock{}
			st := store.New(t)
			s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
			s.Run()
			ctx := withDeadline(t)
			forward := store.Zone("own", "forward", "example.org.", store.Allow("own", "*"), store.Allow("team", "*.team", "team"))
			store.Must(s.CreateZone(forward))
			z := reverseZone("own", "reverse", "2.0.192.in-addr.arpa.",
				&v1alpha1.ZoneReverse{Zones: []string{"forward"}, Namespaces: []string{"own", "team"}})
			z.Spec.Limits = nil
			store.Must(s.CreateZone(z))
			for i := range 20 {
				_, err := s.CreateRecord(ctx, store.Record(ns, fmt.Sprint("r", i), fmt.Sprintf("r%d.team.example.org.", i), "A",
					fmt.Sprintf("192.0.2.%d", i)))
				must.Succeed(t, err)
			}
			clock.PassPeriods()
			for i := range 20 {
				must.Succeed(t, s.DeleteRecord(ctx, ns, fmt.Sprint("r", i)))
			}
			st.Settle()
			c := meta.FindStatusCondition(s.Zone("own", "reverse").Status.Conditions, v1alpha1.ConditionSettled)
			if c == nil || (c.Reason == v1alpha1.ReasonMassDeletion) != isHeld {
				t.Errorf("Settled is %+v, want a hold: %v", c, isHeld)
			}
		})
	}
}

// Beyond the names that an address stores, PTR of a later name come when the stored ones are gone (attack 136).
func TestReverse_manyNamesOfAnAddress_S16_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("own", "forward", "example.org.", store.Allow("", "*"))))
	reverse := store.Must(s.CreateZone(reverseZone("own", "reverse", "2.0.192.in-addr.arpa.",
		&v1alpha1.ZoneReverse{Zones: []string{"forward"}, Namespaces: []string{"own", "team", "other"}})))
	create := func(ns, object string) {
		_, err := s.CreateRecord(ctx, store.Record(ns, object, object+".example.org.", "A", "192.0.2.7"))
		must.Succeed(t, err)
	}
	expect := func(want string) {
		t.Helper()
		st.Settle()
		if got := strings.Join(readPTR(ctx, t, st, reverse), ", "); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	for i := range law.MaxPTRNames {
		create("team", fmt.Sprint("f", i))
	}
	create("other", "late")
	expect("7 f0.example.org.")
	create("own", "www") // before all names of tenants, though it is the last
	expect("7 www.example.org.")
	must.Succeed(t, s.DeleteRecord(ctx, "own", "www"))
	for i := range law.MaxPTRNames {
		must.Succeed(t, s.DeleteRecord(ctx, "team", fmt.Sprint("f", i)))
	}
	expect("7 late.example.org.")
}

// PTR may come below a DNAME at any time, and most servers refuse such a zone.
func TestReverse_takesNoDNAME_S16_3(t *testing.T) {
	t.Parallel()
	s := store.New(t).Server()
	store.Must(s.CreateZone(reverseZone("own", "reverse", "0.192.in-addr.arpa.", &v1alpha1.ZoneReverse{Zones: []string{"forward"}})))
	_, err := s.CreateRecord(withDeadline(t), store.Record("own", "d", "2.0.192.in-addr.arpa.", "DNAME", "example.net."))
	if err == nil || !strings.Contains(err.Error(), "S16.3") {
		t.Errorf("a DNAME: %v, want a refusal", err)
	}
}

// Each round creates an A in a zone whose addresses have PTR, and one in a zone without a reverse zone.
func BenchmarkReverse(b *testing.B) {
	const pairs = 1000
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server()
	s.Run()
	for _, object := range []string{"with", "without"} {
		store.Must(s.CreateZone(store.Zone("own", object, object+".", store.Allow("", "*"))))
	}
	store.Must(s.CreateZone(reverseZone("own", "reverse", "10.in-addr.arpa.",
		&v1alpha1.ZoneReverse{Zones: []string{"with"}, Namespaces: []string{"team"}})))
	for n := 0; b.Loop(); n++ {
		took := map[string]time.Duration{}
		for i := range pairs {
			for _, zone := range []string{"with", "without"} {
				began := time.Now()
				store.Must(s.CreateRecord(b.Context(), store.Record("team", fmt.Sprintf("%s-%d-%d", zone, n, i),
					fmt.Sprintf("r%d-%d.%s.", n, i, zone), "A", fmt.Sprintf("10.%d.%d.%d", n%256, i/256, i%256))))
				took[zone] += time.Since(began)
			}
		}
		b.ReportMetric(float64(took["with"])/float64(took["without"]), "ratio")
		b.ReportMetric(float64(took["without"].Microseconds())/pairs, "create-us")
	}
	b.ReportMetric(0, "ns/op")
}
