// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package precedence decides which of several claimants gets a name: a zone's name in a class, a TSIG key's name at a
// primary.
//
// Guarantees: (1) A claimant keeps a name in use. An unused name goes to the earlier claimant; of two at the same time,
// to the lower id. (2) The result depends only on claims and recorded uses: every process returns the same.
//
// Out of scope: the purpose of names, and the consequences of a lost name.
//
// Read precedence.go.
package precedence
