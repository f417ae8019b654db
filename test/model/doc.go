// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model holds what several clients do at once, by two servers on one etcd, against
// models that do one thing after another.
//
// It promises:
//
//  1. Every revision of a run is checked, not only the last: the store against itself by
//     fsck, the objects against a small model that knows zones, records and rules and
//     nothing of ledgers.
//  2. Operations follow from -seed alone; how they meet does not. A failure prints the seed,
//     and what was asked, answered and committed is written as a text to read.
//  3. Histories of clients are linearizable, zone by zone: an acknowledged write is in every
//     later read by either server, and a tenant's write stands before or after a change of
//     its delegation, never beside it.
//
// It does not know how the server decides: law, ledger and views are asked by what they
// show to clients, or by fsck, which recomputes.
//
// Read first: forest_test.go (what is done), then objects_test.go (the model).
package model
