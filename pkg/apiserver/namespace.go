// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

const namespacesPath = "/api/v1/namespaces/"

// serveNamespaces answers kubectl's question whether a namespace exists, which it
// asks after every "not found": standalone any namespace does. Without an answer
// kubectl tells its user that the namespace is missing instead of the object.
func serveNamespaces(server *genericapiserver.GenericAPIServer) {
	server.Handler.NonGoRestfulMux.UnlistedHandlePrefix(namespacesPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
