// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the REST storage of delegations.kubi.zone.
//
// Guarantees: (1) spec is stored as written, and the server sets status and generation (S7.4); (2) package validation
// refuses by the object alone; (3) a dry run has the commit's answer (S7.3); (4) there is no subresource status.
//
// Out of scope: the effect of a rule, decided by the ledger.
//
// Read storage.go.
package delegation
