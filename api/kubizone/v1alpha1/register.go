// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every type in this package.
const GroupName = "kubi.zone"

// SchemeGroupVersion is the group and version of every type in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects what a scheme needs to know of this version: types, defaults, query parameters and field
	// selectors.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, addDefaultingFuncs, addConversionFuncs)
	// AddToScheme registers this version in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind qualifies a kind of this group and version.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

// Resource qualifies a resource of this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// Types lists every kind of this package, lists and options included. Package install registers the same Go types as
// the internal version.
func Types() []runtime.Object {
	return []runtime.Object{
		&Zone{}, &ZoneList{}, &Record{}, &RecordList{}, &Delegation{}, &DelegationList{},
		&DNSClass{}, &DNSClassList{}, &Delivery{}, &DeliveryList{},
		&ZoneEntries{}, &ZoneEntriesOptions{}, &ZoneChanges{}, &ZoneChangesOptions{},
		&ChangeSet{},
	}
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, Types()...)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
