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
	// Finalizer keeps an object of ours until what was made for it is gone.
	Finalizer = bind9.GroupName + "/fleet"
	// leaveAfter is how long a finalizer waits for what cannot be removed; the sweep removes it later.
	leaveAfter = 10 * time.Minute
)

// hasFinalizer reports whether a fleet works for an object, or has done so. In a namespace that is not covered that is the
// fleet of another installation, which writes the status and lets the object go.
func hasFinalizer(object metav1.Object) bool {
	return slices.Contains(object.GetFinalizers(), Finalizer)
}

// patcher is Patch of the client of a kind.
type patcher[T any] = func(ctx context.Context, name string, of types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (T, error)

// addFinalizer puts the finalizer on an object that has none yet, and returns the object as it is then: its status is written
// next, and of an object as it was before the API would refuse that.
func addFinalizer[T metav1.Object](ctx context.Context, object T, patch patcher[T]) (T, error) {
	if hasFinalizer(object) {
		return object, nil
	}
	return setFinalizers(ctx, object, append(slices.Clone(object.GetFinalizers()), Finalizer), patch)
}

// setFinalizers sets the finalizers of an object as it was read; of one that has changed since it is refused.
func setFinalizers[T metav1.Object](ctx context.Context, object T, finalizers []string, patch patcher[T]) (T, error) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers,
		"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID()}})
	if err != nil {
		panic(err) // strings marshal
	}
	return patch(ctx, object.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: FieldManager})
}

// leavingFacts are what the end of an object that is being deleted rests on.
type leavingFacts struct {
	held, covered bool
	// age is how long it has been deleted, timeout after which age it goes though something is left: an object that
	// can never be deleted would hold up its namespace.
	age, timeout time.Duration
	// children are the objects of ours that it stands for: they go first. asked: they were deleted in this look.
	children int
	asked    bool
	// removed: what was made for it was removed in this look, or nothing is. left is how much of it was there.
	removed bool
	left    int
	// err is how the last step went.
	err error
}

// leaving is what is done next for such an object.
type leaving string

const (
	leaveRest     leaving = "wait"
	leaveChildren leaving = "delete the children"
	leaveObjects  leaving = "remove the objects"
	leaveNow      leaving = "let it go"
)

// nextLeaving decides what is done next, and when to look again (S11.12). An object of a namespace that is not covered
// is left to the fleet of another installation; after its timeout there is none, and it may go.
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

// deleter is the client of a kind in a namespace.
type deleter interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// deleteEach deletes objects that do not go already. One that is gone, or another by now, is no failure.
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

// leaver is an object that is being deleted, and how what it stands for is removed.
type leaver[T held] struct {
	object   T
	timeout  time.Duration
	children int
	// deleteChildren deletes the children, removeObjects what was made for it, and returns how much was there; nil:
	// nothing is.
	deleteChildren func() error
	removeObjects  func() (int, error)
	patch          patcher[T]
}

// finishObject removes what an object stands for, and then lets it go. What cannot be removed the sweep removes later.
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
