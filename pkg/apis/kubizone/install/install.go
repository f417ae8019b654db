// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// InternalGroupVersion is the version the generic server holds objects in. Its Go types are those of v1alpha1.
var InternalGroupVersion = schema.GroupVersion{Group: v1alpha1.GroupName, Version: runtime.APIVersionInternal}

// Install registers kubi.zone in a scheme, in every version and as the internal one.
func Install(scheme *runtime.Scheme) {
	// The order matters: ObjectKinds answers in the order of registration, and what takes the first means the version
	// that is served.
	addVersion(scheme)
	for kind, goType := range scheme.KnownTypes(v1alpha1.SchemeGroupVersion) {
		if goType.PkgPath() == reflect.TypeFor[v1alpha1.Zone]().PkgPath() { // the others are of metav1
			scheme.AddKnownTypeWithName(InternalGroupVersion.WithKind(kind), reflect.New(goType).Interface().(runtime.Object))
		}
	}
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}

// addVersion registers v1alpha1 with what a server needs of it beside the types: defaults, query parameters and field
// selectors.
func addVersion(scheme *runtime.Scheme) {
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(RegisterDefaults(scheme))
	utilruntime.Must(addConversionFuncs(scheme))
}

// Registry is a scheme with its codecs. Each call of New makes a new one, so that none is shared.
type Registry struct {
	// Scheme knows kubi.zone, and the meta types of the unversioned group that every server answers with.
	Scheme *runtime.Scheme
	// Codecs encode and decode the types of Scheme; strict where a client asks for field validation.
	Codecs serializer.CodecFactory
	// ParameterCodec reads the query parameters of the subresources.
	ParameterCodec runtime.ParameterCodec
}

// New returns a Registry of its own. Further groups may be installed into its Scheme before Codecs is first used.
func New(further ...func(*runtime.Scheme)) Registry {
	scheme := runtime.NewScheme()
	Install(scheme)
	addUnversioned(scheme)
	for _, install := range further {
		install(scheme)
	}
	return Registry{Scheme: scheme, Codecs: serializer.NewCodecFactory(scheme), ParameterCodec: runtime.NewParameterCodec(scheme)}
}

// Served is a scheme of what the server answers with alone: in OpenAPI the internal version would be one that clients
// may ask for.
func Served(further ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	addVersion(scheme)
	addUnversioned(scheme)
	for _, add := range further {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// StorageCodec is how the objects stand in etcd: protobuf, of which a Zone takes half the octets and a twentieth of
// the time of JSON to read. It reads every form.
func (r Registry) StorageCodec() runtime.Codec {
	return r.Codecs.CodecForVersions(protobuf.NewSerializer(r.Scheme, r.Scheme), r.Codecs.UniversalDeserializer(),
		v1alpha1.SchemeGroupVersion, InternalGroupVersion)
}
