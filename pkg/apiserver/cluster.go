// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
)

const namespacesPath = "/api/v1/namespaces/"

// serveCluster serves the parts of a cluster's API that kubectl needs from a standalone server: discovery of the core
// group, Namespaces, and the two reviews of the user's self.
func serveCluster(server *genericapiserver.GenericAPIServer, registry install.Registry, authorizer authorizer.Authorizer) error {
	serveCore(server, registry)
	for _, review := range []struct {
		schema.GroupVersionResource
		storage rest.Storage
	}{
		{authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews"), newSubjectReviews()},
		{authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"), newAccessReviews(authorizer)},
	} {
		group := genericapiserver.NewDefaultAPIGroupInfo(review.Group, registry.Scheme, registry.ParameterCodec, registry.Codecs)
		group.VersionedResourcesStorageMap[review.Version] = map[string]rest.Storage{review.Resource: review.storage}
		if err := server.InstallAPIGroup(&group); err != nil {
			return fmt.Errorf("API group %s: %w", review.Group, err)
		}
	}
	return nil
}

// serveCore imitates Kubernetes' core group. Discovery clients read the group first, and kubectl needs an answer for
// every Namespace.
func serveCore(server *genericapiserver.GenericAPIServer, registry install.Registry) {
	core := schema.GroupVersion{Version: "v1"}
	manager := server.AggregatedLegacyDiscoveryGroupManager
	manager.AddGroupVersion(core.Group, apidiscoveryv2.APIVersionDiscovery{Version: core.Version,
		Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent})
	root := discovery.NewLegacyRootAPIHandler(discovery.DefaultAddresses{DefaultAddress: server.ExternalAddress}, registry.Codecs,
		genericapiserver.DefaultLegacyAPIPrefix)
	mux := server.Handler.NonGoRestfulMux
	for path, handler := range map[string]http.Handler{
		genericapiserver.DefaultLegacyAPIPrefix: aggregated.WrapAggregatedDiscoveryToHandler(root, manager, manager),
		genericapiserver.DefaultLegacyAPIPrefix + "/v1": discovery.NewAPIVersionHandler(registry.Codecs, core,
			discovery.APIResourceListerFunc(func() []metav1.APIResource { return []metav1.APIResource{} })),
	} {
		mux.Handle(path, handler)
		mux.UnlistedHandle(path+"/", handler) // the Python client kr8s asks with a slash
	}
	mux.UnlistedHandlePrefix(namespacesPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		namespace := strings.TrimPrefix(r.URL.Path, namespacesPath)
		if namespace == "" || strings.Contains(namespace, "/") || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
		})
	}))
}
