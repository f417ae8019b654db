// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The objects in docs/gardener.md have only fields of Gardener, and the Seed the spec.dns fields that Gardener's
// validation requires (pkg/api/core/validation/seed.go, which needs Kubernetes' API server).
func TestPage_hasFieldsOfGardener(t *testing.T) {
	page := mustGet(os.ReadFile("../../docs/gardener.md"))(t)
	objects := map[string]any{
		"seed": &gardencorev1beta1.Seed{}, "secret": &corev1.Secret{}, "garden": &operatorv1alpha1.Garden{}, "shoot": &gardencorev1beta1.Shoot{},
	}
	for name, into := range objects {
		block := regexp.MustCompile("(?s)```yaml " + name + "\n(.*?)```").FindSubmatch(page)
		if block == nil {
			t.Fatalf("the page has no %s", name)
		}
		if err := yaml.UnmarshalStrict(block[1], into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	dns := objects["seed"].(*gardencorev1beta1.Seed).Spec.DNS
	if dns.Internal == nil || dns.Provider == nil || len(dns.Defaults) == 0 {
		t.Errorf("a Seed needs internal, with spec.ingress provider, and shoots defaults: %+v", dns)
	}
	for _, one := range append(dns.Defaults, *dns.Internal) {
		if one.Type != recordType || one.Domain == "" || one.CredentialsRef.Kind != "Secret" {
			t.Errorf("the Seed: %+v", one)
		}
	}
}
