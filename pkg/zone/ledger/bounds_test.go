// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func makeServedZone(name, domain string, hosts, addresses int, below string) *v1alpha1.Zone {
	z := store.Zone("team-a", name, domain, store.Allow("team-a", "@", "*"))
	z.Spec.NameServers = nil
	for i := range hosts {
		ns := v1alpha1.NameServer{Name: fmt.Sprintf("ns%d%s", i, below)}
		for j := range addresses {
			ns.Addresses = append(ns.Addresses, fmt.Sprintf("2001:db8:%x::%x", i, j))
		}
		z.Spec.NameServers = append(z.Spec.NameServers, ns)
	}
	return z
}

// The waiting zone is decided by the cascade of the other zone (S3.1).
func TestCascade_letsAnyWaitingZoneStand_S3_2(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	for i, labels := range []int{1, 38, 100} {
		z := makeServedZone(fmt.Sprintf("kid%d", i), fmt.Sprintf("k%d", i)+strings.Repeat(".a", labels), 90, 1, "")
		z.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "top"}
		store.Must(s.CreateZone(z))
	}
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", v1alpha1.DelegationRule{Zones: []string{"*"}})))
	st.Settle()
	for i := range 3 {
		if z := s.Zone("team-a", fmt.Sprintf("kid%d", i)); z.Status.FQDN == "" {
			t.Errorf("%s waits: %+v", z.Name, z.Status.Conditions)
		}
	}
}

// A child zone may have very many name servers with addresses, which its parent serves as glue. All of this glue must
// fit into a single transaction, so that the parent can remove it at once (S3.5, S6.1).
func TestChild_glueCanBeTakenAway_S6_3(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	parent := store.Zone("infra", "top", "example.org.", v1alpha1.DelegationRule{Zones: []string{"*"}})
	store.Must(s.CreateZone(parent))
	alone := s.Zone("infra", "top").Status
	below := "." + strings.Repeat("x", 60) + "." + strings.Repeat("y", 60) + "." + strings.Repeat("z", 40)
	kid := makeServedZone("kid", "kid.example.org.", 40, 12, below)
	store.Must(s.CreateZone(kid))
	for i := range 4 {
		var values []string
		for j := range 100 {
			values = append(values, fmt.Sprintf("10.%d.0.%d", i, j))
		}
		store.Must(s.CreateRecord(t.Context(), store.Record("team-a", fmt.Sprintf("a%d", i), fmt.Sprintf("ns%d%s.kid.example.org.", i, below), "A", values...)))
	}
	st.Settle()
	if n := s.Zone("infra", "top").Status.EntryCount - alone.EntryCount; n <= content.MaxGlue || n > 2*content.MaxGlue {
		t.Errorf("40 name servers with 880 addresses are %d entries of the parent", n)
	}
	st.MustBeClean()
	store.Must(s.UpdateZone("team-a", "kid", func(z *v1alpha1.Zone) { ttl := int32(77); z.Spec.TTL = &ttl }))
	st.Settle()
	store.Must(s.UpdateZone("infra", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
	st.Settle()
	if now := s.Zone("infra", "top").Status; now.EntryCount != alone.EntryCount || now.ContentState != alone.ContentState {
		t.Errorf("the delegation is withdrawn, and %d entries of it are left", now.EntryCount-alone.EntryCount)
	}
}

func TestLedger_forgetsZonesWithoutWrites(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")))
	known := func() int { return s.Ledger.Facts("infra", "example") }
	if known() == 0 {
		t.Fatal("nothing is remembered of a zone that was just written")
	}
	s.Ledger.Forget(time.Now().Add(-time.Minute))
	if known() == 0 {
		t.Error("a zone that was just written is forgotten")
	}
	s.Ledger.Forget(time.Now().Add(time.Second))
	if n := known(); n > 0 {
		t.Errorf("%d facts of a zone that no client writes", n)
	}
	store.Must(s.UpdateRecord(t.Context(), "team-a", "www", func(r *v1alpha1.Record) { r.Spec.RData = "192.0.2.2" }))
	must.Succeed(t, s.DeleteRecord(t.Context(), "team-a", "www"))
	st.MustBeClean()
}

// A single update may replace as many name servers of a zone as etcd accepts compares. Beyond that, the refusal names
// the field and a number that passes.
func TestZone_getsOtherNameServers_S6_2(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for _, x := range []struct {
		what   string
		change func(*embed.Config)
		takes  bool
	}{
		{"as embedded", func(*embed.Config) {}, true},
		{"as etcd's default is", func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }, false},
	} {
		t.Run(x.what, func(t *testing.T) {
			st := store.On(t, store.Fresh(t, x.change), "/registry/kubizone")
			s := st.Server()
			store.Must(s.CreateZone(makeServedZone("z", "example.org.", 70, 1, "")))
			replace := func(from, to int) error {
				_, err := s.UpdateZone("team-a", "z", func(z *v1alpha1.Zone) {
					for i := from; i < to; i++ {
						z.Spec.NameServers[i].Name = fmt.Sprintf("other%d.d%d", i, i)
					}
				})
				return err
			}
			err := s.Ledger.PreviewZone(t.Context(), s.Zone("team-a", "z"), func() *v1alpha1.Zone {
				z := s.Zone("team-a", "z")
				for i := range z.Spec.NameServers {
					z.Spec.NameServers[i].Name = fmt.Sprintf("other%d.d%d", i, i)
				}
				return z
			}())
			for what, err := range map[string]error{"a dry run": err, "the update": replace(0, 70)} {
				if x.takes {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					continue
				}
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.nameServers: ") || !strings.Contains(err.Error(), "at most 90 fit") || strings.Contains(err.Error(), "labels") {
					t.Errorf("%s: %v: want 422 at spec.nameServers, with what fits", what, err)
				}
			}
			if !x.takes {
				for from := 0; from < 70; from += 14 {
					if err := replace(from, from+14); err != nil {
						t.Errorf("14 name servers: %v", err)
					}
				}
			}
			if z := s.Zone("team-a", "z"); z.Spec.NameServers[69].Name != "other69.d69" {
				t.Errorf("the zone has %v", z.Spec.NameServers)
			}
			s.Run()
			st.Settle()
		})
	}
}

// A new wildcard at the apex may hide names, which the answer lists (S4.25). The write would have to read every name of
// the zone to find them, so the search stops after the first thousand.
func TestWildcard_atTheApexReadsAThousandNames(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	warnings := &warned{}
	s := st.Server()
	zone := store.Must(s.CreateZone(store.Zone("own", "example", "example.org.", store.Allow("own", "*"))))
	hidden := string(layout.Encode(&law.Owner{Values: []law.OwnerValue{{Type: rdata.TXT, Count: 1, Guests: 1, Size: 1}}}))
	var puts, deletes []clientv3.Op
	for i := range 1100 {
		key := layout.Keys{Prefix: st.Prefix}.Key(law.OwnerKey(string(zone.UID), name.MustRel(fmt.Sprintf("_acme-challenge.h%d", i))))
		puts, deletes = append(puts, clientv3.OpPut(key, hidden)), append(deletes, clientv3.OpDelete(key))
	}
	change := func(ops []clientv3.Op) {
		for part := range slices.Chunk(ops, 100) {
			store.Must(st.Client.Client.Txn(t.Context()).Then(part...).Commit())
		}
	}
	change(puts)
	ctx := warning.WithWarningRecorder(withDeadline(t), warnings)
	store.Must(s.CreateRecord(ctx, store.Record("own", "wild", "*.example.org.", "A", "192.0.2.1")))
	if text := fmt.Sprint(warnings.texts); !strings.Contains(text, "and 995 more from the wildcard") {
		t.Errorf("of 1100 hidden names the answer tells %s", text)
	}
	change(deletes)
}
