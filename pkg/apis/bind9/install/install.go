// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// AddToScheme registers v1alpha1 with defaults and field selectors.
func AddToScheme(scheme *runtime.Scheme) error {
	if err := bind9.AddToScheme(scheme); err != nil {
		return err
	}
	if err := RegisterDefaults(scheme); err != nil {
		return err
	}
	return scheme.AddFieldLabelConversionFunc(bind9.SchemeGroupVersion.WithKind("Bind9Instance"), convertInstanceField)
}

func convertInstanceField(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", bind9.FieldInstanceClusterRefName, bind9.FieldInstanceRole:
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a field selector of Bind9Instance: use metadata.name, metadata.namespace, %s or %s", label,
		bind9.FieldInstanceClusterRefName, bind9.FieldInstanceRole)
}
