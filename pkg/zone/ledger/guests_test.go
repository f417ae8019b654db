// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A Record further down hides a name from a wildcard: the writer has a Warning and the wildcard's namespace an Event,
// but not if the same set writes the name.
func TestDeepRecord_isNotifiedOfWhatItHides_S4_25(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	reported := make(chan string, 9)
	s := st.Server(func(c *ledger.Config) {
		c.Notify = func(z *v1alpha1.Zone, notices []law.Notice) {
			for _, x := range notices {
				reported <- fmt.Sprint(cmp.Or(x.Namespace, z.Namespace), " ", x.Name)
			}
		}
	})
	warnings := &warned{}
	ctx := warning.WithWarningRecorder(withDeadline(t), warnings)
	store.Must(s.CreateZone(store.Zone("own", "example", "example.org.", store.Allow("own", "*"), store.Allow("team", "*.apps", "apps"),
		store.Allow("other", "q.shop.apps"))))
	a := func(namespace, n string) *v1alpha1.Record {
		return store.Record(namespace, strings.ReplaceAll(n, "*", "wild"), n+".example.org.", "A", "192.0.2.1")
	}
	expect := func(what string, warns int, events ...string) {
		t.Helper()
		if got := strings.Count(fmt.Sprint(warnings.texts), "S4.25: "); got != warns {
			t.Errorf("%s: %d Warnings, want %d: %q", what, got, warns, warnings.texts)
		}
		warnings.texts = nil
		var got []string
		for len(reported) > 0 {
			got = append(got, <-reported)
		}
		if !slices.Equal(got, events) {
			t.Errorf("%s: Events %q, want %q", what, got, events)
		}
	}
	store.Must(s.CreateRecord(ctx, a("own", "*")))
	store.Must(s.CreateRecord(ctx, a("team", "*.apps")))
	store.Must(s.CreateRecord(ctx, a("other", "q.shop.apps")))
	expect("below wildcards of two namespaces", 2, "own apps.example.org.", "own shop.apps.example.org.", "team shop.apps.example.org.")
	_, errs := inSet(ctx, s, createLater(a("own", "q.set")), createLater(a("own", "r.set")))
	if err := joinErrors(errs); strings.Count(err, "<nil>") != 2 {
		t.Error(err)
	}
	expect("a set", 1)
	_, errs = inSet(ctx, s, createLater(a("own", "q.whole")), createLater(a("own", "whole")))
	if err := joinErrors(errs); strings.Count(err, "<nil>") != 2 {
		t.Error(err)
	}
	expect("a set with the name itself", 0)
}

// The owner of a zone has an MX or CNAME that points to a host of the zone. If a tenant creates the host, the owner
// gets an Event, and the tenant is told nothing. If the tenant came first, the answer to the owner's write says so
// (S4.18).
func TestPointer_isNotifiedWhoHasItsHost_S4_26(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	reported := make(chan string, 9)
	s := st.Server(func(c *ledger.Config) {
		c.Notify = func(z *v1alpha1.Zone, notices []law.Notice) { reported <- fmt.Sprint(z.Namespace, ": ", notices) }
	})
	warnings := &warned{}
	ctx := warning.WithWarningRecorder(withDeadline(t), warnings)
	zone := store.Must(s.CreateZone(store.Zone("own", "example", "example.org.", store.Allow("own", "*"), store.Allow("team", "*"))))
	create := func(namespace, object, fqdn, rtype, value, warns string) {
		t.Helper()
		warnings.texts = nil
		store.Must(s.CreateRecord(ctx, store.Record(namespace, object, fqdn, rtype, value)))
		if got := strings.Join(warnings.texts, "; "); !strings.Contains(got, warns) || (warns == "") != (got == "") {
			t.Errorf("%s %s: the answer tells %q, want %q", fqdn, rtype, got, warns)
		}
	}
	create("own", "www", "www.example.org.", "CNAME", "lb.example.org.", "lb.example.org., which no namespace has")
	create("own", "mx", "shop.example.org.", "MX", "10 lb.example.org.", "lb.example.org., which no namespace has")
	create("team", "lb", "lb.example.org.", "A", "192.0.2.1", "")
	create("own", "late", "late.example.org.", "CNAME", "lb.example.org.", "lb.example.org., which another namespace claims")
	must.Succeed(t, s.DeleteRecord(ctx, "own", "www"))
	must.Succeed(t, s.DeleteRecord(ctx, "own", "late"))
	must.Succeed(t, s.DeleteRecord(ctx, "team", "lb"))
	must.Succeed(t, s.DeleteRecord(ctx, "own", "mx"))
	create("team", "lb", "lb.example.org.", "A", "192.0.2.1", "")
	want := fmt.Sprint("own: ", []law.Notice{{Reason: law.NoticeHostTaken, Name: name.MustParse("lb.example.org.")}})
	if got := <-reported; got != want {
		t.Errorf("own is told %s, want %s", got, want)
	}
	if len(reported) > 0 {
		t.Errorf("own is told of a host to which nothing leads: %s", <-reported)
	}
	object, uid, err := s.Ledger.FirstMember(ctx, string(zone.UID), name.MustRel("lb"), "team")
	none, _, _ := s.Ledger.FirstMember(ctx, string(zone.UID), name.MustRel("lb"), "own")
	if object != "lb" || uid == "" || none != "" || err != nil {
		t.Errorf("the first Record of team at lb is %q %q, of own %q: %v", object, uid, none, err)
	}
}
