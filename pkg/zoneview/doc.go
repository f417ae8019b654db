// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview has the zones of a process: a Snapshot is a zone's definition at a serial, and a Set has all zones
// with their recent steps (changes between serials).
//
// Guarantees:
//  1. A Snapshot never changes. Snapshots share data, so a step costs its own size, not the zone's.
//  2. A step is applied only if it fits: its number and serial follow, replaced headers, TTLs and rows are present, added
//     rows are absent, and the content state (the hash of rows and TTLs) becomes the step's. Otherwise nothing changes,
//     and ErrMisfit names zone, step and difference.
//  3. Undo is the inverse of Apply.
//  4. A Set shows a whole transaction or nothing of it. A feed may apply steps repeatedly. A settled (deliverable)
//     snapshot is only replaced by a settled snapshot (S7.2).
//  5. Steps are bounded by Config, pending events by the number of zones.
//
// Out of scope: sources and readers of zones.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
