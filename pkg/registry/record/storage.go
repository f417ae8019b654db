// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/registry/preview"
)

// Config is what the storage of Records is made of. Every field is required.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how Records are stored.
	RESTOptions generic.RESTOptionsGetter
	// Preview decides a dry run.
	Preview preview.Decide[*v1alpha1.Record]
}

// Storage is the REST storage of Records, by resource name.
type Storage struct {
	Record *REST
	Status *StatusREST
}

// REST is the storage of records.
type REST struct {
	*preview.Store[*v1alpha1.Record]
}

// StatusREST is the storage of records/status.
type StatusREST struct {
	store *genericregistry.Store
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
	_ rest.Patcher              = (*StatusREST)(nil)
	_ rest.ResetFieldsStrategy  = (*StatusREST)(nil)
)

// NewStorage makes the storage of Records.
func NewStorage(config Config) (*Storage, error) {
	strategy := strategy{config.Scheme, names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1alpha1.Record{} },
		NewListFunc:               func() runtime.Object { return &v1alpha1.RecordList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  v1alpha1.Resource("records"),
		SingularQualifiedResource: v1alpha1.Resource("record"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
	}
	record := &REST{&preview.Store[*v1alpha1.Record]{Store: store, Decide: config.Preview}}
	store.TableConvertor = record
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributes}); err != nil {
		return nil, fmt.Errorf("storage of records: %w", err)
	}
	ofStatus := *store
	ofStatus.UpdateStrategy = statusStrategy{strategy}
	ofStatus.ResetFieldsStrategy = statusStrategy{strategy}
	return &Storage{Record: record, Status: &StatusREST{store: &ofStatus}}, nil
}

// ShortNames of the resource.
func (*REST) ShortNames() []string { return []string{"rec"} }

// Categories the resource belongs to.
func (*REST) Categories() []string { return []string{"kubizone"} }

// New makes an empty Record.
func (s *StatusREST) New() runtime.Object { return s.store.New() }

// Destroy leaves the store alone: it is the REST's to destroy.
func (s *StatusREST) Destroy() {}

// Get reads a Record.
func (s *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update writes the status of a Record that exists.
func (s *StatusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	// A server-side apply of a status must not create the Record.
	return s.store.Update(ctx, name, info, createValidation, updateValidation, false, options)
}

// GetResetFields keeps a server-side apply from owning what it cannot say.
func (s *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.store.GetResetFields()
}

// ConvertToTable makes what `kubectl get --subresource=status` prints.
func (s *StatusREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, obj, options)
}

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
}

// attributes are what selectors see of a Record.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	record, ok := obj.(*v1alpha1.Record)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a Record", obj)
	}
	set := fields.Set{
		"metadata.name":                 record.Name,
		"metadata.namespace":            record.Namespace,
		v1alpha1.FieldRecordType:        rrtype(record),
		v1alpha1.FieldRecordZoneRefName: "",
		v1alpha1.FieldRecordFQDN:        record.Status.FQDN,
		v1alpha1.FieldRecordZone:        "",
		v1alpha1.FieldRecordAdopted:     strconv.FormatBool(record.Status.ZoneRef != nil),
	}
	if ref := record.Spec.ZoneRef; ref != nil {
		set[v1alpha1.FieldRecordZoneRefName] = ref.Name
	}
	if ref := record.Status.ZoneRef; ref != nil {
		set[v1alpha1.FieldRecordZone] = zoneKey(ref)
	}
	return record.Labels, set, nil
}

func zoneKey(ref *v1alpha1.AdoptingZone) string { return ref.Namespace + "/" + ref.Name }

// rrtype is the type as it is compared: in spec it stands as written, in any case or by number (S4.3).
func rrtype(record *v1alpha1.Record) string {
	t, err := rdata.ParseType(record.Spec.Type)
	if err != nil {
		return strings.ToUpper(record.Spec.Type)
	}
	return t.String()
}

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }
