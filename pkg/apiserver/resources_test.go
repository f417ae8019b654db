// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"kubi.zone/kubizone/test/must"
)

func eachRole(t *testing.T, do func(*rbacv1.ClusterRole)) {
	t.Helper()
	file := must.Get(os.Open("../../artifacts/deploy/base/roles.yaml"))(t)
	defer file.Close()
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var role rbacv1.ClusterRole
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		do(&role)
	}
}

// Each served resource is in a role that a cluster can bind, or listed here with the reason why not. Otherwise users of
// a new resource would need cluster-admin, and no test would notice.
func TestResources_areGranted(t *testing.T) {
	none := map[string]string{
		"dnsclasses":            "a class names servers and Secrets of the platform, so cluster-admin makes it",
		"clusterbind9providers": "a provider makes servers in every namespace that it names, so cluster-admin makes it",
	}
	var granted []string
	eachRole(t, func(role *rbacv1.ClusterRole) {
		for _, rule := range role.Rules {
			granted = append(granted, rule.Resources...)
		}
	})
	client := startWholeServer(t).RESTClient()
	var resources []metav1.APIResource
	for group, least := range map[string]int{"kubi.zone": 8, "bind9.kubi.zone": 8} {
		body := must.Get(client.Get().AbsPath("/apis/"+group+"/v1alpha1").SetHeader("Accept", "application/json").DoRaw(t.Context()))(t)
		var served metav1.APIResourceList
		must.Succeed(t, json.NewDecoder(bytes.NewReader(body)).Decode(&served))
		if len(served.APIResources) < least {
			t.Fatalf("only %d resources are served: %s", len(served.APIResources), body)
		}
		resources = append(resources, served.APIResources...)
	}
	for _, resource := range resources {
		_, sub, _ := strings.Cut(resource.Name, "/")
		if slices.Contains([]string{"status", "finalizers", "dnssec", "notify", "update", "share"}, sub) {
			continue // controllers' own roles are compared in test/deploy
		}
		if none[resource.Name] == "" && !slices.Contains(granted, resource.Name) {
			t.Errorf("%s is served and in no role of artifacts/deploy/base/roles.yaml: add it to those that may use it", resource.Name)
		}
	}
}
