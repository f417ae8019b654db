// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install registers the API groups kubi.zone, bind9.kubi.zone and acme.kubi.zone in a runtime.Scheme, for the
// API server and for kubectl kubizone lint. Kubernetes' generic API server requires an internal version of each group.
// Here the internal version has the Go types of v1alpha1, so no object is ever converted.
//
// Guarantees:
//  1. Only this package sets defaults of kubi.zone. A Zone's TTL has no default here, because a class may set the TTL.
//
// Read install.go.
//
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=kubi.zone/kubizone/api/kubizone/v1alpha1
package install
