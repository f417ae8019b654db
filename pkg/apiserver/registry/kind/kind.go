// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"slices"

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
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/apiserver/registry/fromcache"
)

// Object is a pointer to a struct with the fields Spec and Status.
type Object interface {
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// Kind declares a kind of objects. GroupVersion, Resource, Singular, New, NewList, Validate, ValidateUpdate, Columns
// and Row are required.
type Kind[T Object] struct {
	GroupVersion           schema.GroupVersion
	Resource, Singular     string
	ShortNames, Categories []string
	ClusterScoped          bool
	New                    func() T
	NewList                func() runtime.Object

	// KeepsParentLabel is true if only the server sets the label with the adopting zone.
	KeepsParentLabel bool
	// Keep restores further fields of after that only the server sets. For a new object, before is empty.
	Keep func(ctx context.Context, after, before T)
	// RequiresVersion refuses a PUT without resourceVersion.
	RequiresVersion bool
	Validate        func(T) field.ErrorList
	ValidateUpdate  func(after, before T) field.ErrorList
	// Warn returns warnings about a new or changed spec. WarnUpdate, if set, replaces Warn for all updates.
	Warn       func(T) []string
	WarnUpdate func(ctx context.Context, after, before T) []string
	// Check checks other objects and rights, after admission. For a new object, before is empty.
	Check func(ctx context.Context, after, before T) error
	// IsProtected and CheckDeletion refuse a deletion. They see the object as it is at the deletion.
	IsProtected   func(T) bool
	CheckDeletion func(ctx context.Context, obj T, dry bool) error
	Subresources  map[string]Subresource[T]

	// Fields are selectable beside metadata.name and metadata.namespace.
	Fields  map[string]func(T) string
	Indexes []Index[T]
	// Columns and Row are the output of `kubectl get`.
	Columns []metav1.TableColumnDefinition
	Row     func(T) []any
}

// Index is an index of the watch cache. A list that selects one of Values reads no other objects.
type Index[T Object] struct {
	Field string
	// Values should select few objects, because each indexed object takes memory.
	Values []string
	Get    func(T) string
}

type REST[T Object] struct {
	*genericregistry.Store
	of     *Kind[T]
	Decide Decide[T] // of dry runs; with nil they only validate
}

var (
	_ rest.StandardStorage      = (*REST[Object])(nil)
	_ rest.ShortNamesProvider   = (*REST[Object])(nil)
	_ rest.CategoriesProvider   = (*REST[Object])(nil)
	_ rest.SingularNameProvider = (*REST[Object])(nil)
)

// AddStorage adds a kind and its subresources to paths. If decide is nil, dry runs only validate.
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
		PredicateFunc:             k.selectObjects,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: k.AttributesOf,
		Indexers: k.makeIndexers()}); err != nil {
		return nil, fmt.Errorf("storage of %s: %w", k.Resource, err)
	}
	r := &REST[T]{store, k, decide}
	paths[k.Resource] = r
	for name := range k.Subresources {
		paths[k.Resource+"/"+name] = newSubresource(store, strategy.Sub(name))
	}
	return r, nil
}

// Through returns a REST whose reads and writes of stored objects go through a further layer above the watch cache.
func (r *REST[T]) Through(layer func(cached storage.Interface) storage.Interface) *REST[T] {
	store := *r.Store
	store.Storage.Storage = fromcache.Within(store.Storage.Storage, layer)
	return &REST[T]{&store, r.of, r.Decide}
}

func (k *Kind[T]) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersion.Group, Resource: k.Resource}
}

// makeIndexers returns the indexes of the watch cache. Only objects with one of Index.Values are indexed: the few
// Records with Ready False, not the million with True.
func (k *Kind[T]) makeIndexers() *cache.Indexers {
	all := cache.Indexers{}
	for i := range k.Indexes {
		of := &k.Indexes[i]
		all[storage.FieldIndex(of.Field)] = func(obj any) ([]string, error) {
			if value := of.Get(obj.(T)); slices.Contains(of.Values, value) {
				return []string{value}, nil
			}
			return nil, nil
		}
	}
	return &all
}

func (k *Kind[T]) selectObjects(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	selection := storage.SelectionPredicate{Label: label, Field: field, GetAttrs: k.AttributesOf}
	for i := range k.Indexes {
		of := &k.Indexes[i]
		if value, exact := field.RequiresExactMatch(of.Field); exact && slices.Contains(of.Values, value) {
			selection.IndexFields = append(selection.IndexFields, of.Field)
		}
	}
	return selection
}

// AttributesOf returns the labels and fields by which selectors choose objects.
func (k *Kind[T]) AttributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	of, ok := obj.(T)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no object of %s", obj, k.Resource)
	}
	set := generic.AddObjectMetaFieldsSet(fields.Set{}, metaOf(of), !k.ClusterScoped)
	for name, get := range k.Fields {
		// A selector reads an absent field as "", and the watch cache keeps each map.
		if value := get(of); value != "" {
			set[name] = value
		}
	}
	return of.GetLabels(), set, nil
}

func (k *Kind[T]) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return makeTable(k.Columns, obj, options, k.Row)
}

func (r *REST[T]) ShortNames() []string { return r.of.ShortNames }

func (r *REST[T]) Categories() []string { return r.of.Categories }

// Create also decides a dry run as the commit would, after all checks of a real create.
func (r *REST[T]) Create(ctx context.Context, obj runtime.Object, further rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	ctx, errs := withErrors(ctx)
	out, err := r.Store.Create(ctx, obj, r.checkNew(further), options)
	errs.addRules(err)
	if err == nil && r.Decide != nil && dryrun.IsDryRun(options.DryRun) {
		var none T
		err = r.Decide(ctx, none, out.(T))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Update also decides a dry run as the commit would. info may run several times, and the last run has the object before
// the update.
func (r *REST[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	info = explained{info}
	seen := &remember{UpdatedObjectInfo: info}
	dry := r.Decide != nil && dryrun.IsDryRun(options.DryRun)
	if dry {
		info = seen
	}
	ctx, errs := withErrors(ctx)
	out, created, err := r.Store.Update(ctx, name, info, r.checkNew(onCreate), checkUpdate(r.of.Check, onUpdate), forceAllowCreate, options)
	errs.addRules(err)
	if err == nil && dry {
		err = r.decideUpdate(ctx, seen.existing, out, created)
	}
	if err != nil {
		return nil, false, err
	}
	return out, created, nil
}

// Delete also decides a dry run as the commit would. A real deletion begins from the watch cache, which saves a read of
// etcd.
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
	if err == nil && immediately { // removed, not only marked for deletion
		var none T
		err = r.Decide(ctx, before.(T), none)
	}
	return out, immediately, err
}

func (r *REST[T]) DeleteCollection(ctx context.Context, further rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	list *internalversion.ListOptions) (runtime.Object, error) {
	return r.Store.DeleteCollection(ctx, r.checkDeletion(further, options), options, list)
}

// ValidateObject runs admission for an object that is not stored, such as a review. If validate is nil, the object
// passes.
func ValidateObject(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc) error {
	if validate == nil {
		return nil
	}
	return validate(ctx, object.DeepCopyObject())
}

// checkNew returns further with the kind's Check after it, since admission may change the object. If the kind has no
// Check, it returns further, which may be nil.
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

// checkUpdate is checkNew for an update.
func checkUpdate[T Object](check func(ctx context.Context, after, before T) error, further rest.ValidateObjectUpdateFunc,
) rest.ValidateObjectUpdateFunc {
	if check == nil {
		return further
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		if further != nil {
			if err := further(ctx, obj, old); err != nil {
				return err
			}
		}
		return check(ctx, obj.(T), old.(T))
	}
}

// checkDeletion returns further with the kind's checks before it. A protected object is refused, with the command to
// end the protection (S8.1).
func (r *REST[T]) checkDeletion(further rest.ValidateObjectFunc, options *metav1.DeleteOptions) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		object := obj.(T)
		if r.of.IsProtected != nil && r.of.IsProtected(object) {
			where := object.GetName()
			if !r.of.ClusterScoped {
				where += " -n " + object.GetNamespace()
			}
			return apierrors.NewForbidden(r.of.resource(), object.GetName(), fmt.Errorf("spec.deletionProtection is on; turn it off "+
				"first: kubectl patch %s %s --type merge -p '{\"spec\":{\"deletionProtection\":false}}'", r.of.Singular, where))
		}
		if r.of.CheckDeletion != nil {
			if err := r.of.CheckDeletion(ctx, object, options != nil && dryrun.IsDryRun(options.DryRun)); err != nil {
				return err
			}
		}
		if further == nil {
			return nil
		}
		return further(ctx, obj)
	}
}
