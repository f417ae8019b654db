// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// reconcileInstance observes a server, decides and acts, until the decision is to wait. The result is the time until
// the next reconcile; 0 means at the next event.
func (f *Fleet) reconcileInstance(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	instance, err := f.instances.Bind9Instances(at.Namespace).Get(at.Name)
	if err != nil {
		f.silent.countAnswer(at, nil)
		return 0, ignoreNotFound(err) // the sweep removes leftovers
	}
	if instance.DeletionTimestamp != nil {
		return f.finishInstance(ctx, instance)
	}
	w := &facts{instance: instance, covered: f.children.covers(at.Namespace)}
	if ref := instance.Spec.ClusterRef; ref != nil {
		w.cluster = f.findCluster(at.Namespace, ref.Name)
	}
	for {
		f.observeServer(w)
		d := decideNext(w)
		switch d.action {
		case actionIgnore:
			return 0, nil
		case actionWait:
			return d.requeueAfter, errors.Join(d.err, f.writeInstance(ctx, w))
		}
		f.runAction(ctx, w, &d)
		// Without the finalizer, a deletion would leave the objects behind, so nothing is made.
		if w.hasFailed(actionAddFinalizer) {
			return 0, w.err
		}
	}
}

// runAction takes a step, and records the step and its error in w. decideNext judges the error.
func (f *Fleet) runAction(ctx context.Context, w *facts, d *decision) {
	switch w.lastAction = d.action; d.action {
	case actionAddFinalizer:
		var held *bind9.Bind9Instance
		if held, w.err = addFinalizer(ctx, w.instance, f.Client.Bind9V1alpha1().Bind9Instances(w.instance.Namespace).Patch); w.err == nil {
			w.instance = held
		}
	case actionRead:
		w.err = f.readServer(ctx, w)
	case actionReserve:
		w.blocked = f.reserveReplacement(w)
	case actionApply:
		w.err = f.children.applyAll(ctx, w.instance.Namespace, d.apply, func() error { return f.checkServing(ctx, w) })
		if w.isApplied() {
			f.noteKeys(ctx, w)
		}
	case actionDrain:
		w.err = f.children.drainFormer(ctx, &d.drain, w.now)
	case actionRemove:
		w.err = f.children.removeChildren(ctx, d.remove)
	}
}

func (f *Fleet) finishInstance(ctx context.Context, instance *bind9.Bind9Instance) (time.Duration, error) {
	return finishObject(ctx, f, finisher[*bind9.Bind9Instance]{object: instance, covered: f.children.covers(instance.Namespace),
		timeout: deletionLimit,
		patch:   f.Client.Bind9V1alpha1().Bind9Instances(instance.Namespace).Patch,
		removeObjects: func() (int, error) {
			left, err := f.children.removeAll(ctx, instance.Namespace, render.KindInstance+"/"+instance.Name)
			if left == 0 && err == nil {
				err = f.children.dropSuperseded(ctx, instance.Namespace, instance.Name)
			}
			return left, err
		}})
}

func (f *Fleet) writeInstance(ctx context.Context, w *facts) error {
	s, status := judgeInstance(w)
	next := w.instance.DeepCopy()
	next.Status = status
	next.Status.Conditions, next.Status.ObservedGeneration = s.conditions, next.Generation
	return writeStatus(ctx, f, s, w.instance, next, f.Client.Bind9V1alpha1().Bind9Instances(next.Namespace).UpdateStatus)
}
