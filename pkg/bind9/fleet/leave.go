// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

const (
	Finalizer     = bind9.GroupName + "/fleet"
	deletionLimit = 10 * time.Minute
)

// Outside our namespaces, the finalizer is that of another installation, which also writes the status.
func hasFinalizer(object metav1.Object) bool {
	return slices.Contains(object.GetFinalizers(), Finalizer)
}

type patcher[T any] = func(ctx context.Context, name string, of types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (T, error)

// addFinalizer returns the patched object, because an update of the status needs the new resourceVersion.
func addFinalizer[T metav1.Object](ctx context.Context, object T, patch patcher[T]) (T, error) {
	if hasFinalizer(object) {
		return object, nil
	}
	return setFinalizers(ctx, object, append(slices.Clone(object.GetFinalizers()), Finalizer), patch)
}

func setFinalizers[T metav1.Object](ctx context.Context, object T, finalizers []string, patch patcher[T]) (T, error) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers,
		"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID()}})
	if err != nil {
		panic(err)
	}
	return patch(ctx, object.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: FieldManager})
}

type deletionFacts struct {
	finalizer, covered bool
	// After timeout the finalizer is removed even if objects are left, so that they do not block the namespace's
	// deletion.
	age, timeout time.Duration
	// childCount counts Kubizone objects to delete first, such as the instances of a cluster. childrenDeleted is true
	// once their deletion was requested.
	childCount      int
	childrenDeleted bool
	// removed is true if the Kubernetes objects were deleted, or there are none. leftCount is the number found.
	removed   bool
	leftCount int
	err       error
}

type deletionStep string

const (
	deletionWait     deletionStep = "wait"
	deletionChildren deletionStep = "delete the children"
	deletionObjects  deletionStep = "remove the objects"
	deletionDone     deletionStep = "let it go"
)

// nextDeletionStep returns the next step of a deletion, and the time until the next call. Each step is taken once in a
// reconcile. After the timeout the object goes, whatever is left.
func nextDeletionStep(f *deletionFacts) (next deletionStep, requeueAfter time.Duration) {
	late := f.age >= f.timeout
	switch {
	case !f.finalizer:
		return deletionWait, 0
	// Objects in the namespace are out of reach. The namespace may be covered again before the timeout.
	case !f.covered && !late:
		return deletionWait, f.timeout - f.age
	case f.childCount > 0 && !f.childrenDeleted:
		return deletionChildren, 0
	// Children finish first, because their servers use the owner's TSIG key and disruption budget.
	case f.childCount > 0 && !late:
		return deletionWait, askAgain
	case f.covered && !f.removed:
		return deletionObjects, 0
	case (f.leftCount > 0 || f.err != nil) && !late:
		return deletionWait, askAgain
	}
	return deletionDone, 0
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

type deleter interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// deleteEach deletes the objects, each by UID. A missing or replaced object is no error.
func deleteEach[T metav1.Object, C deleter](ctx context.Context, objects []T, clientOf func(namespace string) C) error {
	var wrong []error
	for _, one := range objects {
		if one.GetDeletionTimestamp() != nil {
			continue
		}
		err := clientOf(one.GetNamespace()).Delete(ctx, one.GetName(), *metav1.NewPreconditionDeleteOptions(string(one.GetUID())))
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

type apiObject interface {
	metav1.Object
	runtime.Object
}

type finisher[T apiObject] struct {
	object     T
	timeout    time.Duration
	childCount int
	// removeObjects returns the number found. Either function is nil if there are no such objects.
	deleteChildren func() error
	removeObjects  func() (int, error)
	patch          patcher[T]
}

// finishObject takes the steps of a deletion, and removes the finalizer at the end. Leftovers after the timeout are an
// Event, and the sweep removes them.
func finishObject[T apiObject](ctx context.Context, f *Fleet, of finisher[T]) (time.Duration, error) {
	w := &deletionFacts{
		finalizer: hasFinalizer(of.object), covered: of.object.GetNamespace() == "" || f.children.covers(of.object.GetNamespace()),
		age: f.Clock.Since(of.object.GetDeletionTimestamp().Time), timeout: of.timeout, childCount: of.childCount,
		removed: of.removeObjects == nil,
	}
	for {
		switch next, requeueAfter := nextDeletionStep(w); next {
		case deletionWait:
			return requeueAfter, w.err
		case deletionChildren:
			w.childrenDeleted, w.err = true, of.deleteChildren()
		case deletionObjects:
			w.removed = true
			w.leftCount, w.err = of.removeObjects()
		case deletionDone:
			if left := w.childCount + w.leftCount; left > 0 || w.err != nil {
				f.Events.Eventf(of.object, nil, corev1.EventTypeWarning, ReasonLeft, "Delete", "%d objects are not removed within %s; "+
					"they are removed later: %v", left, of.timeout, w.err)
			}
			others := slices.DeleteFunc(slices.Clone(of.object.GetFinalizers()), func(one string) bool { return one == Finalizer })
			_, err := setFinalizers(ctx, of.object, others, of.patch)
			return 0, ignoreNotFound(err)
		}
	}
}
