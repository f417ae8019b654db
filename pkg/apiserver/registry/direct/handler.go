// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/component-base/tracing"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type Storage interface {
	rest.Creater
	rest.Patcher
	rest.GracefulDeleter
}

// Config configures a Handler. Admission, AuditSink and AuditPolicy are optional.
type Config struct {
	Storage interface { // of the resource
		New() runtime.Object
		rest.ResetFieldsStrategy
	}
	Resource    schema.GroupVersionResource
	Kind        string
	Scheme      *runtime.Scheme
	Serializer  runtime.NegotiatedSerializer
	Schemas     map[string]*spec.Schema // OpenAPI, for managed fields
	Authorizer  authorizer.UnconditionalAuthorizer
	Equivalents runtime.EquivalentResourceMapper
	Admission   admission.Interface
	AuditSink   audit.Sink
	AuditPolicy audit.PolicyRuleEvaluator
	// CheckText returns an error if the JSON text of an item must be refused.
	CheckText func(text []byte) error
}

// Handler serves items of change sets like single requests.
type Handler struct {
	Config
	kind       schema.GroupVersionKind
	manager    *managedfields.FieldManager
	interfaces admission.ObjectInterfaces
	// deletes admits deletions, admit other writes, with a check of managed fields.
	deletes, admit admission.Interface
	decoder        runtime.Decoder
}

// New returns the Handler of a resource, with the decoder, field manager and admission of the generic apiserver.
func New(config Config) (*Handler, error) {
	h := &Handler{Config: config, kind: config.Resource.GroupVersion().WithKind(config.Kind),
		interfaces: &admission.RuntimeObjectInterfaces{ObjectCreater: config.Scheme, ObjectTyper: config.Scheme,
			ObjectDefaulter: config.Scheme, ObjectConvertor: config.Scheme, EquivalentResourceMapper: config.Equivalents},
		deletes: admission.WithAudit(config.Admission)}
	h.admit = fieldmanager.NewManagedFieldsValidatingAdmissionController(h.deletes)
	hub := schema.GroupVersion{Group: h.kind.Group, Version: runtime.APIVersionInternal}
	json, ok := runtime.SerializerInfoForMediaType(config.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("%s is not served in JSON", config.Resource.Resource)
	}
	h.decoder = config.Serializer.DecoderToVersion(json.StrictSerializer, hub)
	converter, err := managedfields.NewTypeConverter(config.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("schemas of %s: %w", config.Resource.Resource, err)
	}
	h.manager, err = managedfields.NewDefaultFieldManager(converter, runtime.UnsafeObjectConvertor(config.Scheme), config.Scheme,
		config.Scheme, h.kind, hub, "", fieldpath.NewExcludeFilterSetMap(config.Storage.GetResetFields()))
	if err != nil {
		return nil, fmt.Errorf("field manager of %s: %w", config.Resource.Resource, err)
	}
	return h, nil
}

// Write is an item of a change set, a write of an object with the options of a single request.
type Write struct {
	// Verb is "create", "patch" (for apply) or "delete".
	Verb, Namespace, Name string
	// Storage keeps the write for a later commit.
	Storage Storage
	// Object is the object to create or apply. Decode sets it.
	Object runtime.Object
	// A deletion uses only DryRun of Options. ClientManager is the field manager if Options has none.
	Options       metav1.PatchOptions
	ClientManager string
	// Preconditions are for a deletion. Nil for none.
	Preconditions *metav1.Preconditions
	// Request is the request with the change set, for audit events, or nil.
	Request *http.Request

	text   []byte  // nil if Object was set
	fault  error   // of decoding text
	strict []error // unknown or duplicate fields

	audited context.Context // of the audit event, from the first Admit on; nil without one
}

// Decode decodes text into w.Object, for a create or apply. If text is invalid, Object stays nil, and Admit refuses the
// write.
func (h *Handler) Decode(w *Write, text []byte) {
	w.text = text
	w.fault = h.CheckText(text)
	if w.fault != nil {
		return
	}
	if w.Verb == "patch" {
		w.decodeApplied()
	} else {
		h.decodeCreated(w)
	}
}

// decodeApplied decodes an apply into an unstructured object, as the field manager needs it, and notes unknown and
// duplicate fields.
func (w *Write) decodeApplied() {
	fields := map[string]any{}
	w.strict, w.fault = kjson.UnmarshalStrict(w.text, &fields)
	if w.fault != nil {
		w.fault = apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", w.fault))
		return
	}
	if len(w.strict) > 0 { // answer with the text of the generic apiserver
		if err := yaml.UnmarshalStrict(w.text, &map[string]any{}); err != nil {
			w.strict = []error{err}
		}
	}
	w.Object = &unstructured.Unstructured{Object: fields}
}

// decodeCreated decodes a create into an object of the kind, with defaults. With strict validation, unknown fields are
// a fault.
func (h *Handler) decodeCreated(w *Write) {
	kind := h.kind
	object, decodedKind, err := h.decoder.Decode(w.text, &kind, h.Storage.New())
	strictErr, isStrictErr := runtime.AsStrictDecodingError(err)
	mayBeStored := isStrictErr && object != nil && w.Options.FieldValidation != metav1.FieldValidationStrict
	switch {
	case mayBeStored:
		w.strict = strictErr.Errors()
	case err != nil && decodedKind != nil && decodedKind.Kind != "":
		w.fault = apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", decodedKind.Kind,
			decodedKind.Version, kind.Kind, err))
		return
	case err != nil:
		w.fault = apierrors.NewBadRequest(err.Error())
		return
	}
	w.Object = object
}

const slow = 500 * time.Millisecond

// Admit authorizes and admits the write like a request of ctx's user. It returns the HTTP code, and the answer of
// w.Storage or a metav1.Status. If the object has changed before the commit, Admit is called again.
func (h *Handler) Admit(ctx context.Context, w *Write) (code int, answer runtime.Object) {
	ctx, span := tracing.Start(ctx, "Admit", attribute.String("verb", w.Verb), attribute.String("name", w.Name))
	defer span.End(slow)
	info := h.describeRequest(w)
	ctx = genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(ctx, w.Namespace), info)
	user, _ := genericapirequest.UserFrom(ctx)
	asked := authorizer.AttributesRecord{User: user, Verb: info.Verb, Namespace: info.Namespace, APIGroup: info.APIGroup,
		APIVersion: info.APIVersion, Resource: info.Resource, Name: info.Name, ResourceRequest: true, Path: info.Path}
	ctx, err := h.beginAudit(ctx, w, asked)
	if err != nil {
		return Refuse(err)
	}
	defer w.auditPanic()
	code, object, err := h.authorizeAndAdmit(ctx, w, asked)
	if err == nil {
		return code, object
	}
	if _, known := err.(apierrors.APIStatus); !known && ctx.Err() != nil {
		err = apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", ctx.Err()), 0)
	}
	return Refuse(err)
}

// Refuse returns the HTTP code and metav1.Status of an error.
func Refuse(err error) (int, runtime.Object) {
	status := responsewriters.ErrorToAPIStatus(err)
	return int(status.Code), status
}

func (h *Handler) describeRequest(w *Write) *genericapirequest.RequestInfo {
	info := &genericapirequest.RequestInfo{IsResourceRequest: true, Verb: w.Verb, APIPrefix: "apis", APIGroup: h.Resource.Group,
		APIVersion: h.Resource.Version, Namespace: w.Namespace, Resource: h.Resource.Resource, Parts: []string{h.Resource.Resource},
		Path: "/apis/" + h.Resource.GroupVersion().String() + "/namespaces/" + w.Namespace + "/" + h.Resource.Resource}
	if w.Verb != "create" {
		info.Name, info.Parts, info.Path = w.Name, append(info.Parts, w.Name), info.Path+"/"+w.Name
	}
	return info
}

// authorizeAndAdmit asks for the right to the item first: a user without the right must not learn from a decoding fault
// or from admission.
func (h *Handler) authorizeAndAdmit(ctx context.Context, w *Write, asked authorizer.AttributesRecord) (int, runtime.Object, error) {
	decision, reason, err := h.Authorizer.Authorize(ctx, asked)
	switch {
	case decision == authorizer.DecisionAllow:
		audit.AddAuditAnnotations(ctx, decisionKey, "allow", reasonKey, reason)
	case err != nil:
		audit.AddAuditAnnotation(ctx, reasonKey, "internal error")
		return 0, nil, apierrors.NewInternalError(err)
	default:
		audit.AddAuditAnnotations(ctx, decisionKey, "forbid", reasonKey, reason)
		return 0, nil, responsewriters.ForbiddenStatusError(asked, reason)
	}
	if w.fault != nil {
		return 0, nil, w.fault
	}
	switch w.Verb {
	case "create":
		return h.createObject(ctx, w, asked)
	case "patch":
		return h.applyObject(ctx, w, asked)
	}
	return h.deleteObject(ctx, w, asked)
}

func (h *Handler) makeAttributes(w *Write, asked authorizer.AttributesRecord, object, old runtime.Object, operation admission.Operation,
	options runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(object, old, h.kind, w.Namespace, w.Name, h.Resource, "", operation, options,
		dryrun.IsDryRun(w.Options.DryRun), asked.User)
}
