// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type Strategy[T Object] struct {
	runtime.ObjectTyper
	names.NameGenerator
	Kind *Kind[T]
}

var (
	_ rest.RESTCreateStrategy  = Strategy[Object]{}
	_ rest.RESTUpdateStrategy  = Strategy[Object]{}
	_ rest.RESTDeleteStrategy  = Strategy[Object]{}
	_ rest.ResetFieldsStrategy = Strategy[Object]{}
)

func (s Strategy[T]) NamespaceScoped() bool { return !s.Kind.ClusterScoped }

func (s Strategy[T]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	of := obj.(T)
	s.keepServerFields(ctx, of, s.Kind.New())
	of.SetGeneration(1)
	statusOf(of).FieldByName("Conditions").Set(reflect.ValueOf(InitialConditions(of)))
}

// InitialConditions returns Ready=Unknown for a new object, because tools treat an object without conditions as ready.
func InitialConditions(of metav1.Object) []metav1.Condition {
	return []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending,
		Message: "no controller has judged it yet", ObservedGeneration: of.GetGeneration(), LastTransitionTime: of.GetCreationTimestamp(),
	}}
}

// PrepareForUpdate restores fields that only the server sets, and counts changes of spec.
func (s Strategy[T]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.keepServerFields(ctx, obj.(T), old.(T))
}

// keepServerFields restores status and other fields that clients do not set, and raises the generation if the spec has
// changed.
func (s Strategy[T]) keepServerFields(ctx context.Context, after, before T) {
	statusOf(after).Set(statusOf(before))
	generation := before.GetGeneration()
	if !equality.Semantic.DeepEqual(specOf(after).Interface(), specOf(before).Interface()) {
		generation++
	}
	after.SetGeneration(generation)
	if s.Kind.KeepsParentLabel {
		keepParentLabel(metaOf(after), metaOf(before))
	}
	if s.Kind.Keep != nil {
		s.Kind.Keep(ctx, after, before)
	}
}

func (s Strategy[T]) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	errs := s.Kind.Validate(obj.(T))
	if obj.(T).GetResourceVersion() != "" { // the storage would answer 500, and a dry run 201
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "resourceVersion"), "a new object has none yet: leave it out"))
	}
	return noteErrors(ctx, errs)
}

func (s Strategy[T]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return noteErrors(ctx, s.Kind.ValidateUpdate(obj.(T), old.(T)))
}

func (s Strategy[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.Kind.Warn == nil {
		return nil
	}
	return s.Kind.Warn(obj.(T))
}

func (s Strategy[T]) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	switch {
	case s.Kind.WarnUpdate != nil:
		return s.Kind.WarnUpdate(ctx, obj.(T), old.(T))
	case SpecChanged(obj.(T), old.(T)):
		return s.WarningsOnCreate(ctx, obj)
	}
	return nil
}

func (Strategy[T]) Canonicalize(runtime.Object) {}

func (Strategy[T]) AllowCreateOnUpdate(context.Context) bool { return false }

func (s Strategy[T]) AllowUnconditionalUpdate(context.Context) bool { return !s.Kind.RequiresVersion }

func (s Strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if s.Kind.KeepsParentLabel {
		set.Insert(fieldpath.MakePathOrDie("metadata", "labels", v1alpha1.LabelParentZone))
	}
	return s.inVersion(set)
}

func (s Strategy[T]) inVersion(set *fieldpath.Set) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.Kind.GroupVersion.String()): set}
}

func SpecChanged[T Object](after, before T) bool {
	return after.GetGeneration() != before.GetGeneration()
}

func specOf(obj Object) reflect.Value   { return reflect.ValueOf(obj).Elem().FieldByName("Spec") }
func statusOf(obj Object) reflect.Value { return reflect.ValueOf(obj).Elem().FieldByName("Status") }

func metaOf(obj Object) *metav1.ObjectMeta { return obj.GetObjectMeta().(*metav1.ObjectMeta) }
