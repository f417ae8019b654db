// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// If the host above a challenge is deleted, or a wildcard appears above it, the answer warns the writer of the names
// that are hidden now. If the zone belongs to another namespace, that namespace is notified too. A change set that
// replaces the host hides nothing.
func TestGuest_isNotifiedOfWhatItHides_S4_25(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	reported := make(chan string, 9)
	s := st.Server(func(c *ledger.Config) {
		c.Notify = func(z *v1alpha1.Zone, notices []law.Notice) {
			for _, x := range notices {
				reported <- fmt.Sprint(cmp.Or(x.Namespace, z.Namespace), ": ", x.Reason, " ", x.Name)
			}
		}
	})
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("own", "example", "example.org.", store.Allow("own", "*"), store.Allow("team", "*.apps", "*.x", "x"),
		store.Allow("cert", "_acme-challenge.*.apps", "_acme-challenge.*.x"))))
	a := func(namespace, fqdn string) *v1alpha1.Record {
		return store.Record(namespace, strings.NewReplacer("*", "wild", "_", "").Replace(fqdn), fqdn+".example.org.", "A", "192.0.2.1")
	}
	challenge := func(fqdn string) *v1alpha1.Record {
		return store.Record("cert", fqdn, "_acme-challenge."+fqdn+".example.org.", "TXT", "token")
	}
	store.Must(s.CreateRecord(ctx, a("own", "*.apps")))
	store.Must(s.CreateRecord(ctx, a("team", "host.apps")))
	store.Must(s.CreateRecord(ctx, challenge("host.apps")))
	if _, err := s.CreateRecord(ctx, challenge("free.apps")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "S4.23") {
		t.Errorf("a challenge that hides a name: %v", err)
	}

	warnings := &warned{}
	warns := warning.WithWarningRecorder(ctx, warnings)
	expect := func(what string, warned bool) {
		t.Helper()
		if warns := strings.Contains(fmt.Sprint(warnings.texts), "S4.25: "); warns != warned {
			t.Errorf("%s: the answer tells of %q", what, warnings.texts)
		}
		warnings.texts = nil
	}
	replaced := a("team", "host.apps")
	replaced.Name = "anew"
	_, errs := inSet(warns, s, deleteLater("team", "host.apps"), createLater(replaced))
	if err := joinErrors(errs); strings.Count(err, "<nil>") != 2 {
		t.Error(err)
	}
	expect("a host is replaced", false)
	must.Succeed(t, s.DeleteRecord(warns, "team", "anew"))
	expect("a host goes", true)

	store.Must(s.CreateRecord(ctx, challenge("host.x")))
	store.Must(s.CreateRecord(warns, a("team", "*.x")))
	expect("a wildcard comes", true)
	store.Must(s.UpdateRecord(warns, "team", "wild.x", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	expect("a wildcard changes", false)
	store.Must(s.CreateRecord(ctx, a("team", "last.apps")))
	store.Must(s.CreateRecord(ctx, challenge("last.apps")))
	must.Succeed(t, s.DeleteRecord(ctx, "team", "last.apps"))
	store.Must(s.CreateRecord(ctx, a("own", "ours.x")))
	store.Must(s.CreateRecord(ctx, challenge("ours.x")))
	must.Succeed(t, s.DeleteRecord(ctx, "own", "ours.x"))
	for _, want := range []string{"own: NameHidden host.apps.example.org.", "own: NameHidden host.x.example.org.",
		"own: NameHidden last.apps.example.org.", "team: NameHidden ours.x.example.org."} {
		select {
		case got := <-reported:
			if got != want {
				t.Errorf("own is told of %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("own is not told of %s", want)
		}
	}
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
