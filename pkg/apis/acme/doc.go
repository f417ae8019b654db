// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme has the API group acme.kubi.zone: the payload of a DNS-01 webhook solver
// (webhook.acme.cert-manager.io/v1alpha1).
//
// Guarantees: (1) the JSON of the types is cert-manager v1.21's.
//
// Out of scope: the handling of a payload.
//
// Read types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.kubizone.pkg.apis.acme
package acme
