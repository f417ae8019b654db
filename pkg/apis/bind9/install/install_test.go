// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// A field selector that could never select an object, because the field is unknown or never has the value, is an error.
// The error lists the valid fields or values.
func TestFieldSelectors(t *testing.T) {
	scheme := runtime.NewScheme()
	must.Succeed(t, AddToScheme(scheme))
	for selector, want := range map[[2]string]string{
		{"spec.role", "Signer"}:         "",
		{"spec.clusterRef.name", "any"}: "",
		{"spec.role", "signer"}:         `spec.role is not "signer": use one of ["Primary" "Secondary" "Signer"]`,
		{"spec.zone", "x"}: `"spec.zone" is not a field selector of Bind9Instance: use metadata.name, metadata.namespace, ` +
			`spec.clusterRef.name or spec.role`,
	} {
		label, value, err := scheme.ConvertFieldLabel(bind9.SchemeGroupVersion.WithKind("Bind9Instance"), selector[0], selector[1])
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && [2]string{label, value} != selector {
			t.Errorf("%q: %q, want %q", selector, got, want)
		}
	}
}
