// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

func inSetWith(ctx context.Context, s *store.Server, prerequisites []v1alpha1.ChangeSetPrerequisite, writes ...setWrite) (*ledger.Set,
	error) {
	set := s.Ledger.NewSet(len(writes))
	if err := set.Require(prerequisites); err != nil {
		return set, err
	}
	errs := runSet(ctx, s, set, writes)
	return set, cmp.Or(set.Err(), errors.Join(errs...))
}

func requireExists(name, rtype string, exists bool) v1alpha1.ChangeSetPrerequisite {
	return v1alpha1.ChangeSetPrerequisite{Name: name, Type: rtype, Exists: &exists}
}

func requireValues(name, rtype string, values ...string) v1alpha1.ChangeSetPrerequisite {
	return v1alpha1.ChangeSetPrerequisite{Name: name, Type: rtype, Values: values}
}

// Each form of a prerequisite is tested, met and unmet. Prerequisites are judged on the state before the set, including
// the zone's name servers and both spellings of names. An unmet prerequisite writes nothing.
func TestSet_prerequisites_S10_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(stopClock)
	zone := store.Zone("platform", "example-org", "example.org.", store.Allow("platform", "*", "@"),
		store.Allow("team", "*.apps", "apps", "_acme-challenge.*.apps"), store.Allow("other", "*.apps", "pay.apps"))
	zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}
	store.Must(s.CreateZone(zone))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "www", "www.apps.example.org.", "A", "192.0.2.1", "192.0.2.2")))
	mail := store.Record("platform", "mail", "mail", "MX", "10 mx")
	mail.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "example-org"}
	store.Must(s.CreateRecord(t.Context(), mail))
	store.Must(s.CreateRecord(t.Context(), store.Record("other", "theirs", "theirs.apps.example.org.", "TXT", "secret")))
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "own", "own.apps.example.org.", "A", "192.0.2.9")))
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "vault", "_vault.hidden.apps.example.org.", "TXT", "private")))
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "keys", "*._domainkey.news.apps.example.org.", "TXT", "private")))
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "token", "_acme-challenge.hidden.apps.example.org.", "TXT", "private")))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "older", "_older.early.apps.example.org.", "TXT", "team")))
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "older", "_older.early.apps.example.org.", "TXT", "platform")))
	for i, test := range []struct {
		by   string
		p    v1alpha1.ChangeSetPrerequisite
		want string
	}{
		{"team", requireExists("www.apps.example.org.", "", true), ""},
		{"team", requireExists("www.apps.example.org.", "", false), "unmet"},
		{"team", requireExists("new.apps.example.org.", "", false), ""},
		{"team", requireExists("new.apps.example.org.", "", true), "unmet"},
		{"team", requireExists("www.apps.example.org.", "A", true), ""},
		{"team", requireExists("www.apps.example.org.", "a", false), "unmet"},
		{"team", requireExists("www.apps.example.org.", "TXT", false), ""},
		{"team", requireExists("www.apps.example.org.", "TXT", true), "unmet"},
		{"team", requireValues("www.apps.example.org.", "A", "192.0.2.2", "192.0.2.1"), ""},
		{"team", requireValues("www.apps.example.org.", "A", "192.0.2.1"), "unmet"},
		{"team", requireValues("www.apps.example.org.", "A", "192.0.2.1", "192.0.2.2", "192.0.2.3"), "unmet"},
		{"team", requireValues("new.apps.example.org.", "A", "192.0.2.1"), "unmet"},
		{"platform", requireValues("mail.example.org.", "MX", "10 mx.example.org."), ""},
		{"platform", requireValues("mail.example.org.", "MX", "10 mx"), ""},
		{"platform", requireValues("mail.example.org.", "MX", "20 mx"), "unmet"},
		{"platform", requireValues("example.org.", "NS", "ns.example.org."), ""},
		{"platform", requireValues("ns.example.org.", "A", "192.0.2.53"), ""},
		{"platform", requireExists("example.org.", "SOA", true), ""},
		{"platform", requireExists("example.org.", "SOA", false), "unmet"},
		// A tenant without write permission for a name learns nothing about the name, present or absent.
		{"team", requireExists("mail.example.org.", "", true), "forbidden"},
		{"team", requireExists("absent.example.org.", "", true), "forbidden"},
		{"team", requireExists("www.example.net.", "", false), "forbidden"},
		// The same holds for a name claimed by another namespace, reserved for it by a rule, or owned by the zone.
		{"team", requireExists("theirs.apps.example.org.", "TXT", true), "forbidden"},
		{"team", requireValues("theirs.apps.example.org.", "TXT", `"secret"`), "forbidden"},
		{"team", requireExists("absent.theirs.apps.example.org.", "", false), "forbidden"},
		{"team", requireExists("pay.apps.example.org.", "", false), "forbidden"},
		{"team", requireExists("own.apps.example.org.", "", false), "forbidden"},
		{"other", requireExists("pay.apps.example.org.", "", false), ""},
		{"team", requireExists("_acme-challenge.theirs.apps.example.org.", "", false), ""},
		// The name above own's underscore data is free, but at and below that, only an underscore rule admits a tenant.
		{"team", requireExists("_vault.hidden.apps.example.org.", "TXT", true), "forbidden"},
		{"team", requireExists("_vault.hidden.apps.example.org.", "A", false), "forbidden"},
		{"team", requireValues("_vault.hidden.apps.example.org.", "TXT", "private"), "forbidden"},
		{"team", requireExists("x._vault.hidden.apps.example.org.", "", false), "forbidden"},
		{"team", requireExists("*._domainkey.news.apps.example.org.", "TXT", true), "forbidden"},
		{"team", requireExists("s1._domainkey.news.apps.example.org.", "", false), "forbidden"},
		{"team", requireExists("_other.hidden.apps.example.org.", "", false), ""},
		{"team", requireExists("hidden.apps.example.org.", "", false), ""},
		{"team", requireExists("_acme-challenge.hidden.apps.example.org.", "TXT", true), ""},
		// A tenant's Record that was there before own's data stays, and its values may change.
		{"team", requireExists("_older.early.apps.example.org.", "TXT", true), ""},
		{"team", requireExists("x._older.early.apps.example.org.", "", false), "forbidden"},
		{"other", requireExists("_older.early.apps.example.org.", "TXT", true), "forbidden"},
	} {
		before := s.Zone("platform", "example-org").Status.Serial
		// A question of an UpdateKey and the dry run of a change set judge the prerequisite alone.
		at := v1alpha1.AdoptingZone{Namespace: "platform", Name: "example-org", UID: s.Zone("platform", "example-org").UID}
		asked := s.Ledger.JudgePrerequisites(t.Context(), at, test.by, []v1alpha1.ChangeSetPrerequisite{test.p})
		if (asked == nil) != (test.want == "") || apierrors.IsForbidden(asked) != (test.want == "forbidden") {
			t.Errorf("%d: question of %s %+v: %v, want %q", i, test.by, test.p, asked, test.want)
		}
		name := fmt.Sprintf("made%d.apps.example.org.", i)
		its := "www.apps.example.org."
		if test.by == "other" {
			its = "theirs.apps.example.org."
		}
		_, err := inSetWith(t.Context(), s, []v1alpha1.ChangeSetPrerequisite{requireExists(its, "", true), test.p},
			createLater(store.Record(test.by, fmt.Sprint("made", i), name, "A", "192.0.2.9")))
		got := ""
		var status apierrors.APIStatus
		switch {
		case err == nil:
		case apierrors.ReasonForError(err) == v1alpha1.StatusReasonPrerequisiteFailed:
			errors.As(err, &status)
			if got = "unmet"; status.Status().Code != 412 || status.Status().Details.Causes[0].Field != "spec.prerequisites[1]" {
				t.Errorf("%d: %+v", i, status.Status())
			}
		case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "S10.5"):
			got = "forbidden"
		default:
			got = err.Error()
		}
		if after := s.Zone("platform", "example-org").Status.Serial; got != test.want || (got == "") != (after != before) {
			t.Errorf("%d: %s %+v: %q, want %q; serial %d to %d", i, test.by, test.p, got, test.want, before, after)
		}
	}
}

// Several change sets on two servers require that a name is free, and each creates a Record there. Exactly one is
// written, because the transaction compares the prerequisite.
func TestRace_prerequisitesAreCompared_S10_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{exampleOrg(t, st), st.Server(stopClock)}
	ctx := withDeadline(t)
	for round := range scaleTo(200, 25) {
		fqdn := fmt.Sprintf("lease%d.example.org.", round)
		var won atomic.Int32
		runParallel(4, func(w int) {
			_, err := inSetWith(ctx, servers[w%2], []v1alpha1.ChangeSetPrerequisite{requireExists(fqdn, "", false)},
				createLater(store.Record("team", fmt.Sprintf("l%d-%d", round, w), fqdn, "A", fmt.Sprintf("192.0.2.%d", w))))
			switch {
			case err == nil:
				won.Add(1)
			case apierrors.ReasonForError(err) != v1alpha1.StatusReasonPrerequisiteFailed && !refusedOrMet(err):
				t.Errorf("round %d: %v", round, err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("round %d: %d sets were written", round, won.Load())
		}
	}
}

// An update may arrive right after the zone was created through another server. FindZone finds the zone although this
// server's cache lags (S13.4).
func TestFindZone_ofAnotherServer(t *testing.T) {
	st := store.New(t)
	s, other := st.Server(), st.Server()
	for i := range 20 {
		apex := fmt.Sprintf("new-%d.example.", i)
		made := store.Must(other.CreateZone(store.Zone("team", fmt.Sprint("new-", i), apex)))
		at, ok, err := s.Ledger.FindZone(t.Context(), "team", "", name.MustParse(apex))
		if err != nil || !ok || at.UID != made.UID {
			t.Errorf("%s: %+v, %t, %v", apex, at, ok, err)
		}
	}
}
