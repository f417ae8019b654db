// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/apihelpers"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// createObject follows handlers.CreateResource after decoding.
func (h *Handler) createObject(ctx context.Context, w *Write, asked authorizer.AttributesRecord) (int, runtime.Object, error) {
	w.warnOfFields(ctx)
	object := w.Object
	if w.text == nil { // otherwise the decoder has set defaults
		h.Scheme.Default(object)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return 0, nil, err
	}
	// Log before the system fields are wiped, as the generic apiserver does.
	audit.LogRequestObject(ctx, object, h.Resource.GroupVersion(), h.Resource, "", h.Serializer)
	rest.WipeObjectMetaSystemFields(accessor)
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(w.Namespace, accessor); err != nil {
		return 0, nil, err
	}
	options := w.createOptions()
	attributes := h.makeAttributes(w, asked, object, nil, admission.Create, options)
	// Webhooks may add owner references again, so drop twins before and after them.
	dropTwins(ctx, accessor, handlers.DuplicateOwnerReferencesWarningFormat)
	h.manager.UpdateNoErrors(h.Storage.New(), object, cmp.Or(w.Options.FieldManager, w.ClientManager))
	if err := h.mutateObject(ctx, attributes); err != nil {
		return 0, nil, err
	}
	dropTwins(ctx, accessor, handlers.DuplicateOwnerReferencesAfterMutatingAdmissionWarningFormat)
	stored := *options
	stored.DryRun = nil // the commit is dry
	out, err := w.Storage.Create(ctx, object, rest.AdmissionToValidateObjectFunc(h.admit, attributes, h.interfaces), &stored)
	return http.StatusCreated, out, err
}

// applyObject follows handlers.PatchResource for server-side apply.
func (h *Handler) applyObject(ctx context.Context, w *Write, asked authorizer.AttributesRecord) (int, runtime.Object, error) {
	patch, err := w.readPatch(ctx)
	if err != nil {
		return 0, nil, err
	}
	if w.text != nil {
		ctx = kind.WithApplied(ctx, w.text)
	}
	// The storage runs merge, admit and dedup for each attempt, on the object as it is then.
	merge := func(ctx context.Context, _, current runtime.Object) (runtime.Object, error) {
		return h.mergePatch(ctx, w, patch, current)
	}
	admit := func(ctx context.Context, object, current runtime.Object) (runtime.Object, error) {
		attributes := h.makeAttributes(w, asked, object, current, admission.Update, w.updateOptions())
		if isNew(current) {
			attributes = h.makeAttributes(w, asked, object, nil, admission.Create, w.createOptions())
		}
		return object, h.mutateObject(ctx, attributes)
	}
	dedup := func(ctx context.Context, object, _ runtime.Object) (runtime.Object, error) {
		accessor, err := meta.Accessor(object)
		if err == nil {
			dropTwins(ctx, accessor, handlers.DuplicateOwnerReferencesAfterMutatingAdmissionWarningFormat)
		}
		return object, err
	}
	stored := w.updateOptions()
	stored.DryRun = nil // the commit is dry
	out, created, err := w.Storage.Update(ctx, w.Name, rest.DefaultUpdatedObjectInfo(nil, merge, admit, dedup),
		h.authorizeCreation(asked, rest.AdmissionToValidateObjectFunc(h.admit,
			h.makeAttributes(w, asked, nil, nil, admission.Create, w.createOptions()), h.interfaces)),
		rest.AdmissionToValidateObjectUpdateFunc(h.admit,
			h.makeAttributes(w, asked, nil, nil, admission.Update, w.updateOptions()), h.interfaces), true, stored)
	if created {
		return http.StatusCreated, out, err
	}
	return http.StatusOK, out, err
}

// mergePatch applies the patch to the current object, which is empty for a new object. The order of checks is that of
// the generic apiserver.
func (h *Handler) mergePatch(ctx context.Context, w *Write, patch, current runtime.Object) (runtime.Object, error) {
	out, err := h.manager.Apply(current, patch, w.Options.FieldManager, *w.Options.Force)
	if err != nil {
		return nil, err
	}
	if len(w.strict) > 0 && w.Options.FieldValidation == metav1.FieldValidationStrict {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", w.strict[0]))
	}
	w.warnOfFields(ctx)
	accessor, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	// The client applies to an object that it has read, and that is deleted meanwhile. An apply must not create
	// another.
	if uid := accessor.GetUID(); uid != "" && isNew(current) {
		return nil, apierrors.NewConflict(h.Resource.GroupResource(), w.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	return out, rest.EnsureObjectNamespaceMatchesRequestNamespace(w.Namespace, accessor)
}

// For a create the storage passes an empty object.
func isNew(current runtime.Object) bool {
	accessor, err := meta.Accessor(current)
	return err != nil || accessor.GetUID() == ""
}

// deleteObject follows handlers.DeleteResource.
func (h *Handler) deleteObject(ctx context.Context, w *Write, asked authorizer.AttributesRecord) (int, runtime.Object, error) {
	options := &metav1.DeleteOptions{DryRun: w.Options.DryRun, Preconditions: w.Preconditions}
	audit.LogRequestObject(ctx, options, metav1.SchemeGroupVersion, h.Resource, "", apihelpers.GetMetaInternalVersionCodecs())
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	attributes := h.makeAttributes(w, asked, nil, nil, admission.Delete, options)
	stored := *options
	stored.DryRun = nil // the commit is dry
	out, _, err := w.Storage.Delete(ctx, w.Name, rest.AdmissionToValidateObjectDeleteFunc(h.deletes, attributes, h.interfaces), &stored)
	return http.StatusOK, out, err
}

func (h *Handler) mutateObject(ctx context.Context, attributes admission.Attributes) error {
	if mutating, ok := h.admit.(admission.MutationInterface); ok && mutating.Handles(attributes.GetOperation()) {
		return mutating.Admit(ctx, attributes, h.interfaces)
	}
	return nil
}

// authorizeCreation returns validate with a check before it: an apply that creates needs the right to create, too.
func (h *Handler) authorizeCreation(asked authorizer.AttributesRecord, validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	asked.Verb = "create"
	return func(ctx context.Context, object runtime.Object) error {
		decision, reason, err := h.Authorizer.Authorize(ctx, asked)
		switch {
		case decision == authorizer.DecisionAllow:
			return validate(ctx, object)
		case err != nil:
			return apierrors.NewInternalError(err)
		}
		return responsewriters.ForbiddenStatusError(asked, reason)
	}
}

// readPatch returns the patch as an unstructured object, and logs its text if the audit level asks for requests.
func (w *Write) readPatch(ctx context.Context) (*unstructured.Unstructured, error) {
	patch, decoded := w.Object.(*unstructured.Unstructured)
	if !decoded {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Object)
		if err != nil {
			return nil, err
		}
		patch = &unstructured.Unstructured{Object: fields}
	}
	if event := audit.AuditContextFrom(ctx); event != nil && !event.GetEventLevel().Less(auditinternal.LevelRequest) {
		text, err := patch.MarshalJSON()
		if err != nil {
			return nil, err
		}
		event.LogRequestPatch(text)
	}
	return patch, nil
}

func (w *Write) createOptions() *metav1.CreateOptions {
	o := &w.Options
	options := &metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return options
}

func (w *Write) updateOptions() *metav1.UpdateOptions {
	o := &w.Options
	options := &metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return options
}

func (w *Write) warnOfFields(ctx context.Context) {
	if w.Options.FieldValidation == metav1.FieldValidationIgnore {
		return
	}
	for _, err := range w.strict {
		lines := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: unmarshal errors:\n")
		for line := range strings.SplitSeq(lines, "\n") {
			warning.AddWarning(ctx, "", strings.TrimSpace(line))
		}
	}
}

// dropTwins removes repeated owner references, with a Warning in the given format, as the generic apiserver does.
func dropTwins(ctx context.Context, of metav1.Object, format string) {
	var kept []metav1.OwnerReference
	var twins []string
	for _, one := range of.GetOwnerReferences() {
		if slices.ContainsFunc(kept, func(before metav1.OwnerReference) bool {
			return before.UID == one.UID && apiequality.Semantic.DeepEqual(before, one)
		}) {
			twins = append(twins, string(one.UID))
		} else {
			kept = append(kept, one)
		}
	}
	if len(twins) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf(format, strings.Join(twins, ", ")))
		of.SetOwnerReferences(kept)
	}
}
