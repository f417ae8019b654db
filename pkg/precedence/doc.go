// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package precedence decides which of several claimants has a name, where a name can be one claimant's alone: a
// zone's name in a class, a TSIG key's name at a primary.
//
// It promises: (1) The claimant that uses a name keeps it. Of a name that is not in use the earlier claimant has it,
// and of two of one moment the one whose id is first. (2) The answer depends on the claims and on the recorded uses
// alone, not on the order in which a process saw them: every process gives the same one.
//
// It does not know what the names are of, nor what becomes of a claimant that does not have its name.
//
// Read precedence.go.
package precedence
