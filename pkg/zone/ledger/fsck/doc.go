// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck checks the consistency of a store, for `kubizone fsck`. The check recomputes all internal keys and
// journal steps from the Zones, Records and Delegations, and reports the differences.
//
// Guarantees:
//
//  1. A check only reads, at a single revision, so servers may write meanwhile.
//  2. Values derived from the objects are computed by the text of docs/semantics.md, without the server's code, so a
//     mistake of the server shows. Package law decides only the adoption of objects in no zone.
//  3. A difference is Pending, not Damage, if work in progress will remove it. A difference explained by former rules
//     is a note.
//
// Read first: fsck.go, then journal.go (replay), zones.go and names.go (the semantics), then read.go and model.go.
package fsck
