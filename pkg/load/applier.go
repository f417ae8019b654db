// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/rrsets"
)

type applier struct {
	manager string
	// client is true if the Loader computes the patch, like kubectl apply without --server-side.
	client bool
	force  bool
}

func (l *Loader) applierOf(before metav1.Object) applier {
	as := applier{manager: l.cfg.FieldManager, force: l.cfg.ForceConflicts}
	if !l.cfg.AsLastApplied || before == nil {
		return as
	}
	var last *metav1.ManagedFieldsEntry
	for _, entry := range before.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && rrsets.TouchesSpec(entry.FieldsV1) &&
			(last == nil || last.Time.Before(entry.Time)) {
			last = &entry
		}
	}
	if last == nil {
		return applier{manager: "kubectl-client-side-apply", client: true}
	}
	as.manager = last.Manager
	return as
}

func clientPatch(o *unstructured.Unstructured, before metav1.Object) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	var last struct {
		Spec map[string]any `json:"spec"`
	}
	if json.Unmarshal([]byte(before.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]), &last) == nil {
		removeAbsent(spec, last.Spec)
	}
	return spec
}

func removeAbsent(patch, last map[string]any) {
	for field, had := range last {
		has, there := patch[field]
		inner, is := has.(map[string]any)
		if innerLast, was := had.(map[string]any); is && was {
			removeAbsent(inner, innerLast)
		} else if !there {
			patch[field] = nil
		}
	}
}

func mergePatch(object, patch map[string]any) {
	for field, value := range patch {
		inner, is := value.(map[string]any)
		if has, there := object[field].(map[string]any); is && there {
			mergePatch(has, inner)
		} else if value == nil {
			delete(object, field)
		} else {
			object[field] = value
		}
	}
}

func serverPatch(o *unstructured.Unstructured, before metav1.Object, manager string) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	own, others := make(map[string]any), make(map[string]bool)
	for _, entry := range before.GetManagedFields() {
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if entry.Subresource != "" || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for field := range fields.Spec {
			if field = strings.TrimPrefix(field, "f:"); entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
				own[field] = nil
			} else {
				others[field] = true
			}
		}
	}
	maps.DeleteFunc(own, func(field string, _ any) bool { return others[field] })
	removeAbsent(spec, own)
	return spec
}

func (l *Loader) recordAfter(o *unstructured.Unstructured, before *v1alpha1.Record) (*v1alpha1.Record, applier, error) {
	if before == nil {
		record := &v1alpha1.Record{}
		return record, l.applierOf(nil), runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, record, true)
	}
	as := l.applierOf(before)
	patch := clientPatch
	if !as.client {
		patch = func(o *unstructured.Unstructured, before metav1.Object) map[string]any {
			return serverPatch(o, before, as.manager)
		}
	}
	content, err := AsWritten(before)
	if err != nil {
		return nil, as, err
	}
	mergePatch(content, map[string]any{"spec": patch(o, before)})
	record := &v1alpha1.Record{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, record, true)
	record.Status = before.Status
	return record, as, err
}

// AsWritten returns an object, given as a pointer, without status and creation time.
func AsWritten(object any) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return content, nil
}
