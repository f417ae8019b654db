// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

func AddToScheme(scheme *runtime.Scheme) error {
	if err := bind9.AddToScheme(scheme); err != nil {
		return err
	}
	if err := RegisterDefaults(scheme); err != nil {
		return err
	}
	return scheme.AddFieldLabelConversionFunc(bind9.SchemeGroupVersion.WithKind("Bind9Instance"), convertInstanceField)
}

var roles = []bind9.Role{bind9.RolePrimary, bind9.RoleSecondary, bind9.RoleSigner}

// convertInstanceField checks a field selector of Bind9Instances. An unknown role is an error, since a selector by a
// misspelled role would find nothing.
func convertInstanceField(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", bind9.FieldInstanceClusterRefName:
		return label, value, nil
	case bind9.FieldInstanceRole:
		if role := bind9.Role(value); !slices.Contains(roles, role) {
			return "", "", fmt.Errorf("%s is not %q: use one of %q", label, value, roles)
		}
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a field selector of Bind9Instance: use metadata.name, metadata.namespace, %s or %s", label,
		bind9.FieldInstanceClusterRefName, bind9.FieldInstanceRole)
}
