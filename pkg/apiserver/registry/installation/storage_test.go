// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// The API has a single Installation object, named kubizone, in no namespace. Its status is computed for each request.
func TestREST_hasOneInstallation(t *testing.T) {
	reads := 0
	storage := NewREST(func() v1alpha1.InstallationStatus {
		reads++
		return v1alpha1.InstallationStatus{Version: string(rune('0' + reads))}
	})
	if storage.NamespaceScoped() {
		t.Error("it has a namespace, so the role of a tenant could give it")
	}
	for _, test := range []struct{ name, version string }{{"kubizone", "1"}, {"kubizone", "2"}, {"other", ""}, {"", ""}} {
		object, err := storage.Get(t.Context(), test.name, &metav1.GetOptions{})
		if test.version == "" {
			if !apierrors.IsNotFound(err) || reads != 2 {
				t.Errorf("%q: %v, %v after %d reads", test.name, object, err, reads)
			}
			continue
		}
		if err != nil || object.(*v1alpha1.Installation).Name != test.name ||
			object.(*v1alpha1.Installation).Status.Version != test.version {
			t.Errorf("%q: %+v, %v", test.name, object, err)
		}
	}
}
