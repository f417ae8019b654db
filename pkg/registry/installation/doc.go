// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation is the read-only REST storage of the Installation named kubizone: processes, etcd, certificates
// and the last backup. No object is stored.
//
// Guarantees: (1) Get reads memory only; (2) any other name is not found; (3) an Installation has no data of tenants.
//
// Out of scope: the state of zones and Records.
//
// Read storage.go.
package installation
