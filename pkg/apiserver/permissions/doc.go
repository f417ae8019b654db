// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions checks the RBAC rules that an API server needs at kube-apiserver (A7).
//
// Guarantees: (1) A server that lacks a rule at its start is not ready, and logs each missing rule with its effect. (2)
// A revoked rule is listed within a minute, and does not end readiness.
//
// Out of scope: the rules of the manifests, which test/deploy compares.
//
// Read permissions.go.
package permissions
