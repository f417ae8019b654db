// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation serves Delegations (REST storage of delegations.kubi.zone). A Delegation lets namespaces write
// names in a Zone. It has no subresource status.
//
// Guarantees, beside those of package kind: (1) Package validation reads no other object.
package delegation
