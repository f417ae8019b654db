// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"reflect"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	bind9install "kubi.zone/kubizone/pkg/apis/bind9/install"
)

var InternalGroupVersion = internalOf(v1alpha1.SchemeGroupVersion)

func internalOf(version schema.GroupVersion) schema.GroupVersion {
	return schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}
}

var StoredVersions = schema.GroupVersions{v1alpha1.SchemeGroupVersion, bind9.SchemeGroupVersion}

var servedVersions = append(StoredVersions[:len(StoredVersions):len(StoredVersions)], acme.SchemeGroupVersion)

// Install registers the types of all API groups in a scheme, each as the served and as the internal version.
func Install(scheme *runtime.Scheme) {
	// Register served versions first, because callers of ObjectKinds use the first version.
	addVersions(scheme)
	for _, version := range servedVersions {
		for kind, goType := range scheme.KnownTypes(version) {
			if slices.Contains(typePackages, goType.PkgPath()) { // leave out metav1
				scheme.AddKnownTypeWithName(internalOf(version).WithKind(kind), reflect.New(goType).Interface().(runtime.Object))
			}
		}
		utilruntime.Must(scheme.SetVersionPriority(version))
	}
	scheme.AddKnownTypes(internalOf(autoscalingv1.SchemeGroupVersion), &autoscalingv1.Scale{})
}

var typePackages = []string{reflect.TypeFor[v1alpha1.Zone]().PkgPath(), reflect.TypeFor[bind9.Bind9Cluster]().PkgPath(),
	reflect.TypeFor[acme.ChallengePayload]().PkgPath()}

func addVersions(scheme *runtime.Scheme) {
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(bind9install.AddToScheme(scheme))
	utilruntime.Must(acme.AddToScheme(scheme))
	scheme.AddKnownTypes(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
	utilruntime.Must(RegisterDefaults(scheme))
	utilruntime.Must(addConversionFuncs(scheme))
}

// Registry has the Go types of all API groups, and the codecs that encode and decode their objects.
type Registry struct {
	// Scheme maps kinds to Go types. It also has the meta types of every API server, such as Status.
	Scheme *runtime.Scheme
	// Codecs report unknown fields if a client requests field validation.
	Codecs         serializer.CodecFactory
	ParameterCodec runtime.ParameterCodec
}

// New returns a Registry. The functions in further install more groups.
func New(further ...func(*runtime.Scheme)) Registry {
	scheme := runtime.NewScheme()
	Install(scheme)
	addUnversioned(scheme)
	for _, install := range further {
		install(scheme)
	}
	return Registry{Scheme: scheme, Codecs: serializer.NewCodecFactory(scheme), ParameterCodec: runtime.NewParameterCodec(scheme)}
}

// NewServedScheme returns a scheme without the internal version, which OpenAPI would offer to clients.
func NewServedScheme(further ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	addVersions(scheme)
	addUnversioned(scheme)
	for _, add := range further {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// StorageCodec encodes protobuf, and decodes every format. A Zone takes half the octets of JSON, and a twentieth of the
// time to read.
func (r Registry) StorageCodec() runtime.Codec {
	return compressor{r.Codecs.CodecForVersions(protobuf.NewSerializer(r.Scheme, r.Scheme), r.Codecs.UniversalDeserializer(),
		StoredVersions, schema.GroupVersions{InternalGroupVersion, internalOf(bind9.SchemeGroupVersion)})}
}

func addUnversioned(scheme *runtime.Scheme) {
	core := schema.GroupVersion{Group: "", Version: "v1"}
	metav1.AddToGroupVersion(scheme, core)
	scheme.AddUnversionedTypes(core,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{},
	)
}
