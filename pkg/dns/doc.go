// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns has the types common to all packages: an Entry is a zone's resource record, a Change leads between
// serials.
//
// Guarantees: (1) The packages below it implement RFCs alone. (2) Nothing does I/O, reads a clock or blocks. (3)
// Values are immutable, and comparable if Go allows.
//
// Out of scope: Kubernetes, storage, delegations or hashes.
//
// Read entry.go, then name/name.go: almost everything else is a Name with data.
package dns
