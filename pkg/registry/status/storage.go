// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// REST is the storage of a resource's subresource status.
type REST struct {
	store *genericregistry.Store
}

var (
	_ rest.Patcher             = (*REST)(nil)
	_ rest.ResetFieldsStrategy = (*REST)(nil)
	_ rest.TableConvertor      = (*REST)(nil)
)

// Strategy is the strategy of updates of a status.
type Strategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

// NewREST makes the subresource of the resource in the store of. The resource destroys the store.
func NewREST(of *genericregistry.Store, strategy Strategy) *REST {
	store := *of
	store.UpdateStrategy, store.ResetFieldsStrategy = strategy, strategy
	return &REST{&store}
}

// New makes an empty object.
func (s *REST) New() runtime.Object { return s.store.New() }

// Destroy leaves the store alone.
func (s *REST) Destroy() {}

// Get reads an object.
func (s *REST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update writes the status of an object that exists. A write that names the uid of another object, such as one that
// was deleted and made anew, is a Conflict.
func (s *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	info = rest.WrapUpdatedObjectInfo(info, func(_ context.Context, written, stored runtime.Object) (runtime.Object, error) {
		return written, s.sameObject(name, written, stored)
	})
	// Server-side apply of a status must not create the object.
	return s.store.Update(ctx, name, info, createValidation, updateValidation, false, options)
}

// sameObject compares uids as a precondition of an update does. A patch has no preconditions, and validation would
// answer Invalid, which blames the writer.
func (s *REST) sameObject(name string, written, stored runtime.Object) error {
	after, err := meta.Accessor(written)
	if err != nil {
		return err
	}
	before, err := meta.Accessor(stored)
	if err != nil {
		return err
	}
	if uid := after.GetUID(); uid != "" && before.GetUID() != "" && uid != before.GetUID() {
		return apierrors.NewConflict(s.store.DefaultQualifiedResource, name,
			fmt.Errorf("precondition failed: the uid in the request is %s, that of the object is %s", uid, before.GetUID()))
	}
	return nil
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (s *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.store.GetResetFields()
}

// ConvertToTable makes what `kubectl get --subresource=status` prints.
func (s *REST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, obj, options)
}
