// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed keeps a zoneview.Set up to date with a source of zones: the ledger's journal in the API server
// (fromjournal), or the API in other processes (fromapi).
//
// A source calls BeginListing, BeginProof for each zone, and EndListing, then Apply for each change. A proof checks
// that the content matches the zone's hash. A zone that fails the proof is frozen.
//
// Guarantees:
//
//  1. A zone enters the Set only after the proof, and a step only if the result has the step's hash.
//  2. Until then, readers get the last proven content.
//  3. A zone's transactions are queued until the proof ends. The number of concurrent proofs is limited.
//  4. A frozen zone keeps its last proven content, or stays absent, until a proof succeeds. No other zone waits.
//  5. The feed is in sync when every zone of the first listing is in the Set or frozen, so that no reader takes a slow
//     zone for deleted.
//
// Read feed.go first, then proof.go.
package feed
