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
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Config configures the storage of Zones and their subresources. All fields are required.
type Config struct {
	Scheme      *runtime.Scheme
	RESTOptions generic.RESTOptionsGetter
	// Preview answers a dry run as the ledger would answer the write.
	Preview kind.Decide[*v1alpha1.Zone]
	// Authorizer checks further rights of a user, such as the right to create zones/establish.
	Authorizer authorizer.UnconditionalAuthorizer
	// WithEstablish tells the commit, by the context, whether the user may create zones/establish, the right to make a
	// zone without a parent zone.
	WithEstablish func(ctx context.Context, allowed bool) context.Context

	// Admits reports whether a class may deliver zones of a namespace, and of a view.
	Admits func(ctx context.Context, class, namespace, view string) (ofNamespace, ofView bool, err error)
	// WarnOfAbsent warns the user if namespaces added to the rules do not exist.
	WarnOfAbsent func(ctx context.Context, after, before []string)
	// FirstClass returns the class for a zone's defaults, or nil. The Zone need not be validated yet.
	FirstClass func(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error)
	// ClassesWithoutRetain returns the zone's classes that forbid the deletionPolicy Retain.
	ClassesWithoutRetain func(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.DNSClassReference, error)
	Views                Views   // the content of zones
	Sources              Sources // the Records behind entries
	History              History // past changes
	// Stopping ends at shutdown. Then all watches of changes end.
	Stopping context.Context
}

type REST struct {
	*kind.REST[*v1alpha1.Zone]
	config Config
}

// AddStorage adds Zones and their subresources, and records/changes, to paths.
func AddStorage(paths map[string]rest.Storage, config Config) (err error) {
	zone := &REST{config: config}
	if zone.REST, err = newKind(zone).AddStorage(paths, config.Scheme, config.RESTOptions, config.Preview); err != nil {
		return err
	}
	streams := newStreams(config, func(ctx context.Context, name string) (*v1alpha1.Zone, error) {
		// Without a resourceVersion Get reads etcd.
		obj, err := zone.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*v1alpha1.Zone), nil
	})
	paths["zones"] = zone
	paths["zones/establish"] = kind.NewPermission(&v1alpha1.Zone{}, v1alpha1.Resource("zones/"+subresourceEstablish))
	paths["zones/entries"], paths["zones/changes"] = newEntries(streams), newChanges(streams)
	paths["records/changes"] = newRecordChanges(streams)
	return nil
}
