// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model runs several clients against two servers on one etcd, and compares the results with sequential models.
//
// Guarantees:
//
//  1. Every revision of a run is checked: the store by fsck, the objects by a small model of zones, records and rules,
//     without a ledger.
//  2. -seed determines the operations, not their interleaving. A failure prints the seed, requests, answers and
//     commits.
//  3. Clients' histories are linearizable, zone by zone: every later read by either server has an acknowledged write.
//
// Read first: forest_test.go (the operations), then objects_test.go (the model).
package model
