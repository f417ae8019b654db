// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// Where a host goes and a challenge stays below it, or a wildcard comes above one, the answer tells the writer what is
// hidden, and the zone's own namespace is told if it is another (S4.25). A change set that replaces the host hides
// nothing.
func TestGuest_isToldOfWhatItHides_S4_25(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	told := make(chan string, 9)
	s := st.Server(func(c *ledger.Config) {
		c.Hides = func(z *v1alpha1.Zone, names []name.Name) { told <- fmt.Sprint(z.Namespace, ": ", names) }
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
		if warns := strings.Contains(fmt.Sprint(warnings.texts), "(S4.25"); warns != warned {
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
	for _, want := range []string{"own: [host.apps.example.org.]", "own: [host.x.example.org.]", "own: [last.apps.example.org.]"} {
		select {
		case got := <-told:
			if got != want {
				t.Errorf("own is told of %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("own is not told of %s", want)
		}
	}
}
