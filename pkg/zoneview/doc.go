// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview has the zones of a process: a Snapshot is a zone's definition at a serial, and a Set has all zones
// with their recent steps (changes between serials).
//
// Guarantees:
//  1. A Snapshot never changes. Snapshots share data, so a step costs its own size, not the zone's.
//  2. A step is applied only if it fits: number and serial follow, replaced headers, TTLs and rows are present, added
//     rows absent, and the content state (the hash of rows and TTLs) becomes the step's. Otherwise nothing changes, and
//     ErrMisfit names zone, step and difference.
//  3. Undo is the inverse of Apply.
//  4. A Set shows a whole transaction or nothing of it. A feed may repeat applied steps. Only a settled (deliverable)
//     snapshot replaces a settled snapshot (S7.2).
//  5. Config bounds steps, and the number of zones bounds events.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
