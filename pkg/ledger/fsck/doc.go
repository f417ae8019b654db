// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck recomputes every internal key and journal step of a store from the objects, at one etcd revision, and
// reports the differences. Every test of the ledger ends with it.
//
// Guarantees:
//
//  1. A check only reads.
//  2. All reads are at the same revision, so writers need not stop.
//  3. Values determined by the objects are recomputed from the text of the semantics, independently of the ledger and
//     the law. Other values (a record's admission, a cascade's begin) are compared with related values. The law is
//     asked only whether a zone would adopt a waiting object.
//  4. A difference that pending work will remove is listed as Pending, never as Damage. A difference explained by
//     former rules is a note.
//  5. A check needs a few hundred octets of memory for each record. Objects, keys and journals are read in pages.
//
// Out of scope: repair, and the caches and views of servers.
//
// Read first: fsck.go (input and report), then journal.go (replay), zones.go and names.go (the semantics against the
// model), then read.go and model.go (the store according to its objects).
package fsck
