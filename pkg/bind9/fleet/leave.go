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
	object T
	// covered is false if the object's namespace is out of reach, with the Kubernetes objects there.
	covered bool
	timeout time.Duration
	// childCount counts Kubizone objects to delete first, such as the instances of a cluster.
	childCount     int
	deleteChildren func() error
	// removeObjects returns the number of Kubernetes objects found.
	removeObjects func() (int, error)
	patch         patcher[T]
}

// finishObject takes the steps of a deletion, and removes the finalizer at the end. The result is the time until the
// next call. After the timeout the finalizer goes even if objects are left, so that they do not block the deletion of
// the namespace. Leftovers are an Event, and the sweep removes them.
func finishObject[T apiObject](ctx context.Context, f *Fleet, of finisher[T]) (time.Duration, error) {
	if !hasFinalizer(of.object) {
		return 0, nil
	}
	rest := of.timeout - f.Clock.Since(of.object.GetDeletionTimestamp().Time)

	// The namespace may be covered again before the timeout.
	if !of.covered && rest > 0 {
		return rest, nil
	}

	// 1. Children finish first, because their servers use the owner's TSIG key and disruption budget.
	left, err := of.childCount, error(nil)
	if left > 0 {
		err = of.deleteChildren()
		if rest > 0 {
			return askAgain, err
		}
	}

	// 2. Remove the Kubernetes objects.
	if of.covered {
		found, failed := of.removeObjects()
		left, err = left+found, errors.Join(err, failed)
	}

	// 3. Let the object go if nothing is left, or if the time is over.
	isEmpty := left == 0 && err == nil
	if !isEmpty && rest > 0 {
		return askAgain, err
	}
	if !isEmpty {
		f.Events.Eventf(of.object, nil, corev1.EventTypeWarning, ReasonLeft, "Delete", "%d objects are not removed within %s; "+
			"they are removed later: %v", left, of.timeout, err)
	}
	others := slices.DeleteFunc(slices.Clone(of.object.GetFinalizers()), func(one string) bool { return one == Finalizer })
	_, err = setFinalizers(ctx, of.object, others, of.patch)
	return 0, ignoreNotFound(err)
}
