// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Field selectors of Bind9Instances besides metadata.name and metadata.namespace.
const (
	FieldInstanceClusterRefName = "spec.clusterRef.name"
	FieldInstanceRole           = "spec.role"
)
