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
	// Finalizer keeps a deleted object until all children are gone.
	Finalizer  = bind9.GroupName + "/fleet"
	leaveAfter = 10 * time.Minute
)

// hasFinalizer reports whether a fleet has reconciled an object: outside our namespaces another installation's, which
// also writes the status and removes the finalizer.
func hasFinalizer(object metav1.Object) bool {
	return slices.Contains(object.GetFinalizers(), Finalizer)
}

type patcher[T any] = func(ctx context.Context, name string, of types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (T, error)

// addFinalizer returns the patched object: an update of the status needs its new resourceVersion.
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

type leavingFacts struct {
	held, covered bool
	// After timeout the finalizer is removed even if objects are left, not to block the namespace's deletion.
	age, timeout time.Duration
	// childCount is of objects of our API that must go first. Their deletion was requested if childrenDeleted.
	children int
	asked    bool
	// removed is true if the Kubernetes objects were deleted, or there are none. leftCount is the number found.
	removed bool
	left    int
	err     error
}

type leaving string

const (
	leaveRest     leaving = "wait"
	leaveChildren leaving = "delete the children"
	leaveObjects  leaving = "remove the objects"
	leaveNow      leaving = "let it go"
)

// nextDeletionStep returns the next step (S11.12), and the delay until the next reconcile; 0 means none.
func nextLeaving(f *leavingFacts) (next leaving, requeueAfter time.Duration) {
	late := f.age >= f.timeout
	switch {
	case !f.held:
		return leaveRest, 0
	case !f.covered && !late:
		return leaveRest, f.timeout - f.age
	case f.children > 0 && !f.asked:
		return leaveChildren, 0
	case f.children > 0 && !late:
		return leaveRest, askAgain
	case f.covered && !f.removed:
		return leaveObjects, 0
	case (f.left > 0 || f.err != nil) && !late:
		return leaveRest, askAgain
	}
	return leaveNow, 0
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

type held interface {
	metav1.Object
	runtime.Object
}

type leaver[T held] struct {
	object   T
	timeout  time.Duration
	children int
	// removeObjects returns the number of objects found; nil if there are none.
	deleteChildren func() error
	removeObjects  func() (int, error)
	patch          patcher[T]
}

func finishObject[T held](ctx context.Context, f *Fleet, of leaver[T]) (time.Duration, error) {
	w := &leavingFacts{
		held: hasFinalizer(of.object), covered: of.object.GetNamespace() == "" || f.children.covers(of.object.GetNamespace()),
		age: f.Clock.Since(of.object.GetDeletionTimestamp().Time), timeout: of.timeout, children: of.children,
		removed: of.removeObjects == nil,
	}
	for {
		switch next, requeueAfter := nextLeaving(w); next {
		case leaveRest:
			return requeueAfter, w.err
		case leaveChildren:
			w.asked, w.err = true, of.deleteChildren()
		case leaveObjects:
			w.removed = true
			w.left, w.err = of.removeObjects()
		case leaveNow:
			if left := w.children + w.left; left > 0 || w.err != nil {
				f.Events.Eventf(of.object, nil, corev1.EventTypeWarning, ReasonLeft, "Delete", "%d objects are not removed within %s; "+
					"they are removed later: %v", left, of.timeout, w.err)
			}
			others := slices.DeleteFunc(slices.Clone(of.object.GetFinalizers()), func(one string) bool { return one == Finalizer })
			_, err := setFinalizers(ctx, of.object, others, of.patch)
			return 0, ignoreNotFound(err)
		}
	}
}
