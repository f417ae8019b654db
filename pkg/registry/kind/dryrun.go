// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Decide makes the decision of a commit. It fills the status of after or returns the API error of the commit, and
// changes nothing else. before is nil for a creation, after is nil for a removal.
type Decide[T Object] func(ctx context.Context, before, after T) error

// decideUpdate decides a dry run that the generic store answered with out.
func (r *REST[T]) decideUpdate(ctx context.Context, existing, out runtime.Object, created bool) error {
	var before, after T
	if !created {
		before = existing.(T)
	}
	// Without a finalizer, an object that is being deleted is removed by the update that took the last.
	if obj := out.(T); created || obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 {
		after = obj
	}
	return r.Decide(ctx, before, after)
}

// remember keeps the object that an update started from.
type remember struct {
	rest.UpdatedObjectInfo
	existing runtime.Object
}

func (r *remember) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	r.existing = existing.DeepCopyObject()
	return r.UpdatedObjectInfo.UpdatedObject(ctx, existing)
}
