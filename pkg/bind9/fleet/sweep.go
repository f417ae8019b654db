// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// Limits of the sweep. A mistake would remove running DNS servers.
const (
	confirmAfter  = 10 * time.Minute
	hourlyShare   = 0.05
	sweepInterval = 2 * time.Minute
)

type orphan struct{ namespace, owner string }

type sweeper struct {
	missingSince map[orphan]time.Time
	lastRemoval  time.Time
}

func (f *Fleet) sweepUntil(ctx context.Context) {
	s := &sweeper{missingSince: map[orphan]time.Time{}}
	for {
		if err := f.sweepOrphans(ctx, s); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "fleet: objects of deleted servers stay for now")
		}
		select {
		case <-ctx.Done():
			return
		case <-f.Clock.After(sweepInterval):
		}
	}
}

// sweepOrphans removes the objects of a single missing owner at most (F5). Only sweepUntil calls it, so s needs no
// lock.
func (f *Fleet) sweepOrphans(ctx context.Context, s *sweeper) error {
	owners := map[orphan]bool{} // true: gone
	for _, one := range f.children.listOwners() {
		owners[orphan{one.GetNamespace(), one.GetAnnotations()[render.AnnotationOwner]}] = false
	}

	// A store without any instance is more likely new or not yet restored than emptied by users.
	if any, err := f.instances.List(labels.Everything()); err != nil || len(any) == 0 {
		clear(s.missingSince)
		if len(owners) > 0 {
			return errors.Join(err, fmt.Errorf("fleet: %d servers and clusters have objects in the cluster, "+
				"and the API has no Bind9Instance: nothing is removed; remove them by their label %s=%s if they are not wanted",
				len(owners), render.LabelInstallation, f.Platform.Installation))
		}
		return err
	}

	// Ask the API about each owner missing in the informers.
	var wrong []error
	for owner := range owners {
		gone, err := f.isGone(ctx, owner)
		owners[owner], wrong = gone, append(wrong, err)
		if _, before := s.missingSince[owner]; gone && !before {
			klog.FromContext(ctx).Info("the owner of objects is gone; they are removed if it stays so", "namespace", owner.namespace,
				"owner", owner.owner, "for", confirmAfter)
		}
	}

	// Remove the objects of one of them.
	if ripe := s.nextSweep(owners, f.Clock.Now()); ripe != (orphan{}) {
		left, err := f.children.removeAll(ctx, ripe.namespace, ripe.owner)
		klog.FromContext(ctx).Info("removed an object of a deleted server", "namespace", ripe.namespace, "owner", ripe.owner,
			"objects", left)
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// nextSweep returns the owner whose objects to remove now, the longest missing first, or the zero orphan.
func (s *sweeper) nextSweep(owners map[orphan]bool, now time.Time) orphan {
	maps.DeleteFunc(s.missingSince, func(owner orphan, _ time.Time) bool { return !owners[owner] })

	var ripe []orphan
	for owner, gone := range owners {
		first, before := s.missingSince[owner]
		switch {
		case gone && !before:
			s.missingSince[owner] = now
		case gone && now.Sub(first) >= confirmAfter:
			ripe = append(ripe, owner)
		}
	}

	// Of 100 servers with objects, five go in an hour at most.
	pace := time.Duration(float64(time.Hour) / (hourlyShare * float64(len(owners))))
	if len(ripe) == 0 || !s.lastRemoval.IsZero() && now.Sub(s.lastRemoval) < pace {
		return orphan{}
	}
	s.lastRemoval = now
	return slices.MinFunc(ripe, func(x, y orphan) int {
		return cmp.Or(s.missingSince[x].Compare(s.missingSince[y]), cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.owner, y.owner))
	})
}

// isGone reports whether the API says that an owner does not exist. Any other failure is an error, and the objects
// stay.
func (f *Fleet) isGone(ctx context.Context, of orphan) (bool, error) {
	kind, name, _ := strings.Cut(of.owner, "/")
	if f.findOwner(of.namespace, of.owner) {
		return false, nil
	}

	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var err error
	resource := "bind9instances"
	switch kind {
	case render.KindInstance:
		_, err = f.Client.Bind9V1alpha1().Bind9Instances(of.namespace).Get(ctx, name, metav1.GetOptions{})
	case render.KindCluster:
		resource = "bind9clusters"
		_, err = f.Client.Bind9V1alpha1().Bind9Clusters(of.namespace).Get(ctx, name, metav1.GetOptions{})
	// An annotation of another program, or of a later version: not ours to judge.
	default:
		return false, nil
	}

	if err == nil {
		return false, nil
	}

	// A 404 of a proxy, or of an API server without the group, does not name this object.
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false, fmt.Errorf("asking about %s %s/%s: %w", kind, of.namespace, name, err)
	}
	named := ptr.Deref(status.Status().Details, metav1.StatusDetails{})
	if [3]string{named.Group, named.Kind, named.Name} != [3]string{bind9.GroupName, resource, name} {
		return false, fmt.Errorf("a 404 that does not say that %s %s/%s is not found is no answer of the API: %w", kind, of.namespace, name,
			err)
	}
	return true, nil
}
