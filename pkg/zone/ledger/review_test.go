// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

func askRecord(ns, fqdn, rrtype, view string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "asked", UID: "asked"},
		Spec: v1alpha1.RecordSpec{DomainName: fqdn, Type: rrtype, View: view}}
}

var sampleData = map[string]string{"A": "192.0.2.9", "TXT": "token", "CNAME": "www.example.net.", "NS": "ns.example.net.",
	"DNAME": "example.net."}

func makeReviewWorld(t *testing.T) *store.Server {
	t.Helper()
	s := store.New(t).Server(stopClock)
	zone := store.Zone("platform", "example-org", "example.org.", store.Allow("platform", "*", "@"),
		store.Allow("team", "*.apps", "app*"), store.Allow("team", "_acme-challenge.*"), store.Allow("other", "*"),
		store.Allow("team", "pay.other"), store.Allow("platform"), store.Allow("named", "pay"))
	zone.Spec.Delegations[5].Zones = []string{"private"}
	zone.Spec.Contact = "dns@example.org"
	store.Must(s.CreateZone(zone))
	store.Must(s.CreateZone(store.Zone("platform", "private", "private.example.org.", store.Allow("platform", "*", "@"))))
	store.Must(s.CreateDelegation(store.Delegation("platform", "team", "example-org", []string{"team"}, "by-delegation")))
	for i, r := range []*v1alpha1.Record{
		store.Record("team", "", "shop.apps.example.org.", "A", "192.0.2.1"),
		store.Record("other", "", "other.example.org.", "A", "192.0.2.2"),
		store.Record("other", "", "y.x.example.org.", "A", "192.0.2.2"),
		store.Record("platform", "", "www.example.org.", "A", "192.0.2.3"),
		store.Record("platform", "", "secret.private.example.org.", "A", "192.0.2.4"),
	} {
		r.Name = fmt.Sprint("r", i)
		store.Must(s.CreateRecord(t.Context(), r))
	}
	return s
}

// Each answer contains the sentence of the creation's dry run (S4.7, S4.8, S4.10, S4.12, S4.14). A 403 names the zone's
// contact to a tenant with a rule there (S1.8).
func TestReviewName_answersAsTheDryRun_S14_1(t *testing.T) {
	t.Parallel()
	s := makeReviewWorld(t)
	for _, test := range []struct{ by, fqdn, rrtype, want, reason string }{
		{"team", "new.apps.example.org.", "A", `true "*.apps" Unclaimed`, ""},
		{"team", "shop.apps.example.org.", "A", `true "*.apps" Mine`, ""},
		{"team", "x.shop.apps.example.org.", "A", `true "*.apps" Mine`, ""},
		{"team", "_dmarc.shop.apps.example.org.", "TXT", `true "*.apps" Mine`, ""},
		{"team", "shop.apps.example.org.", "CNAME", `false "" Mine`, "S5.6"},
		{"team", "new.apps.example.org.", "NS", `false "" Unclaimed`, "its owner can add a delegation with pattern \"new.apps\" that " +
			"names type NS)"},
		{"team", "by-delegation.example.org.", "A", `true "by-delegation" Unclaimed`, ""},
		// A literal rule passes the claim above without revealing it, and so does a rule for an underscore label.
		{"team", "pay.other.example.org.", "A", `true "pay.other" Unclaimed`, ""},
		{"team", "_acme-challenge.other.example.org.", "TXT", `true "_acme-challenge.*" `, ""},
		{"team", "_acme-challenge.nothing.example.org.", "TXT", `true "_acme-challenge.*" `, ""},
		{"other", "shop.apps.example.org.", "A", `false "" Another`, "(S4.8; choose another name"},
		{"other", "x.shop.apps.example.org.", "A", `false "" Another`, "lies below shop.apps.example.org."},
		{"other", "apps.example.org.", "A", `false "" Another`, "names of another namespace below it"},
		{"other", "x.pay.example.org.", "A", `false "" Another`, "S4.20"},
		{"other", "x.example.org.", "A", `true "*" Unclaimed`, ""},
		{"other", "www.example.org.", "A", `false "" Another`, "S4.10"},
		{"platform", "shop.apps.example.org.", "A", `true "*" Another`, ""},
		{"platform", "www.example.org.", "A", `true "*" Mine`, ""},
		{"platform", "below.www.example.org.", "A", `true "*" Unclaimed`, ""},
		{"platform", "shop.apps.example.org.", "CNAME", `false "" Another`, "S5.6"},
	} {
		status, err := s.Ledger.ReviewName(t.Context(), askRecord(test.by, test.fqdn, test.rrtype, ""))
		if err != nil {
			t.Errorf("%s %s: %v", test.by, test.fqdn, err)
			continue
		}
		got := fmt.Sprintf("%v %q %s", status.Allowed, status.Rule, status.Claimed)
		if got != test.want || !strings.Contains(status.Reason, test.reason) || status.Allowed != (status.Reason == "") {
			t.Errorf("%s %s %s: %s, want %s; reason %q, want %q", test.by, test.fqdn, test.rrtype, got, test.want,
				status.Reason, test.reason)
		}
		if status.Zone != "example.org." || status.Contact != "dns@example.org" {
			t.Errorf("%s %s: zone %q, contact %q", test.by, test.fqdn, status.Zone, status.Contact)
		}
		record := store.Record(test.by, "asked", test.fqdn, test.rrtype, sampleData[test.rrtype])
		err = s.Ledger.PreviewRecord(t.Context(), nil, record)
		named := err != nil && strings.HasSuffix(err.Error(), "; contact of the zone: dns@example.org")
		if (err == nil) != status.Allowed || err != nil && !strings.HasSuffix(strings.TrimSuffix(err.Error(), "]"), status.Reason) ||
			named != (apierrors.IsForbidden(err) && test.by != "platform") {
			t.Errorf("%s %s %s: the dry run says %v, the review %+v", test.by, test.fqdn, test.rrtype, err, status)
		}
	}
}

// A NameReview tells a namespace without a rule for a name no more than a write would. For existing and claimed names,
// zones, child zones of other namespaces, and other views, every answer equals that of an empty store, octet by octet
// (S1.8).
func TestReviewName_isSilentWithoutARule_S14_2(t *testing.T) {
	t.Parallel()
	full, empty := makeReviewWorld(t), store.New(t).Server(stopClock)
	inside := store.Zone("platform", "inside", "example.org.", store.Allow("platform", "*", "@"))
	inside.Spec.View = "inside"
	store.Must(full.CreateZone(inside))
	ask := func(s *store.Server, ns, fqdn, rrtype, view string) string {
		status, err := s.Ledger.ReviewName(t.Context(), askRecord(ns, fqdn, rrtype, view))
		if err != nil {
			return err.Error()
		}
		octets, err := status.Marshal()
		if err != nil {
			t.Errorf("%s %s: %v", ns, fqdn, err)
		}
		return string(octets)
	}
	for ns, names := range map[string][]string{
		"stranger": {"example.org.", "www.example.org.", "shop.apps.example.org.", "*.example.org.", "absent.example.org.",
			"private.example.org.", "secret.private.example.org.", "_acme-challenge.www.example.org.", "other.example.org."},
		"team":  {"www.example.org.", "other.example.org.", "absent.example.org.", "example.org.", "secret.private.example.org."},
		"other": {"example.org.", "private.example.org.", "secret.private.example.org.", "absent.private.example.org."},
	} {
		for _, fqdn := range names {
			for _, rrtype := range []string{"A", "CNAME", "NS", "TXT", "DNAME"} {
				for _, view := range []string{"", "inside", "none"} {
					if got, want := ask(full, ns, fqdn, rrtype, view), ask(empty, ns, fqdn, rrtype, view); got != want {
						t.Errorf("%s %s %s in view %q: %q, and without a zone %q", ns, fqdn, rrtype, view, got, want)
					}
				}
			}
		}
	}
	const whole = "write the whole name, such as shop2.example.org."
	if got := ask(full, "team", "shop2.", "A", ""); got != ask(empty, "team", "shop2.", "A", "") || !strings.Contains(got, whole) {
		t.Errorf("a name of one label: %q, without %q", got, whole)
	}
	known := "new.apps.example.org."
	if got, want := ask(full, "team", known, "A", ""), ask(empty, "team", known, "A", ""); got == want {
		t.Error("a name with a rule is answered as one without a zone: this test compares nothing")
	}
}
