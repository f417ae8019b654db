// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package acme

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/test/must"
)

const digest = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE"

// scripted is a writer with the zone example.org.
type scripted struct {
	t       *testing.T
	status  v1alpha1.UpdateRequestStatus
	err     error
	exists  bool // the record to clean up exists
	message string
	expires *metav1.Duration // of the key
}

func (s *scripted) Changes(context.Context, *v1alpha1.UpdateKey, *update.Message) (bool, error) {
	return s.exists, s.err
}

func (s *scripted) FindZone(view string, fqdn name.Name) (name.Name, bool) {
	apex := must.Get(name.Parse("example.org."))(s.t)
	return apex, view == "" && apex.Encloses(fqdn)
}

func (s *scripted) Apply(_ context.Context, key *v1alpha1.UpdateKey, as user.Info, m *update.Message) (
	v1alpha1.UpdateRequestStatus, error) {
	rr := m.Updates[0]
	s.expires = key.Spec.RecordsExpireAfter
	s.message = strings.Join([]string{as.GetName(), key.Namespace, key.Spec.Records[0].Pattern, string(rr.Class), rr.Name.String(),
		rr.Type.String(), rr.Data}, " ")
	return s.status, s.err
}

// solverOf may solve for a namespace.
type solverOf string

func (of solverOf) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "solve" && a.GetAPIGroup() == acme.GroupName && a.GetResource() == acme.Resource &&
		a.GetNamespace() == string(of) && a.GetName() == string(of) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// S13.10, S13.11, S13.12, S13.13: the permitted payloads, callers and answers (attack 100).
func TestREST_solves_S13_10(t *testing.T) {
	ask := func(change ...func(*acme.ChallengeRequest)) *acme.ChallengeRequest {
		r := &acme.ChallengeRequest{UID: "1", Action: acme.ActionPresent, Type: "dns-01", DNSName: "www.example.org", Key: digest,
			ResourceNamespace: "team-a", ResolvedFQDN: "_acme-challenge.www.example.org."}
		for _, c := range change {
			c(r)
		}
		return r
	}
	cleanUp := func(r *acme.ChallengeRequest) { r.Action = acme.ActionCleanUp }
	config := func(json string) func(*acme.ChallengeRequest) {
		return func(r *acme.ChallengeRequest) { r.Config = &runtime.RawExtension{Raw: []byte(json)} }
	}
	other := func(r *acme.ChallengeRequest) { r.ResourceNamespace = "team-b" }
	const solver = "system:serviceaccount:team-a:cert-manager"
	const written = "kubi.zone:acme:team-a team-a _acme-challenge.www.example.org. " +
		"IN _acme-challenge.www.example.org. TXT \"" + digest + "\""
	refused := v1alpha1.UpdateRequestStatus{RCode: "REFUSED", Message: "claimed by another namespace (S4.8)"}
	none := v1alpha1.UpdateRequestStatus{RCode: "NOTAUTH"}
	errAway := errors.New("etcd is away")
	later := func(seconds int) error {
		err := apierrors.NewTooManyRequests("1.3 MiB are not forgiven yet", seconds)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "writes more than 512 KiB a second (S9.2)"}}
		return err
	}
	const noZone = "no zone takes _acme-challenge.www.example.org. TXT of namespace \"team-a\""
	for what, test := range map[string]struct {
		ask     *acme.ChallengeRequest
		by      string
		status  v1alpha1.UpdateRequestStatus
		err     error
		exists  bool   // the record to clean up exists
		message string // the writes
		refusal string // in the response
		fails   func(error) bool
	}{
		"present":             {ask: ask(), message: written},
		"clean up":            {ask: ask(cleanUp), message: strings.Replace(written, " IN ", " NONE ", 1)},
		"refused":             {ask: ask(), status: refused, message: written, refusal: refused.Message},
		"no rule":             {ask: ask(), status: none, message: written, refusal: noZone},
		"no rule, clean up":   {ask: ask(cleanUp), status: none, message: strings.Replace(written, " IN ", " NONE ", 1)},
		"no zone in the view": {ask: ask(config(`{"view":"inside"}`)), refusal: noZone},
		"no zone, clean up":   {ask: ask(config(`{"view":"inside"}`), cleanUp)},
		"another config":      {ask: ask(config(`{"server":"192.0.2.1"}`)), refusal: "request.config"},
		"etcd is away":        {ask: ask(), err: errAway, message: written, fails: func(err error) bool { return errors.Is(err, errAway) }},
		"over its budget":     {ask: ask(), err: later(30), message: written, refusal: "writes more than 512 KiB a second (S9.2)"},
		"over its budget, clean up": {ask: ask(cleanUp), err: later(30), message: strings.Replace(written, " IN ", " NONE ", 1),
			refusal: "(S9.2)"},
		"others write there": {ask: ask(), err: later(1), message: written, fails: apierrors.IsTooManyRequests},
		"not a digest": {ask: ask(func(r *acme.ChallengeRequest) { r.Key = "v=spf1 include:mallory.example -all" }),
			refusal: "request.key"},
		"a long key":           {ask: ask(func(r *acme.ChallengeRequest) { r.Key = strings.Repeat("a", 1<<16) }), refusal: "request.key"},
		"a long key, clean up": {ask: ask(cleanUp, func(r *acme.ChallengeRequest) { r.Key = strings.Repeat("a", 1<<16) })},
		"a quote":              {ask: ask(func(r *acme.ChallengeRequest) { r.Key = digest[:41] + `"x` }), refusal: "request.key"},
		"a newline behind":     {ask: ask(func(r *acme.ChallengeRequest) { r.Key = digest + "\n" }), refusal: "request.key"},
		"no name":              {ask: ask(func(r *acme.ChallengeRequest) { r.ResolvedFQDN = "" }), refusal: "request.resolvedFQDN"},
		"another type":         {ask: ask(func(r *acme.ChallengeRequest) { r.Type = "http-01" }), refusal: "request.type"},
		"another action":       {ask: ask(func(r *acme.ChallengeRequest) { r.Action = "Steal" }), refusal: "request.action"},
		"another namespace": {ask: ask(other),
			fails: func(err error) bool { return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "solve") }},
		"another namespace, clean up what stands": {ask: ask(cleanUp, other), exists: true, fails: apierrors.IsForbidden},
		"another namespace, clean up nothing":     {ask: ask(cleanUp, other)},
		"another namespace, clean up, etcd is away": {ask: ask(cleanUp, other), err: errAway,
			fails: func(err error) bool { return errors.Is(err, errAway) }},
		"a ClusterIssuer, clean up nothing":     {ask: ask(cleanUp), by: solver},
		"a ClusterIssuer, clean up what stands": {ask: ask(cleanUp), by: solver, exists: true, fails: apierrors.IsForbidden},
		"a ClusterIssuer": {ask: ask(), by: solver,
			fails: func(err error) bool {
				return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "use an Issuer")
			}},
		"no namespace": {ask: ask(func(r *acme.ChallengeRequest) { r.ResourceNamespace = "" }), fails: apierrors.IsBadRequest},
		"a path": {ask: ask(func(r *acme.ChallengeRequest) { r.ResourceNamespace = "team-a/records" }),
			fails: apierrors.IsBadRequest},
		"nothing": {fails: apierrors.IsBadRequest},
	} {
		w := &scripted{t: t, status: test.status, err: test.err, exists: test.exists}
		if w.status.RCode == "" {
			w.status.RCode = "NOERROR"
		}
		ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: test.by})
		r := NewREST(Config{Writer: w, Authorizer: solverOf("team-a")})
		got, err := r.Create(ctx, &acme.ChallengePayload{Request: test.ask}, nil, &metav1.CreateOptions{})
		if w.message != test.message {
			t.Errorf("%s: writes %q, want %q", what, w.message, test.message)
		}
		if test.fails != nil {
			if err == nil || !test.fails(err) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		answer := got.(*acme.ChallengePayload).Response
		if answer.UID != test.ask.UID || answer.Success != (test.refusal == "") ||
			!answer.Success && !strings.Contains(answer.Result.Message, test.refusal) {
			t.Errorf("%s: %+v, want the refusal %q", what, answer, test.refusal)
		}
	}
	// A ClusterIssuer that the platform permits.
	w := &scripted{t: t, status: v1alpha1.UpdateRequestStatus{RCode: "NOERROR"}}
	ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "system:serviceaccount:team-a:cert-manager"})
	r := NewREST(Config{Writer: w, Authorizer: solverOf("team-a"), ClusterIssuers: []string{"team-a"}, RecordsExpireAfter: time.Hour})
	if _, err := r.Create(ctx, &acme.ChallengePayload{Request: ask()}, nil, &metav1.CreateOptions{}); err != nil || w.message != written {
		t.Errorf("a ClusterIssuer that is let in: %v", err)
	}
	if w.expires == nil || w.expires.Duration != time.Hour { // S13.17
		t.Errorf("the challenge expires after %v", w.expires)
	}
	// Validating admission refuses before any write.
	refuse := func(context.Context, runtime.Object) error {
		return apierrors.NewForbidden(acme.SchemeGroupVersion.WithResource(acme.Resource).GroupResource(), "", nil)
	}
	w = &scripted{t: t, status: v1alpha1.UpdateRequestStatus{RCode: "NOERROR"}}
	r = NewREST(Config{Writer: w, Authorizer: solverOf("team-a")})
	ctx = genericapirequest.WithUser(t.Context(), &user.DefaultInfo{})
	if _, err := r.Create(ctx, &acme.ChallengePayload{Request: ask()}, refuse, &metav1.CreateOptions{}); !apierrors.IsForbidden(err) ||
		w.message != "" {
		t.Errorf("admission refuses: %v, and %q is written", err, w.message)
	}
}
