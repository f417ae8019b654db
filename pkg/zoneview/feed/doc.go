// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed keeps a zoneview.Set at what a source tells of zones: it proves each zone that a source has read whole,
// puts it in, leads it on step by step, and freezes what cannot be proven. The sources are the ledger's journal
// (fromjournal), for the API server, and the API itself (fromapi), for every other process.
//
// It promises:
//
//  1. A zone is put in proven: its rows make the content state that it claims, and every step leads to the state that
//     it claims. The state proven before is served meanwhile.
//  2. Transactions of a zone whose proof is in flight wait for the proof. The proofs in flight are bounded.
//  3. A zone that cannot be proven is frozen: it stays as it was proven last, or is not in the Set, until it is proven
//     again. No other zone waits for it.
//  4. The feed is in sync only when every zone of the first listing is in or frozen: a reader that makes a list of
//     zones out of the Set must not take a slow zone for one that is gone.
//
// It does not know where a source reads, when it reads a zone again, or what reads the Set.
//
// Read feed.go first, then proof.go.
package feed
