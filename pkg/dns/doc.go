// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns has the common DNS types: an Entry is a resource record of a zone, a Change the difference between two
// serials.
//
// Guarantees: (1) The packages below implement only RFCs. (2) No I/O, no clock, no blocking. (3) Values are immutable,
// and comparable if Go allows.
//
// Out of scope: Kubernetes, storage, delegations and hashes.
//
// Read entry.go, then name/name.go.
package dns
