// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation serves Delegations (REST storage of delegations.kubi.zone). A Delegation lets namespaces write
// names in a Zone.
//
// Guarantees, beside those of package kind: (1) Package validation refuses by the object alone. (2) There is no
// subresource status.
//
// Read storage.go.
package delegation
