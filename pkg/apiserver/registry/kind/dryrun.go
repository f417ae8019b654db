// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Decide answers a dry run as the ledger would answer the write. It sets the status of after, or returns an error. For
// a create, before is nil; for a removal, after is nil.
type Decide[T Object] func(ctx context.Context, before, after T) error

func (r *REST[T]) decideUpdate(ctx context.Context, existing, out runtime.Object, created bool) error {
	var before, after T
	if !created {
		before = existing.(T)
	}
	// The store removes an object in deletion when the last finalizer goes.
	if obj := out.(T); created || obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 {
		after = obj
	}
	return r.Decide(ctx, before, after)
}

type remember struct {
	rest.UpdatedObjectInfo
	existing runtime.Object
}

func (r *remember) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	r.existing = existing.DeepCopyObject()
	return r.UpdatedObjectInfo.UpdatedObject(ctx, existing)
}
