// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the REST storage of delegations.kubi.zone.
//
// Guarantees, beside those of package kind: (1) package validation refuses by the object alone; (2) there is no
// subresource status.
//
// Out of scope: the effect of a rule, decided by the ledger.
//
// Read storage.go.
package delegation
