// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"

	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/pkg/apis/rrsets"
)

// managerOf returns the field manager with which to apply an object. With AsLastApplied, this is the manager of the
// newest apply. If there was none, clientSide is true, and the Loader computes the patch, like kubectl apply without
// --server-side.
func (l *Loader) managerOf(before *unstructured.Unstructured) (manager string, clientSide bool) {
	if !l.cfg.AsLastApplied || before == nil {
		return l.cfg.FieldManager, false
	}
	applies := slices.DeleteFunc(before.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		isApply := entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		return !isApply || !rrsets.TouchesSpec(entry.FieldsV1)
	})
	if len(applies) == 0 {
		return "kubectl-client-side-apply", true
	}
	newest := slices.MaxFunc(applies, func(a, b metav1.ManagedFieldsEntry) int {
		return ptr.Deref(a.Time, metav1.Time{}).Compare(ptr.Deref(b.Time, metav1.Time{}).Time)
	})
	return newest.Manager, false
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
