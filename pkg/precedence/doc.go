// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package precedence decides which of several claimants gets a name: a zone's name in a class, a TSIG key's name at a
// primary.
//
// Guarantees: (1) A name in use stays with the claimant; an unused name goes to the earlier claimant, or of two at the
// same time to the lower id. (2) Every process returns the same, from claims and recorded uses.
//
// Out of scope: the purpose of names.
//
// Read precedence.go.
package precedence
