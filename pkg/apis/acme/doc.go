// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme has the Go types of the API group acme.kubi.zone. To cert-manager, Kubizone is a webhook solver of ACME
// DNS-01 challenges (webhook.acme.cert-manager.io/v1alpha1). cert-manager posts a ChallengePayload with a request, and
// gets it back with a response.
//
// Guarantees: (1) The types have the JSON of cert-manager v1.21.
//
// Read types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.kubizone.pkg.apis.acme
package acme
