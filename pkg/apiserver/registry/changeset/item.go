// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/pkg/kit/inprocess"
)

type item struct {
	index int // in spec.items
	name  string
	set   *v1alpha1.ChangeSet
	write *direct.Write

	code     int
	answer   runtime.Object
	failure  *metav1.Status
	creates  bool // as admitted, so a quota may count it
	warnings itemWarnings
}

func (x *item) path() *field.Path { return refusal.ItemPath(x.index) }

func (x *item) deletes() *v1alpha1.ChangeSetDelete { return x.set.Spec.Items[x.index].Delete }

func (x *item) created() *runtime.RawExtension { return x.set.Spec.Items[x.index].Create }

func (x *item) member() string {
	switch {
	case x.deletes() != nil:
		return "delete"
	case x.created() != nil:
		return "create"
	}
	return "apply"
}

type requestKey struct{}

// WithRequest stores a change set's HTTP request in the context, for audit events of items.
func WithRequest(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := genericapirequest.RequestInfoFrom(r.Context()); ok && (info.APIGroup == acme.GroupName ||
			info.APIGroup == v1alpha1.GroupName && (info.Resource == "changesets" || info.Subresource == "update")) {
			r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
		}
		handler.ServeHTTP(w, r)
	})
}

type actingKey struct{}

// ActFor returns a context in which change sets write Records of a namespace without rights. The caller must check the
// writes.
func ActFor(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, actingKey{}, namespace)
}

func ActsFor(ctx context.Context) (namespace string, ok bool) {
	namespace, ok = ctx.Value(actingKey{}).(string)
	return namespace, ok
}

func sentBy(ctx context.Context) *http.Request {
	from, _ := ctx.Value(requestKey{}).(*http.Request)
	return from
}

// readItem returns the item of spec.items[i] with the write. A text that does not decode is a fault of the write, which
// Admit answers.
func (r *REST) readItem(ctx context.Context, set *v1alpha1.ChangeSet, i int, options *metav1.CreateOptions) *item {
	w := &direct.Write{Verb: "patch", Namespace: set.Namespace, Request: sentBy(ctx), Options: metav1.PatchOptions{DryRun: options.DryRun}}
	x := &item{index: i, set: set, write: w}
	// An element has exactly one of delete, create and apply, or validation refuses the set.
	if d := x.deletes(); d != nil {
		w.Verb, w.Preconditions = "delete", preconditionsOf(d)
		return x
	}
	w.Options.FieldManager = cmp.Or(set.Spec.Items[i].FieldManager, set.Spec.FieldManager)
	w.Options.FieldValidation = options.FieldValidation
	record := set.Spec.Items[i].Apply
	// A create without a field manager gets the User-Agent's, as a POST does. An apply has to name a manager.
	if created := x.created(); created != nil {
		w.Verb, record = "create", created
		w.Options.FieldValidation = metav1.FieldValidationStrict // as an apply is: kubectl create --validate=ignore drops no field
		if len(set.ManagedFields) > 0 {
			w.ClientManager = set.ManagedFields[0].Manager // from User-Agent, by the generic server
		}
	} else {
		w.Options.Force = &set.Spec.Force
	}
	switch {
	case record == nil: // validation refuses the item
	case record.Object != nil:
		w.Object = record.Object
	default:
		r.handler.Decode(w, record.Raw)
		record.Object = w.Object
	}
	return x
}

// preconditionsOf returns the preconditions of a deletion, or nil without uid and resourceVersion.
func preconditionsOf(d *v1alpha1.ChangeSetDelete) *metav1.Preconditions {
	if d.UID == "" && d.ResourceVersion == "" {
		return nil
	}
	p := &metav1.Preconditions{}
	if d.UID != "" {
		p.UID = &d.UID
	}
	if d.ResourceVersion != "" {
		p.ResourceVersion = &d.ResourceVersion
	}
	return p
}

// admitItem has the storage of the item keep the write. An error refuses the set.
func (x *item) admitItem(ctx context.Context, handler Handler, set Set) {
	x.answer = nil
	x.serve(warning.WithWarningRecorder(ctx, &x.warnings), handler)
	if _, ended := x.answer.(*metav1.Status); x.failure == nil && x.deletes() != nil && !ended { // it waits for finalizers
		x.fail(apierrors.NewInvalid(v1alpha1.Kind("Record"), x.name,
			field.ErrorList{field.Forbidden(field.NewPath("metadata", "finalizers"),
				"the Record has finalizers, and a change set deletes at once: delete it by itself")}))
	}
	if x.failure != nil {
		set.Refuse()
		return
	}
	x.creates = x.creates || x.code == http.StatusCreated
}

// serve has the handler admit the item, and sets code, answer and failure. A panic fails this item alone: other users'
// requests go on.
func (x *item) serve(ctx context.Context, handler Handler) {
	defer func() {
		if why := recover(); why != nil {
			klog.FromContext(ctx).Error(nil, "An item of a change set ended in a panic; the server goes on. Please report this",
				"item", x.path().String(), "panic", why, "stack", string(debug.Stack()))
			x.fail(apierrors.NewInternalError(fmt.Errorf("%s (%s) cannot be served, by a fault of the server; its log says more",
				x.path(), x.name)))
		}
	}()
	x.code, x.answer = handler.Admit(ctx, x.write)
	if status, ok := x.answer.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		x.failure = status
	}
}

// end audits the answer: that of the admission, or the error of the commit.
func (x *item) end(handler Handler, failed error) {
	if x.failure == nil && failed != nil {
		x.fail(failed)
	}
	handler.EndAudit(x.write, x.code, x.answer)
}

func (x *item) fail(err error) {
	x.code, x.answer = direct.Refuse(err)
	x.failure = x.answer.(*metav1.Status)
}

// detach returns the context of items, with the user of ctx. The context ends with ctx.
func detach(mark func(context.Context) context.Context, ctx context.Context) (context.Context, context.CancelFunc) {
	own, release := inprocess.Detach(ctx)
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		own = genericapirequest.WithUser(own, user)
	}
	// An update by TSIG writes for the namespace of the UpdateKey, and items must too.
	if namespace, acts := ActsFor(ctx); acts {
		own = ActFor(own, namespace)
	}
	own = trace.ContextWithSpan(own, trace.SpanFromContext(ctx))
	return mark(klog.NewContext(own, klog.FromContext(ctx))), release
}

// itemWarnings collects the Warnings of an item. Its request may add them from several goroutines.
type itemWarnings struct {
	mutex sync.Mutex
	all   []itemWarning
}

type itemWarning struct{ reason, text string }

func (w *itemWarnings) AddWarning(reason, text string) {
	if text != "" {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.all = append(w.all, itemWarning{reason, text})
	}
}

func (w *itemWarnings) ofRank(rank int) (all []itemWarning) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, one := range w.all {
		if rankOf(one.reason) == rank {
			all = append(all, one)
		}
	}
	return all
}

// addWarnings adds the items' Warnings to the response, which has no room for many. The order is that of rankOf, then
// that of the items.
func addWarnings(ctx context.Context, items []*item) {
	for rank := range 3 {
		for _, x := range items {
			for _, w := range x.warnings.ofRank(rank) {
				warning.AddWarning(ctx, w.reason, refusal.OfItem(x.index, x.name, w.text))
			}
		}
	}
}

func rankOf(reason string) int {
	switch reason {
	case v1alpha1.ReasonMassDeletion, v1alpha1.WarningTakesAway: // a zone is held, or others lose names
		return 0
	case "":
		return 1
	}
	return 2 // another write may answer it, as AbsentHost
}

// reportStatus returns the item's status in the answer of a committed set: operation, uid, and the stored version, if
// the Record remains.
func (x *item) reportStatus(set Set) v1alpha1.ChangeSetItemStatus {
	s := v1alpha1.ChangeSetItemStatus{Name: x.name, Operation: v1alpha1.OperationUpdated}
	switch is := x.answer.(type) {
	case *v1alpha1.Record:
		s.UID, s.ResourceVersion, s.Generation = is.UID, is.ResourceVersion, is.Generation
	case *metav1.Status:
		if is.Details != nil {
			s.UID = is.Details.UID
		}
	}
	switch {
	case set.Deletes(x.index):
		s.Operation, s.ResourceVersion, s.Generation = v1alpha1.OperationDeleted, "", 0
	case set.IsUnchanged(x.index):
		s.Operation = v1alpha1.OperationUnchanged
	case x.code == http.StatusCreated:
		s.Operation = v1alpha1.OperationCreated
	}
	return s
}
