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
	// SchemeBuilder collects what a client's scheme needs to know of this version, which is its types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the types of this version in a scheme.
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

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Zone{}, &ZoneList{}, &Record{}, &RecordList{}, &Delegation{}, &DelegationList{},
		&DNSClass{}, &DNSClassList{}, &Delivery{}, &DeliveryList{},
		&ZoneEntries{}, &ZoneEntriesOptions{}, &ZoneChanges{}, &ZoneChangesOptions{},
		&ChangeSet{}, &NameReview{}, &UpdateKey{}, &UpdateKeyList{}, &UpdateRequest{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
