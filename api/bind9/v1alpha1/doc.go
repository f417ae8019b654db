// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of bind9.kubi.zone/v1alpha1: ClusterBind9Provider, Bind9Cluster and
// Bind9Instance, the BIND 9 servers that zones are delivered to.
//
// It promises: (1) the comment of a field is what `kubectl explain` prints, with format, unit, default and source;
// (2) every condition type and label of this group is a constant of conditions.go; (3) JSON of an accepted object
// never changes its meaning; (4) what is exported goes or changes as docs/support.md says.
//
// It does not know BIND: it parses, validates and decides nothing. It sets no defaults: the server does, on every
// write. It imports apimachinery alone, because clients vendor it.
//
// Read instance_types.go first, then cluster_types.go and provider_types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.bind9.v1alpha1
// +groupName=bind9.kubi.zone
// +groupGoName=Bind9
package v1alpha1
