// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation is the read-only REST storage of the Installation named kubizone, which no object has:
// processes, etcd, certificates and the last backup.
//
// Guarantees: (1) Get reads what the server knows already, and sends no request. (2) Any other name is not found. (3)
// Nothing of a tenant is in an Installation.
//
// Out of scope: zones and Records, whose objects tell how they are, and the right to get, which RBAC gives.
//
// Read storage.go.
package installation
