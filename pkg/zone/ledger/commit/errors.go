// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

func (o *Object) String() string { return fmt.Sprintf("%s %q", o.Resource, o.Name) }

func (a *Answer) apiError(object string) error {
	switch {
	case a.sent:
		// The transaction may be committed, so the client must read before a retry.
		return unknownOutcome(object, a.Err)
	case a.overtaken && errors.Is(a.Err, context.DeadlineExceeded):
		// Other writers, not etcd, used up the time.
		return TooBusy(object, a.Err)
	}
	return TimeoutError(object, a.Err)
}

// TimeoutError returns the API error of an unsent write for the end of its request, or for a timeout of etcd; otherwise
// err.
func TimeoutError(object string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unwritten(object, fmt.Sprintf("not decided in time (%v), as etcd is slow or many writes wait", err), 0)
	case apierrors.IsTimeout(err):
		return unwritten(object, "etcd did not answer during the decision; administrators check etcd with kubectl kubizone doctor", 0)
	}
	return err
}

// TooBusy is the error of a write whose compares failed until the deadline.
func TooBusy(object string, cause error) error {
	return unwritten(object, fmt.Sprintf("other writes kept changing what this one depends on (%v)", cause), 1)
}

// unwritten returns the error of a write that was not sent. As in the apiserver, the reason is ServerTimeout, since
// Timeout means an unknown outcome. If retryAfter is 0 seconds, a new try would take as long.
func unwritten(object, why string, retryAfter int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonServerTimeout,
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
		Message: object + ": " + why + "; nothing was written, try again",
	}}
}

// unknownOutcome keeps an API error, which names the outcome already.
func unknownOutcome(object string, err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return apierrors.NewTimeoutError(fmt.Sprintf("%s: etcd did not answer (%v): whether it was written is not known; read the objects "+
		"before you repeat it", object, err), 0)
}

func (g *group) tooLong(octets int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s: with its zone and the journal step the write is %d octets, more "+
		"than etcd accepts in one transaction; nothing was written: %s, or start etcd with a larger --max-request-bytes (1.5 MiB by "+
		"default)", g, octets, g.smallerAdvice()))
}

func (g *group) tooManyOperations(count int) error {
	text := fmt.Sprintf("%s: the write takes %d operations in one transaction, more than etcd accepts; nothing was written: "+
		"%s", g, count, g.smallerAdvice())
	if count <= recommendedOps {
		text += fmt.Sprintf(", or start etcd with --max-txn-ops=%d", recommendedOps)
	}
	return apierrors.NewRequestEntityTooLargeError(text)
}

func (g *group) String() string {
	if g.set != nil {
		return fmt.Sprintf("the change set of %d items", len(g.members))
	}
	return fmt.Sprintf("%s %s/%s", g.firstWrite().Resource, g.firstWrite().Namespace, g.firstWrite().Name)
}

func (g *group) smallerAdvice() string {
	if g.set != nil {
		return "make change sets of half as many items"
	}
	return "change fewer values at once, or shorter ones"
}

// tooManyFacts returns the Invalid error of a write whose decision has more compares than a transaction allows, with
// the field to shorten.
func tooManyFacts(w *Write, count, most int) error {
	at, less := "spec.domainName", "use fewer labels, or fewer name servers in the zone"
	if w.Resource == "zones" {
		// A zone reads the data at each host of nameServers, old and new.
		at, less = "spec.nameServers", "change fewer name servers at once (old and new ones count), or use fewer"
	}
	text := fmt.Sprintf("the decision reads %d facts, and at most %d fit into one transaction: %s", count, most, less)
	if most < recommendedOps/2 {
		// etcd runs with the default limit of 128 operations.
		text += fmt.Sprintf("; or start etcd with --max-txn-ops=%d", recommendedOps)
	}
	return Status(w.Resource, w.Name, &law.Refusal{Kind: law.Invalid, Field: at, Message: text})
}

const recommendedOps = 512

// Status converts a refusal to an API error, and returns other errors unchanged.
func Status(resource, object string, err error) error {
	var refused *law.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	return refusal.ByRule(refused.Rule, statusOf(resource, object, refused))
}

// statusOf converts a refusal to an API error by the kind of the refusal: 403, 412, 429 or 422.
func statusOf(resource, object string, refusal *law.Refusal) *apierrors.StatusError {
	gr := v1alpha1.Resource(resource)
	switch refusal.Kind {
	case law.Forbidden:
		message := refusal.Sentence()
		e := apierrors.NewForbidden(gr, object, errors.New(message))
		// Users read `records.kubi.zone "www" is forbidden: <why>`, programs the reason, as in a cascade's condition.
		e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(refusal.Reason), Message: message}}
		return e
	case law.Unmet:
		// A prerequisite of a change set: 412, with the prerequisite's index in the field.
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusPreconditionFailed, Reason: v1alpha1.StatusReasonPrerequisiteFailed,
			Details: &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: "ChangeSet", Causes: []metav1.StatusCause{
				{Type: metav1.CauseType(refusal.Reason), Field: refusal.Field, Message: refusal.Message}}},
			Message: fmt.Sprintf("nothing was written: %s: %s", refusal.Field, refusal.Message),
		}}
	case law.Later:
		// 429 with Retry-After, on which kubectl and client-go try again.
		return apierrors.NewTooManyRequests(fmt.Sprintf("%s %q: %s", resource, object, refusal.Message), laterSeconds)
	case law.Duplicate:
		// A second zone of the same name and view (S1.5).
		return apierrors.NewInvalid(kinds[resource], object, field.ErrorList{{Type: field.ErrorTypeDuplicate,
			Field: refusal.Field, BadValue: refusal.Value, Detail: refusal.Message}})
	}

	// All other refusals are Invalid, 422.
	at := cmp.Or(refusal.Field, "spec")
	value := refusal.Value
	if value == nil {
		value = field.OmitValueType{}
	}
	return apierrors.NewInvalid(kinds[resource], object, field.ErrorList{field.Invalid(field.NewPath(at), value, refusal.Message)})
}

var kinds = map[string]schema.GroupKind{
	"zones": v1alpha1.Kind("Zone"), "delegations": v1alpha1.Kind("Delegation"), "records": v1alpha1.Kind("Record"),
}

const laterSeconds = 5

// Recover, called by defer, logs a panic and sets *err to an API error. The caller sets *sent before it sends a
// transaction; then the error says that the outcome is unknown. If sent is nil, nothing was sent.
func (com *Committer) Recover(ctx context.Context, sent *bool, err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	com.Mem.Stats.Panics.Add(1)
	klog.FromContext(ctx).Error(nil, "A decision ended in a panic; the server goes on. Please report this", "panic", cause,
		"stack", string(debug.Stack()))
	outcome := "nothing was written"
	if sent != nil && *sent {
		outcome = "whether it was written is not known: read the object before you repeat it"
	}
	*err = apierrors.NewInternalError(errors.New("the server failed while it decided about this, by a fault of its own; " + outcome +
		"; its log says more"))
}

// Warn adds warnings to the response of ctx's request.
func Warn(ctx context.Context, warnings ...law.Warning) {
	for _, w := range warnings {
		warning.AddWarning(ctx, w.Reason, refusal.Warning(w.Rule, w.Text))
	}
}

// WarnOfDeletions warns the client of a mass deletion. Such a change holds the zone (stops delivery to name servers),
// or would do so if the removed RRsets were older than ten minutes.
func WarnOfDeletions(ctx context.Context, c *law.ZoneChange) {
	switch {
	case c == nil:
	case c.BeginsHold:
		rule := "S7.5"
		if !c.Zone.ExcessOf(c.Holding.Held).ExceedsPercent() {
			rule = "S7.6" // held for the last apex NS
		}
		Warn(ctx, law.Warning{Rule: rule, Reason: v1alpha1.ReasonMassDeletion, Text: fmt.Sprintf("zone %s is held from now on: %s",
			c.Zone.FQDN(), objects.DescribeHold(c.Zone, c.Holding.Held))})
	case c.YoungExcess != nil:
		Warn(ctx, law.Warning{Rule: "S7.6", Text: fmt.Sprintf("%d of the %d RRsets of zone %s are removed, more than %d %%, and name "+
			"servers follow: a mass deletion holds a zone for RRsets older than ten minutes only; recreate the Records if this is a "+
			"mistake", c.YoungExcess.Removed, c.YoungExcess.RRsets, c.Zone.FQDN(), c.YoungExcess.Percent)})
	}
}

func User(ctx context.Context) string {
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		return u.GetName()
	}
	return ""
}
