// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "kubi.zone"

// SchemeGroupVersion is group and version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder registers this version's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds this version's types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind returns kind with the group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

// Resource returns resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Zone{}, &ZoneList{}, &Record{}, &RecordList{}, &Delegation{}, &DelegationList{},
		&DNSClass{}, &DNSClassList{}, &Delivery{}, &DeliveryList{},
		&ZoneEntries{}, &ZoneEntriesOptions{}, &ZoneChanges{}, &ZoneChangesOptions{},
		&RecordChanges{}, &RecordChangesOptions{},
		&ChangeSet{}, &NameReview{}, &Installation{}, &UpdateKey{}, &UpdateKeyList{}, &UpdateRequest{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
