// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/kind"
)

// Config is what the storage of Zones is made of. Every field is required.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how Zones are stored.
	RESTOptions generic.RESTOptionsGetter
	// Preview decides a dry run.
	Preview kind.Decide[*v1alpha1.Zone]
	// Authorizer is the server's: it is asked for create of zones/establish, and for list of records where sources
	// are wanted.
	Authorizer authorizer.UnconditionalAuthorizer
	// WithEstablish hands the answer for zones/establish to the decision.
	WithEstablish func(ctx context.Context, allowed bool) context.Context
	// Admits says whether a DNSClass may deliver zones of a namespace, and of a view; true where there is no such
	// class, so that zones may come before their classes.
	Admits func(ctx context.Context, class, namespace, view string) (ofNamespace, ofView bool, err error)
	// WarnOfAbsent warns of namespaces that are not there, of those that the rules are for and were not for before.
	WarnOfAbsent func(ctx context.Context, after, before []string)
	// FirstClass is the first class of a Zone, whose defaults a new one has; nil where there is none. The Zone is not
	// validated yet, and the class is not changed.
	FirstClass func(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error)
	// Withdrawing are the classes that deliver a Zone and do not allow it deletionPolicy Retain.
	Withdrawing func(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.DNSClassReference, error)
	// Views answers what zones contain.
	Views Views
	// Sources answers which Records define entries.
	Sources Sources
	// Stopping ends watches of changes, so that a server can stop without waiting for them.
	Stopping context.Context
}

// REST is the storage of zones.
type REST struct {
	*kind.REST[*v1alpha1.Zone]
	config Config
}

// AddStorage makes the storage of Zones and of their subresources, and adds them to paths.
func AddStorage(paths map[string]rest.Storage, config Config) (err error) {
	zone := &REST{config: config}
	if zone.REST, err = newKind(zone).AddStorage(paths, config.Scheme, config.RESTOptions, config.Preview); err != nil {
		return err
	}
	streams := newStreams(config, func(ctx context.Context, name string) (*v1alpha1.Zone, error) {
		// Without a resourceVersion this is a read of etcd, not of a cache: what S7.1 asks for.
		obj, err := zone.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*v1alpha1.Zone), nil
	})
	paths["zones"] = zone
	paths["zones/establish"] = kind.Permission{Of: v1alpha1.Resource("zones/" + subresourceEstablish), Object: &v1alpha1.Zone{}}
	paths["zones/entries"], paths["zones/changes"] = newEntries(streams), newChanges(streams)
	return nil
}
