// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed keeps a zoneview.Set up to date with a source: the ledger's journal in the API server (fromjournal), or
// the API in other processes (fromapi). A zone is put into the Set after a proof, a check that the rows match the
// zone's hash, and then changed step by step. A zone that fails the check is frozen.
//
// Guarantees:
//
//  1. A zone enters the Set only if its rows match the hash, and a step only if its result does. Until then readers
//     get the last proven state.
//  2. A zone's transactions are queued until the proof ends. The number of concurrent proofs is limited.
//  3. A frozen zone keeps its last proven content, or stays absent, until a proof succeeds. No other zone waits.
//  4. The feed is in sync when every zone of the first listing is in the Set or frozen, so that no reader takes a slow
//     zone for deleted.
//
// Read feed.go first, then proof.go.
package feed
