// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kubi.zone/kubizone/pkg/registry/fromcache"
)

// Object is an object of a kind: a pointer to a struct with the fields Spec and Status.
type Object interface {
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// Kind is what one kind has for itself. Fields are optional where nothing else is said.
type Kind[T Object] struct {
	// GroupVersion, Resource and Singular are required, and so are New and NewList.
	GroupVersion           schema.GroupVersion
	Resource, Singular     string
	ShortNames, Categories []string
	ClusterScoped          bool
	New                    func() T
	NewList                func() runtime.Object

	// Adopted: the label of the adopting zone is the server's (S6.12).
	Adopted bool
	// Keep sets what else the server decides of an object. before is empty for a new one.
	Keep func(ctx context.Context, after, before T)
	// Conditional: a PUT without resourceVersion is refused. Else it replaces what is there, as with built-in kinds.
	Conditional bool
	// Validate and ValidateUpdate are required.
	Validate       func(T) field.ErrorList
	ValidateUpdate func(after, before T) field.ErrorList
	// Warn warns about a new or changed spec, and WarnUpdate, in place of it, of any update.
	Warn       func(T) []string
	WarnUpdate func(ctx context.Context, after, before T) []string
	// Check asks others about an object, after admission, which may change it. before is empty for a new one.
	Check func(ctx context.Context, after, before T) error
	// Protected: no deletion is accepted. It is asked of the object that is deleted, not of one read before, and so is
	// CheckDeletion.
	Protected     func(T) bool
	CheckDeletion func(ctx context.Context, obj T, dry bool) error
	// Subresources are those that write a part of the object, by name.
	Subresources map[string]Subresource[T]

	// Fields are those that selectors match, beside name and namespace.
	Fields func(T) fields.Set
	// Columns and Row are what `kubectl get` prints. Both are required.
	Columns []metav1.TableColumnDefinition
	Row     func(T) []any
}

// REST is the storage of a kind.
type REST[T Object] struct {
	*genericregistry.Store
	of     *Kind[T]
	Decide Decide[T] // of a dry run
}

var (
	_ rest.StandardStorage      = (*REST[Object])(nil)
	_ rest.ShortNamesProvider   = (*REST[Object])(nil)
	_ rest.CategoriesProvider   = (*REST[Object])(nil)
	_ rest.SingularNameProvider = (*REST[Object])(nil)
)

// AddStorage makes the storage of a kind and of its subresources, and adds them to paths. scheme knows the kind, and
// options says where and how objects are stored. decide decides a dry run; nil: it is answered from the object alone.
func (k *Kind[T]) AddStorage(paths map[string]rest.Storage, scheme *runtime.Scheme, options generic.RESTOptionsGetter,
	decide Decide[T]) (*REST[T], error) {
	strategy := Strategy[T]{scheme, names.SimpleNameGenerator, k}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return k.New() },
		NewListFunc:               k.NewList,
		DefaultQualifiedResource:  k.resource(),
		SingularQualifiedResource: schema.GroupResource{Group: k.GroupVersion.Group, Resource: k.Singular},
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            k,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: k.AttributesOf}); err != nil {
		return nil, fmt.Errorf("storage of %s: %w", k.Resource, err)
	}
	r := &REST[T]{store, k, decide}
	paths[k.Resource] = r
	for name := range k.Subresources {
		paths[k.Resource+"/"+name] = newSubresource(store, strategy.Sub(name))
	}
	return r, nil
}

func (k *Kind[T]) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersion.Group, Resource: k.Resource}
}

// AttributesOf returns the labels and fields of an object that selectors match.
func (k *Kind[T]) AttributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	of, ok := obj.(T)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no object of %s", obj, k.Resource)
	}
	set := generic.AddObjectMetaFieldsSet(fields.Set{}, metaOf(of), !k.ClusterScoped)
	if k.Fields != nil {
		maps.Copy(set, k.Fields(of))
	}
	return of.GetLabels(), set, nil
}

// ConvertToTable makes what `kubectl get` prints.
func (k *Kind[T]) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return makeTable(k.Columns, obj, options, k.Row)
}

// ShortNames of the resource.
func (r *REST[T]) ShortNames() []string { return r.of.ShortNames }

// Categories the resource belongs to.
func (r *REST[T]) Categories() []string { return r.of.Categories }

// Create creates an object, or decides a dry run.
func (r *REST[T]) Create(ctx context.Context, obj runtime.Object, further rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	out, err := r.Store.Create(ctx, obj, r.checkNew(further), options)
	if err == nil && r.Decide != nil && dryrun.IsDryRun(options.DryRun) {
		var none T
		err = r.Decide(ctx, none, out.(T))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Update updates an object, creates it for a server-side apply, or decides a dry run.
func (r *REST[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	info = explained{info}
	seen := &remember{UpdatedObjectInfo: info}
	dry := r.Decide != nil && dryrun.IsDryRun(options.DryRun)
	if dry {
		info = seen
	}
	out, created, err := r.Store.Update(ctx, name, info, r.checkNew(onCreate), r.checkUpdate(onUpdate), forceAllowCreate, options)
	if err == nil && dry {
		err = r.decideUpdate(ctx, seen.existing, out, created)
	}
	if err != nil {
		return nil, false, err
	}
	return out, created, nil
}

// Delete deletes an object, marks it as being deleted, or decides a dry run.
func (r *REST[T]) Delete(ctx context.Context, name string, further rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object,
	bool, error) {
	further = r.checkDeletion(further, options)
	if r.Decide == nil || !dryrun.IsDryRun(options.DryRun) {
		return fromcache.Delete(ctx, r.Store, name, further, options)
	}
	before, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	out, immediately, err := r.Store.Delete(ctx, name, further, options)
	if err == nil && immediately {
		var none T
		err = r.Decide(ctx, before.(T), none)
	}
	return out, immediately, err
}

// DeleteCollection refuses as Delete does, object by object.
func (r *REST[T]) DeleteCollection(ctx context.Context, further rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	list *internalversion.ListOptions) (runtime.Object, error) {
	return r.Store.DeleteCollection(ctx, r.checkDeletion(further, options), options, list)
}

func (r *REST[T]) checkNew(further rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	if r.of.Check == nil {
		return further
	}
	return func(ctx context.Context, obj runtime.Object) error {
		if further != nil {
			if err := further(ctx, obj); err != nil {
				return err
			}
		}
		return r.of.Check(ctx, obj.(T), r.of.New())
	}
}

func (r *REST[T]) checkUpdate(further rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	if r.of.Check == nil {
		return further
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		if further != nil {
			if err := further(ctx, obj, old); err != nil {
				return err
			}
		}
		return r.of.Check(ctx, obj.(T), old.(T))
	}
}

func (r *REST[T]) checkDeletion(further rest.ValidateObjectFunc, options *metav1.DeleteOptions) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		of := obj.(T)
		if r.of.Protected != nil && r.of.Protected(of) {
			where := of.GetName()
			if !r.of.ClusterScoped {
				where += " -n " + of.GetNamespace()
			}
			return apierrors.NewForbidden(r.of.resource(), of.GetName(), fmt.Errorf("spec.deletionProtection is on; turn it off first: "+
				"kubectl patch %s %s --type merge -p '{\"spec\":{\"deletionProtection\":false}}'", r.of.Singular, where))
		}
		if r.of.CheckDeletion != nil {
			if err := r.of.CheckDeletion(ctx, of, options != nil && dryrun.IsDryRun(options.DryRun)); err != nil {
				return err
			}
		}
		if further == nil {
			return nil
		}
		return further(ctx, obj)
	}
}
