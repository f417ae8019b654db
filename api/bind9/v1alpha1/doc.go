// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the API of bind9.kubi.zone/v1alpha1, for BIND 9 servers: ClusterBind9Provider, Bind9Cluster
// and Bind9Instance.
//
// Guarantees: (1) `kubectl explain` prints each field's format, unit, default and source; (2) every condition type and
// label has a constant in conditions.go; (3) the JSON of an accepted object keeps its meaning; (4) exported names
// change only as docs/support.md allows.
//
// Read instance_types.go first, then cluster_types.go and provider_types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.bind9.v1alpha1
// +groupName=bind9.kubi.zone
// +groupGoName=Bind9
package v1alpha1
