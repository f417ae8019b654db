// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the API of bind9.kubi.zone/v1alpha1: ClusterBind9Provider, Bind9Cluster and Bind9Instance,
// the BIND 9 servers for zones.
//
// Guarantees: (1) `kubectl explain` prints the comment of a field, with format, unit, default and source; (2) every
// condition type and label of this group has a constant in conditions.go; (3) the JSON of an accepted object keeps its
// meaning; (4) exported names change only as docs/support.md allows.
//
// Out of scope: BIND, and parses, validates and decides nothing. The server sets defaults, on every write. The only
// import is apimachinery, because clients vendor this package.
//
// Read instance_types.go first, then cluster_types.go and provider_types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.bind9.v1alpha1
// +groupName=bind9.kubi.zone
// +groupGoName=Bind9
package v1alpha1
