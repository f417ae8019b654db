// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck recomputes every internal key and journal step of a store from the objects, and reports the differences.
//
// Guarantees:
//
//  1. A check only reads.
//  2. All reads are at a single revision: writers need not stop.
//  3. Values determined by the objects are recomputed from the text of the semantics, without the ledger. The law
//     decides only whether a zone would adopt a waiting object.
//  4. A difference that pending work will remove is Pending, never Damage. A difference explained by former rules is a
//     note.
//
// Out of scope: repair, and the caches and views of servers.
//
// Read first: fsck.go, then journal.go (replay), zones.go and names.go (the semantics), then read.go and model.go.
package fsck
