// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package acme

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
)

type Writer interface {
	Apply(ctx context.Context, key *v1alpha1.UpdateKey, as user.Info, m *update.Message) (v1alpha1.UpdateRequestStatus, error)
	Changes(ctx context.Context, key *v1alpha1.UpdateKey, m *update.Message) (bool, error)
	FindZone(view string, fqdn name.Name) (name.Name, bool)
}

type Config struct {
	Writer     Writer
	Authorizer authorizer.UnconditionalAuthorizer
	// ClusterIssuers lists the namespaces of cert-managers that may solve challenges of their ClusterIssuers.
	ClusterIssuers []string
	// RecordsExpireAfter is the time after which the server deletes a challenge, 0 for never.
	RecordsExpireAfter time.Duration
}

type REST struct {
	kind.Resource
	Config
}

var _ rest.Creater = (*REST)(nil)

// NewREST returns a cluster-scoped storage, because cert-manager posts to no namespace.
func NewREST(config Config) *REST {
	return &REST{kind.NewResource(&acme.ChallengePayload{}, acme.Resource, false), config}
}

// Create solves the challenge, and puts a refusal into the response. It returns an error for an invalid request, a
// missing right, or a failure that cert-manager retries.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	payload, ok := obj.(*acme.ChallengePayload)
	if !ok || payload.Request == nil {
		return nil, apierrors.NewBadRequest("request: Required value: what the solver is to do")
	}
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("a challenge has no dry run; a dry run of a Record shows whether a zone adopts it")
	}
	denied := r.authorizeCaller(ctx, payload.Request.ResourceNamespace)
	// A cleanup may go on without the right: see solveChallenge.
	mayGoOn := payload.Request.Action == acme.ActionCleanUp && apierrors.IsForbidden(denied)
	if denied != nil && !mayGoOn {
		return nil, denied
	}
	if err := kind.ValidateObject(ctx, payload, validate); err != nil {
		return nil, err
	}
	refusal, err := r.solveChallenge(ctx, payload.Request, denied)
	if err != nil {
		return nil, err
	}
	payload.Response = &acme.ChallengeResponse{UID: payload.Request.UID, Success: refusal == ""}
	if refusal != "" {
		payload.Response.Result = &metav1.Status{Status: metav1.StatusFailure, Message: refusal, Reason: metav1.StatusReasonForbidden,
			Code: http.StatusForbidden}
	}
	return payload, nil
}

const verb = "solve"

// authorizeCaller returns an error unless the caller may solve challenges of the namespace: the right to solve there,
// and, for cert-manager's own namespace, an entry in ClusterIssuers (S13.11).
func (r *REST) authorizeCaller(ctx context.Context, namespace string) error {
	forbid := func(format string, args ...any) error {
		resource := acme.SchemeGroupVersion.WithResource(acme.Resource).GroupResource()
		return apierrors.NewForbidden(resource, namespace, fmt.Errorf(format, args...))
	}
	if wrong := validation.ValidateNamespaceName(namespace, false); len(wrong) > 0 {
		return apierrors.NewBadRequest("request.resourceNamespace: must be the namespace whose rules decide: " + wrong[0])
	}
	if caller, ok := genericapirequest.UserFrom(ctx); ok && !slices.Contains(r.ClusterIssuers, namespace) {
		// A ClusterIssuer has no namespace of its own, so its challenges come with cert-manager's. Any user of the
		// cluster may use a ClusterIssuer.
		if own, _, err := serviceaccount.SplitUsername(caller.GetName()); err == nil && own == namespace {
			return forbid("the namespace is cert-manager's own, as for each ClusterIssuer, whose users could then write challenges for "+
				"all names of the namespace; use an Issuer in the namespace of the names, or start the API server with "+
				"--acme-cluster-issuers=%s", namespace)
		}
	}
	allowed, err := kind.IsAllowed(ctx, r.Authorizer, authorizer.AttributesRecord{Verb: verb, Namespace: namespace, Name: namespace,
		APIGroup: acme.GroupName, APIVersion: acme.SchemeGroupVersion.Version, Resource: acme.Resource})
	if err == nil && !allowed {
		err = forbid("the right to %s %s.%s in namespace %s is needed; a RoleBinding to kubizone-acme-solver there gives it",
			verb, acme.Resource, acme.GroupName, namespace)
	}
	return err
}

// response matches the only text that a challenge writes: an unpadded base64url SHA-256 digest (RFC 8555 §8.4).
var response = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

const ttl = 60

// solveChallenge writes or removes the TXT record, or returns a refusal. If the caller lacks the right to solve, denied
// is the error. Even then the cleanup of an absent record succeeds. Otherwise Challenge and namespace could not be
// deleted.
func (r *REST) solveChallenge(ctx context.Context, request *acme.ChallengeRequest, denied error) (refusal string, err error) {
	rr := update.RR{Type: rdata.TXT, Class: update.ClassIN, TTL: ttl, Data: `"` + request.Key + `"`}
	switch request.Action {
	// 1. Read the request. The class of an RR tells add from delete (RFC 2136 §2.5).
	case acme.ActionPresent:
	case acme.ActionCleanUp:
		rr.Class, rr.TTL = update.ClassNONE, 0
	default:
		return fmt.Sprintf("request.action: %q is neither %s nor %s", kind.Shorten(string(request.Action), 32), acme.ActionPresent,
			acme.ActionCleanUp), nil
	}
	view, refusal := readChallenge(request, &rr)
	if refusal != "" {
		return unlessCleanUp(request, refusal), nil
	}

	// 2. Find the closest zone at or above the name, whatever zone cert-manager has resolved.
	namespace := request.ResourceNamespace
	// The answer must not reveal whether the zone is absent or has no rule for the namespace.
	noZone := fmt.Sprintf("no zone takes %s TXT of namespace %q: the zone's owner adds a rule for the namespace with a pattern that "+
		"matches the name, such as *.apps, or _acme-challenge.www for one name alone (S4.7, S4.14)", rr.Name, namespace)
	zone, found := r.Writer.FindZone(view, rr.Name)
	if !found {
		return unlessCleanUp(request, noZone), nil
	}

	// 3. Write as a DNS update of a key for this name and type alone.
	key := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: v1alpha1.UpdateKeySpec{View: view,
		Records: []v1alpha1.UpdateKeyRecords{{Pattern: rr.Name.String(), Types: []string{rdata.TXT.String()}}}}}
	if after := r.RecordsExpireAfter; after > 0 {
		key.Spec.RecordsExpireAfter = &metav1.Duration{Duration: after}
	}
	message := &update.Message{Zone: zone, Updates: []update.RR{rr}}
	if denied != nil {
		// The caller lost the right, for example when a RoleBinding was deleted. Only a value that is still there needs
		// the right.
		if changes, err := r.Writer.Changes(ctx, key, message); err != nil || !changes {
			return "", err
		}
		return "", denied
	}
	status, err := r.Writer.Apply(genericapirequest.WithNamespace(ctx, namespace), key, User(ctx, namespace), message)
	switch {
	case isLater(err):
		return explainLater(err), nil
	case err != nil:
		return "", err
	case status.RCode == update.NoError.String():
		return "", nil
	// The zone or the rule went between FindZone and the write.
	case status.RCode == update.NotAuth.String():
		return unlessCleanUp(request, noZone), nil
	}
	return status.Message, nil
}

// A wait of over a second, returned as an error, would block a cert-manager worker that serves all namespaces.
func isLater(err error) bool {
	seconds, delayed := apierrors.SuggestsClientDelay(err)
	return delayed && seconds > 1 && apierrors.IsTooManyRequests(err)
}

// explainLater returns a constant text, because cert-manager retries at once if a Challenge's reason changes.
func explainLater(err error) string {
	if all := refusal.Of(err); len(all) > 0 {
		return all[0].Message
	}
	return err.Error()
}

func unlessCleanUp(request *acme.ChallengeRequest, refusal string) string {
	if request.Action == acme.ActionCleanUp {
		return ""
	}
	return refusal
}

// readChallenge sets the name of the TXT record, and returns the view, or a refusal for the Challenge's status.
func readChallenge(request *acme.ChallengeRequest, rr *update.RR) (view, refusal string) {
	if request.Type != "dns-01" {
		return "", "request.type: must be dns-01, the one challenge that DNS answers"
	}
	// The right to solve must not be a right to write any TXT, such as a DMARC policy.
	if !response.MatchString(request.Key) {
		return "", "request.key: must be the response to a DNS-01 challenge, 43 characters of base64url (RFC 8555 §8.4)"
	}
	var err error
	if rr.Name, err = name.Parse(request.ResolvedFQDN); err != nil || rr.Name.IsZero() {
		return "", fmt.Sprintf("request.resolvedFQDN: must be the absolute name of the TXT record: %v", err)
	}
	return readView(request.Config)
}

// readView returns the view in the solver's config of the Issuer, "" for the default view, or a refusal. A misspelled
// field is refused, since the challenge would go to another view.
func readView(raw *runtime.RawExtension) (view, refusal string) {
	var config struct {
		View string `json:"view"`
	}
	if raw == nil || len(raw.Raw) == 0 {
		return "", ""
	}
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return "", fmt.Sprintf("request.config: may have view, the view of the zone, and nothing else: %v", err)
	}
	return config.View, ""
}

// User returns the user that writes a namespace's challenges. A request from outside gets no right by the name.
func User(ctx context.Context, namespace string) user.Info {
	from := ""
	if caller, ok := genericapirequest.UserFrom(ctx); ok {
		from = caller.GetName()
	}
	return &user.DefaultInfo{Name: v1alpha1.ChallengeUserPrefix + namespace, Groups: []string{"kubi.zone:acme"},
		Extra: map[string][]string{"kubi.zone/acme-solver": {from}}}
}
