// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

// RecordsAt reads a namespace's Records at any number of names of a zone in two transactions. The reads are charged to
// this namespace, and include no Records of other namespaces (attack 110).
func TestRecordsAt_readsThemTogether_S9_2(t *testing.T) {
	t.Parallel()
	var b bill
	st := store.New(t)
	s := st.Server(meterClient(&b))
	shared := store.Allow("", "_acme-challenge.*")
	shared.Namespaces = []string{"team", "other"}
	zone := store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("team", "*"), shared)))
	store.Must(s.CreateZone(store.Zone("infra", "net", "example.net.", store.Allow("team", "*"))))
	for i := range 40 {
		owner := []string{"www", "big", "_acme-challenge.www"}[i%3]
		store.Must(s.CreateRecord(t.Context(), store.Record("team", fmt.Sprint("r", i), owner+".example.org.", "TXT",
			fmt.Sprintf(`"%d%s"`, i, strings.Repeat("x", 200)), strings.Repeat("y", 3000))))
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("other", "x", "_acme-challenge.www.example.org.", "TXT", "x")))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "net", "www.example.net.", "TXT", "x")))
	at := v1alpha1.AdoptingZone{Namespace: zone.Namespace, Name: zone.Name, UID: zone.UID}
	apex, www := name.MustParse("example.org."), name.MustParse("www.example.org.")
	challenge := name.MustParse("_acme-challenge.www.example.org.")
	names := []name.Name{www, challenge, name.MustParse("big.example.org."), name.MustParse("none.example.org."),
		name.MustParse("www.example.net.")}
	b.takeBill()
	before := s.Ledger.Stats().Reads.Load()
	found := store.Must(s.Ledger.RecordsAt(t.Context(), at, apex, "team", names))
	if n := s.Ledger.Stats().Reads.Load() - before; n != 2 {
		t.Errorf("%d transactions", n)
	}
	if of := b.takeBill(); len(of) != 1 || of["team"] < 40*3200-64<<10 {
		t.Errorf("the bill is %v", of)
	}
	if len(found) != 3 || len(found[www]) != 14 || len(found[challenge]) != 13 {
		t.Errorf("%d names, %d and %d Records", len(found), len(found[www]), len(found[challenge]))
	}
	for _, r := range found[challenge] {
		if is := s.Record("team", r.Name); r.ResourceVersion != is.ResourceVersion || !slices.Equal(r.Spec.Values, is.Spec.Values) {
			t.Errorf("%s: %s, want %s", r.Name, r.ResourceVersion, is.ResourceVersion)
		}
	}
}

// RecordsAt returns ErrTooManyRecords if the names have more than MaxRecordsRead Records.
func TestRecordsAt_isBounded(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(stopClock)
	zone := store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("team", "*"))))
	runParallel(ledger.MaxRecordsRead+1, func(i int) {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", fmt.Sprint("r", i), fmt.Sprintf("n%d.example.org.", i%50), "A",
			fmt.Sprintf("10.0.%d.%d", i/250, i%250))))
	})
	at := v1alpha1.AdoptingZone{Namespace: zone.Namespace, Name: zone.Name, UID: zone.UID}
	var names []name.Name
	for i := range 50 {
		names = append(names, name.MustParse(fmt.Sprintf("n%d.example.org.", i)))
	}
	apex := name.MustParse("example.org.")
	if _, err := s.Ledger.RecordsAt(t.Context(), at, apex, "team", names); !errors.Is(err, ledger.ErrTooManyRecords) {
		t.Errorf("all: %v", err)
	}
	if found, err := s.Ledger.RecordsAt(t.Context(), at, apex, "team", names[:49]); err != nil || len(found) != 49 {
		t.Errorf("a part of them: %d names, %v", len(found), err)
	}
}

// ReadApex returns the RRsets made from the current spec, even after a change by another server, and the values of the
// apex NS Records of all namespaces. For another UID of the zone, nothing is returned.
func TestReadApex(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(stopClock)
	zone := store.Zone("infra", "org", "example.org.", store.Allow("infra", "@"), v1alpha1.DelegationRule{Namespace: "team",
		Records: []v1alpha1.RecordDelegation{{Pattern: "@", Types: []string{"NS"}, Shared: true}}})
	zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
	zone = store.Must(s.CreateZone(zone))
	at := v1alpha1.AdoptingZone{Namespace: zone.Namespace, Name: zone.Name, UID: zone.UID}
	read := func() string {
		made, ns, err := s.Ledger.ReadApex(t.Context(), at, "infra")
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, set := range made {
			text = append(text, fmt.Sprintf("%s %s %v", set.Owner, set.Type, set.Data))
		}
		return strings.Join(text, "; ") + "; " + strings.Join(ns, " ")
	}
	const made = "@ NS [ns1]; ns1 A [192.0.2.53]; "
	if got := read(); got != made {
		t.Errorf("%s, want %s", got, made)
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "ns", "example.org.", "NS", "ns.example.net.")))
	if got := read(); got != made+"ns.example.net." {
		t.Error(got)
	}
	store.Must(st.Server(stopClock).UpdateZone("infra", "org", func(z *v1alpha1.Zone) { z.Spec.NameServers = nil }))
	if got := read(); got != "; ns.example.net." {
		t.Error(got)
	}
	at.UID = "another"
	if got := read(); got != "; " {
		t.Errorf("of another zone: %s", got)
	}
}
