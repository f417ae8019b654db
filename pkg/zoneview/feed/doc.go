// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed keeps a zoneview.Set up to date with a source. Zones from the source are proven (their rows match their
// hash), put into the Set and changed step by step, or frozen. The sources are the ledger's journal (fromjournal), in
// the API server, and the API (fromapi), in every other process.
//
// Guarantees:
//
//  1. A zone enters the Set only if its rows have the claimed content state, and every step leads to the claimed state.
//     Until then the last proven state is served.
//  2. Transactions of a zone wait for a proof in flight. The number of proofs in flight is bounded.
//  3. A zone that cannot be proven is frozen: it stays in the Set as last proven, or absent, until a proof succeeds. No
//     other zone waits for it.
//  4. The feed is in sync only when every zone of the first listing is in the Set or frozen, so that a reader takes no
//     slow zone for a deleted zone.
//
// Out of scope: the reads of sources, and the readers of the Set.
//
// Read feed.go first, then proof.go.
package feed
