// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/inprocess"
	"kubi.zone/kubizone/pkg/refusal"
)

// item is one change of a set: a request to records.kubi.zone, and its answer.
type item struct {
	index   int
	name    string
	of      *v1alpha1.ChangeSet
	options *metav1.CreateOptions
	from    *http.Request

	// code is that of the answer; record the Record of a success, failure the status of anything else.
	code    int
	record  metav1.ObjectMeta
	failure *metav1.Status
}

func (x *item) path() *field.Path { return refusal.ItemPath(x.index) }

func (x *item) deletes() *v1alpha1.ChangeSetDelete { return x.of.Spec.Items[x.index].Delete }

func (x *item) creates() *runtime.RawExtension { return x.of.Spec.Items[x.index].Create }

// member is where in the item the Record is.
func (x *item) member() *field.Path {
	switch {
	case x.deletes() != nil:
		return x.path().Child("delete")
	case x.creates() != nil:
		return x.path().Child("create")
	}
	return x.path().Child("apply")
}

// requestKey is that of the request of a set in its context.
type requestKey struct{}

// WithRequest keeps a request that becomes a change set in its context, for the requests of its items.
func WithRequest(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := genericapirequest.RequestInfoFrom(r.Context()); ok && (info.APIGroup == acme.GroupName ||
			info.APIGroup == v1alpha1.GroupName && (info.Resource == "changesets" || info.Subresource == "update")) {
			r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
		}
		handler.ServeHTTP(w, r)
	})
}

// actingKey is that of the namespace in the context of a set that this process makes.
type actingKey struct{}

// ActFor lets the items of a change set that is created under ctx write Records of a namespace: the user of ctx needs
// no rights. It is for callers in this process that have judged what they write; no request from outside has it.
func ActFor(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, actingKey{}, namespace)
}

// ActsFor returns the namespace of ActFor.
func ActsFor(ctx context.Context) (namespace string, ok bool) {
	namespace, ok = ctx.Value(actingKey{}).(string)
	return namespace, ok
}

func sentBy(ctx context.Context) *http.Request {
	from, _ := ctx.Value(requestKey{}).(*http.Request)
	return from
}

// sendRequest sends the item as a request and waits for the answer.
func (x *item) sendRequest(ctx context.Context, handler http.Handler, set Set) {
	own, cancel := x.newContext(ctx)
	defer cancel()
	if err := x.serve(set.Context(own, x.index), handler); err != nil {
		x.fail(apierrors.NewInternalError(err))
	}
	if x.failure == nil && x.deletes() != nil && !set.Came(x.index) {
		x.fail(apierrors.NewInvalid(v1alpha1.Kind("Record"), x.name,
			field.ErrorList{field.Forbidden(field.NewPath("metadata", "finalizers"),
				"a Record with finalizers goes when they do, and a change set deletes at once: delete it by itself")}))
	}
	set.Leave(x.index, x.failure != nil)
}

// serve serves the request. A panic fails the item alone, as the server of a client's request does.
func (x *item) serve(ctx context.Context, handler http.Handler) (err error) {
	defer func() {
		if why := recover(); why != nil { // upstream's panics have the stack in their text
			klog.FromContext(ctx).Error(nil, "An item of a change set ended in a panic; the server goes on. Please report this",
				"item", x.path().String(), "panic", why, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s (%s) cannot be served, by a fault of the server; its log says more", x.path(), x.name)
		}
	}()
	request, err := x.newRequest(ctx)
	if err != nil {
		return err
	}
	w := inprocess.NewRecorder()
	handler.ServeHTTP(w, request)
	return x.readAnswer(w)
}

func (x *item) fail(err apierrors.APIStatus) {
	status := err.Status()
	x.code, x.failure = int(status.Code), &status
}

// newContext makes the context of the request. It ends with that of the set, and has only its user, as a request from
// outside has.
func (x *item) newContext(ctx context.Context) (context.Context, context.CancelFunc) {
	own, release := inprocess.Detach(ctx)
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		own = genericapirequest.WithUser(own, user)
	}
	if namespace, acts := ActsFor(ctx); acts {
		own = ActFor(own, namespace)
	}
	own = trace.ContextWithSpan(own, trace.SpanFromContext(ctx))
	own = klog.NewContext(own, klog.FromContext(ctx))
	return warning.WithWarningRecorder(own, warnings{ctx, x}), release
}

// warnings adds the item to each Warning.
type warnings struct {
	of   context.Context
	item *item
}

func (w warnings) AddWarning(agent, text string) {
	if text != "" {
		warning.AddWarning(w.of, agent, refusal.OfItem(w.item.index, w.item.name, text))
	}
}

// newRequest makes the request of the item as a client would send it.
func (x *item) newRequest(ctx context.Context) (*http.Request, error) {
	method, kind, body := http.MethodPatch, string(types.ApplyYAMLPatchType), []byte(nil)
	at, query := "/"+x.name, url.Values{}
	if dryrun.IsDryRun(x.options.DryRun) {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if d := x.deletes(); d != nil {
		method, kind = http.MethodDelete, runtime.ContentTypeJSON
		options := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, DryRun: x.options.DryRun}
		if d.UID != "" || d.ResourceVersion != "" {
			options.Preconditions = &metav1.Preconditions{}
		}
		if d.UID != "" {
			options.Preconditions.UID = &d.UID
		}
		if d.ResourceVersion != "" {
			options.Preconditions.ResourceVersion = &d.ResourceVersion
		}
		var err error
		if body, err = json.Marshal(options); err != nil {
			return nil, err
		}
	} else {
		if query.Set("fieldManager", x.of.Spec.FieldManager); x.creates() != nil {
			method, kind, body, at = http.MethodPost, runtime.ContentTypeJSON, x.creates().Raw, ""
		} else {
			body = x.of.Spec.Items[x.index].Apply.Raw
			query.Set("force", strconv.FormatBool(x.of.Spec.Force))
		}
		if x.options.FieldValidation != "" {
			query.Set("fieldValidation", x.options.FieldValidation)
		}
	}
	target := url.URL{
		Path: fmt.Sprintf("/apis/%s/namespaces/%s/records%s", v1alpha1.SchemeGroupVersion, x.of.Namespace, at), RawQuery: query.Encode(),
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.RequestURI = request.URL.RequestURI()
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", runtime.ContentTypeProtobuf)
	if x.from != nil { // what audit events say of a request; the ID is that of the set
		request.RemoteAddr, request.Host, request.Proto, request.TLS = x.from.RemoteAddr, x.from.Host, x.from.Proto, x.from.TLS
		for _, name := range []string{"User-Agent", "X-Forwarded-For", "X-Real-Ip"} {
			if values := x.from.Header.Values(name); len(values) > 0 {
				request.Header[name] = values
			}
		}
		if id, ok := audit.AuditIDFrom(x.from.Context()); ok && id != "" {
			request.Header.Set("Audit-Id", string(id))
		}
	}
	return request, nil
}

// answers reads what items are answered: Records and Statuses, in a form that takes a fifth of the time of JSON.
var answers = func() *protobuf.Serializer {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return protobuf.NewSerializer(scheme, scheme)
}()

// readAnswer takes the answer in.
func (x *item) readAnswer(w *inprocess.Recorder) error {
	x.code = w.Code
	answer, _, err := answers.Decode(w.Body.Bytes(), nil, nil)
	if err != nil {
		return fmt.Errorf("the answer to %s, with code %d, cannot be read: %w", x.path(), w.Code, err)
	}
	switch is := answer.(type) {
	case *v1alpha1.Record:
		x.record = is.ObjectMeta
	case *metav1.Status:
		if is.Status != metav1.StatusSuccess {
			x.failure = is
		} else if is.Details != nil {
			x.record.UID = is.Details.UID
		}
	default:
		return fmt.Errorf("the answer to %s, with code %d, is a %T", x.path(), w.Code, answer)
	}
	return nil
}

// reportStatus is the status of the item in a set that was committed.
func (x *item) reportStatus(set Set) v1alpha1.ChangeSetItemStatus {
	s := v1alpha1.ChangeSetItemStatus{Name: x.name, UID: x.record.UID, ResourceVersion: x.record.ResourceVersion,
		Generation: x.record.Generation, Operation: v1alpha1.OperationUpdated}
	switch {
	case x.deletes() != nil:
		s.Operation, s.ResourceVersion, s.Generation = v1alpha1.OperationDeleted, "", 0
	case set.Unchanged(x.index):
		s.Operation = v1alpha1.OperationUnchanged
	case x.code == http.StatusCreated:
		s.Operation = v1alpha1.OperationCreated
	}
	return s
}

// ended: nothing was wrong with the item, and others were not written.
func (x *item) ended() bool {
	return x.failure != nil && x.failure.Reason == v1alpha1.StatusReasonChangeSetEnded
}
