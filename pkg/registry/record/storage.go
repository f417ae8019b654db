// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/registry/preview"
	"kubi.zone/kubizone/pkg/registry/status"
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
	Status *status.REST
}

// REST is the storage of records.
type REST struct {
	*preview.Store[*v1alpha1.Record]
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
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
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
		return nil, fmt.Errorf("storage of records: %w", err)
	}
	return &Storage{Record: record, Status: status.NewREST(store, statusStrategy{strategy})}, nil
}

// ShortNames of the resource.
func (*REST) ShortNames() []string { return []string{"rec"} }

// Categories the resource belongs to.
func (*REST) Categories() []string { return []string{"kubizone"} }

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of a Record that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
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

// rrtype is the canonical form of the type, which spec has as written, in any case or by number (S4.5).
func rrtype(record *v1alpha1.Record) string {
	t, err := rdata.ParseType(record.Spec.Type)
	if err != nil {
		return strings.ToUpper(record.Spec.Type)
	}
	return t.String()
}

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }
