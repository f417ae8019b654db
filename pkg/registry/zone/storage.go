// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/preview"
	"kubi.zone/kubizone/pkg/registry/status"
)

// Config is what the storage of Zones is made of. Fields are required where nothing else is said.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how Zones are stored.
	RESTOptions generic.RESTOptionsGetter
	// Preview decides a dry run.
	Preview preview.Decide[*v1alpha1.Zone]
	// Authorizer is the server's: it is asked for create of zones/establish, and for list of records where sources
	// are wanted.
	Authorizer authorizer.UnconditionalAuthorizer
	// WithEstablish hands the answer for zones/establish to the decision.
	WithEstablish func(ctx context.Context, allowed bool) context.Context
	// Admits says whether a DNSClass may deliver zones of a namespace, and of a view; true where there is no such
	// class, so that zones may come before their classes.
	Admits func(ctx context.Context, class, namespace, view string) (ofNamespace, ofView bool, err error)
	// FirstClass is the first class of a Zone, whose defaults a new one has; nil where there is none. The Zone is not
	// validated yet, and the class is not changed.
	FirstClass func(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error)
	// Withdrawing are the classes that deliver a Zone and do not allow it deletionPolicy Retain.
	Withdrawing func(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.DNSClassReference, error)
	// Views answers what zones contain.
	Views Views
	// Sources answers which Records define entries; nil refuses that question.
	Sources Sources
	// Streams is the most answers of entries and changes under way at once, of which one user has at most half; 0 is
	// 32.
	Streams int
	// Stopping ends watches of changes, so that a server can stop without waiting for them. Optional.
	Stopping context.Context
	// ViewTimeout is how long a request waits for a view to reach its zone's serial; 0 is 5 seconds.
	ViewTimeout time.Duration
}

// Storage is the REST storage of Zones, by resource name.
type Storage struct {
	Zone   *REST
	Status *status.REST
	// Finalizers and DNSSEC are subresources, written like a status.
	Finalizers, DNSSEC *status.REST
	Establish          *EstablishREST
	Entries            *EntriesREST
	Changes            *ChangesREST
}

// REST is the storage of zones.
type REST struct {
	*preview.Store[*v1alpha1.Zone]
	establisher establisher
	admits      func(ctx context.Context, class, namespace, view string) (ofNamespace, ofView bool, err error)
	firstClass  func(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error)
	withdrawing func(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.DNSClassReference, error)
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
)

// NewStorage makes the storage of Zones.
func NewStorage(config Config) (*Storage, error) {
	strategy := strategy{config.Scheme, names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1alpha1.Zone{} },
		NewListFunc:               func() runtime.Object { return &v1alpha1.ZoneList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  v1alpha1.Resource("zones"),
		SingularQualifiedResource: v1alpha1.Resource("zone"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
	}
	zone := &REST{&preview.Store[*v1alpha1.Zone]{Store: store, Decide: config.Preview}, establisher{config.Authorizer,
		config.WithEstablish}, config.Admits, config.FirstClass, config.Withdrawing}
	store.TableConvertor = zone
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
		return nil, fmt.Errorf("storage of zones: %w", err)
	}
	read := func(ctx context.Context, name string) (*v1alpha1.Zone, error) {
		// Without a resourceVersion this is a read of etcd, not of a cache: what S7.1 asks for.
		obj, err := store.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*v1alpha1.Zone), nil
	}
	streams := newStreams(config, read)
	return &Storage{
		Zone: zone, Status: status.NewREST(store, statusStrategy{strategy}), Finalizers: status.NewREST(store,
			finalizersStrategy{strategy}), DNSSEC: status.NewREST(store, dnssecStrategy{strategy}), Establish: &EstablishREST{},
		Entries: &EntriesREST{streams}, Changes: &ChangesREST{streams},
	}, nil
}

// ShortNames of the resource.
func (*REST) ShortNames() []string { return []string{"zn"} }

// Categories the resource belongs to.
func (*REST) Categories() []string { return []string{"kubizone"} }

// Delete refuses where the Zone is protected, and a dry run where the deletion would be refused (S8.1). The object
// deleted is asked, not one read before.
func (r *REST) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object,
	bool, error) {
	return r.Store.Delete(ctx, name, r.judgeDeletion(validation, options), options)
}

// DeleteCollection refuses as Delete does, zone by zone.
func (r *REST) DeleteCollection(ctx context.Context, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	list *internalversion.ListOptions) (runtime.Object, error) {
	return r.Store.DeleteCollection(ctx, r.judgeDeletion(validation, options), options, list)
}

func (r *REST) judgeDeletion(validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		zone := obj.(*v1alpha1.Zone)
		if zone.Spec.DeletionProtection {
			return apierrors.NewForbidden(v1alpha1.Resource("zones"), zone.Name, fmt.Errorf(
				"spec.deletionProtection is on; turn it off first: kubectl patch zone %s -n %s --type merge -p "+
					"'{\"spec\":{\"deletionProtection\":false}}'",
				zone.Name, zone.Namespace))
		}
		if validation != nil {
			if err := validation(ctx, obj); err != nil {
				return err
			}
		}
		if options == nil || !dryrun.IsDryRun(options.DryRun) {
			return nil // the commit decides
		}
		marked := zone.DeepCopy()
		marked.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		return r.Decide(ctx, zone, marked)
	}
}

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of a Zone that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	zone, ok := obj.(*v1alpha1.Zone)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a Zone", obj)
	}
	return zone.Labels, fields.Set{
		"metadata.name":        zone.Name,
		"metadata.namespace":   zone.Namespace,
		v1alpha1.FieldZoneFQDN: zone.Status.FQDN,
		v1alpha1.FieldZoneView: zone.Spec.View,
	}, nil
}
