// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package precedence decides which of several claimants gets a name. For example, two zones of the same name are in a
// class, or two UpdateKeys have TSIG keys of the same name.
//
// Guarantees:
//
//  1. A claimant keeps a name in use, as recorded in its status. An unused name goes to the first claimant by Rank: the
//     older or, at the same time, the lower ID. Claimants with Rank.Last come after all others.
//  2. Every process decides the same, from claims and recorded uses alone.
package precedence
