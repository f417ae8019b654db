// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions checks the RBAC rules that an API server needs at kube-apiserver (A7 of package apiserver).
//
// Guarantees: (1) A server that starts without a required rule is not ready, and logs each missing rule with the
// effect. (2) A revoked rule is listed within a minute, and readiness stays.
//
// Out of scope: the rules of the manifests (test/deploy).
//
// Read permissions.go.
package permissions
