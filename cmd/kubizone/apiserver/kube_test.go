// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

const allowedProxy = "front-proxy-client"

// kube answers only the requests of an aggregated server.
type kube struct {
	server *httptest.Server
	// The authorities of users, and of the proxy that may name users.
	clients, proxies *pki.Pair

	mutex sync.Mutex
	// revision counts changes, for watches.
	revision     int
	namespaces   map[string]bool
	allowedNames []string
	// granted users may do everything.
	granted map[string]bool
	// silent is the path of a list without an answer or a watch.
	silent string
}

func newKube(t *testing.T) *kube {
	t.Helper()
	k := &kube{
		clients: newAuthority(t, "clients"), proxies: newAuthority(t, "proxies"), revision: 1,
		namespaces: map[string]bool{"a": true}, allowedNames: []string{allowedProxy},
		granted: map[string]bool{"alice": true},
	}
	k.server = httptest.NewTLSServer(k)
	t.Cleanup(func() {
		k.server.CloseClientConnections() // watches would block Close
		k.server.Close()
	})
	return k
}

func (k *kube) changeCluster(do func()) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	do()
	k.revision++
}

func (k *kube) writeKubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.server.Certificate().Raw})
	config.Clusters["kube"] = &clientcmdapi.Cluster{Server: k.server.URL, CertificateAuthorityData: ca}
	config.AuthInfos["kubizone"] = &clientcmdapi.AuthInfo{Token: "kubizones"}
	config.Contexts["kube"] = &clientcmdapi.Context{Cluster: "kube", AuthInfo: "kubizone"}
	config.CurrentContext = "kube"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, clientcmd.WriteToFile(*config, path))
	return path
}

var kinds = map[string][2]string{
	"/api/v1/namespaces":                                                      {"v1", "Namespace"},
	"/api/v1/resourcequotas":                                                  {"v1", "ResourceQuota"},
	"/api/v1/namespaces/a/resourcequotas":                                     {"v1", "ResourceQuota"},
	"/api/v1/namespaces/kube-system/configmaps":                               {"v1", "ConfigMap"},
	"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":     {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
	"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations":   {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
	"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies":         {"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"},
	"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings":   {"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"},
	"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies":       {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"},
	"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"},
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas":                       {"flowcontrol.apiserver.k8s.io/v1", "FlowSchema"},
	"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations":       {"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"},
}

func (k *kube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for k.isSilent(r.URL.Path) && r.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	switch {
	case r.Method == http.MethodPost:
		k.reviewAccess(w, r)
	case r.URL.Query().Get("watch") != "":
		k.watchObjects(w, r)
	default:
		k.getObject(w, r)
	}
}

func (k *kube) isSilent(path string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.silent == path
}

// The caller holds the mutex.
func (k *kube) listObjects(path string) map[string]any {
	kind, all := kinds[path], make(map[string]any)
	object := func(name string, more map[string]any) {
		meta := map[string]any{"name": name, "uid": name, "resourceVersion": strconv.Itoa(k.revision)}
		one := map[string]any{"apiVersion": kind[0], "kind": kind[1], "metadata": meta}
		if kind[1] == "ConfigMap" {
			meta["namespace"] = "kube-system"
		}
		for key, value := range more {
			one[key] = value
		}
		all[name] = one
	}
	switch kind[1] {
	case "Namespace":
		for name := range k.namespaces {
			object(name, map[string]any{"status": map[string]any{"phase": "Active"}})
		}
	case "ConfigMap":
		names, _ := json.Marshal(k.allowedNames)
		object("extension-apiserver-authentication", map[string]any{"data": map[string]any{
			"client-ca-file":                     string(k.clients.CertPEM),
			"requestheader-client-ca-file":       string(k.proxies.CertPEM),
			"requestheader-allowed-names":        string(names),
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-uid-headers":          `["X-Remote-Uid"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}})
	}
	return all
}

func (k *kube) getObject(w http.ResponseWriter, r *http.Request) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if kind, ok := kinds[r.URL.Path]; ok {
		items := []any{}
		for _, one := range k.listObjects(r.URL.Path) {
			items = append(items, one)
		}
		writeAnswer(w, http.StatusOK, map[string]any{
			"apiVersion": kind[0], "kind": kind[1] + "List", "metadata": map[string]any{"resourceVersion": strconv.Itoa(k.revision)}, "items": items,
		})
		return
	}
	parent, name := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if one, ok := k.listObjects(parent)[name]; ok {
		writeAnswer(w, http.StatusOK, one)
		return
	}
	resource := parent[strings.LastIndex(parent, "/")+1:]
	writeAnswer(w, http.StatusNotFound, map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound, "message": fmt.Sprintf("%s %q not found", resource, name),
	})
}

func (k *kube) watchObjects(w http.ResponseWriter, r *http.Request) {
	kind, known := kinds[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	report := func(event string, object any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": event, "object": object})
	}
	k.mutex.Lock()
	reported, seen := k.listObjects(r.URL.Path), k.revision
	k.mutex.Unlock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, one := range reported {
			report("ADDED", one)
		}
		report("BOOKMARK", map[string]any{"apiVersion": kind[0], "kind": kind[1], "metadata": map[string]any{
			"resourceVersion": strconv.Itoa(seen), "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
		}})
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
		k.mutex.Lock()
		now, revision := k.listObjects(r.URL.Path), k.revision
		k.mutex.Unlock()
		if revision == seen {
			continue
		}
		for name, one := range now {
			if _, was := reported[name]; was {
				report("MODIFIED", one)
			} else {
				report("ADDED", one)
			}
		}
		for name, one := range reported {
			if _, is := now[name]; !is {
				report("DELETED", one)
			}
		}
		reported, seen = now, revision
	}
}

func (k *kube) reviewAccess(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	switch review := asked.(type) {
	case *authorizationv1.SubjectAccessReview:
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: k.granted[review.Spec.User]}
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status.Allowed = true
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
	default:
		http.Error(w, fmt.Sprintf("%T is not answered here", asked), http.StatusNotFound)
		return
	}
	writeAnswer(w, http.StatusCreated, asked)
}

func writeAnswer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func newAuthority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(nil, pki.Authority(name), time.Now(), 24*time.Hour))(t)
}

// issueLeaf returns a certificate of a server at loopback, and of a client.
func issueLeaf(t *testing.T, by *pki.Pair, name string) *pki.Pair {
	t.Helper()
	template := pki.Serving(name, []string{"127.0.0.1"})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return must.Get(pki.Issue(by, template, time.Now(), 24*time.Hour))(t)
}
