// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview keeps the content of zones in memory. A Snapshot is a zone's content at a serial. A Set contains all
// zones of a process, with their recent steps, the changes between two serials. Package feed fills a Set.
//
// Guarantees:
//
//  1. A Snapshot never changes. Snapshots share data, so a step costs its own size, not the zone's.
//  2. A step is applied only if it follows the zone's number and serial, replaces content that the zone has, and leads
//     to the hash in Step.State. Otherwise nothing changes, and the error is ErrMisfit.
//  3. Readers of a Set see a transaction entirely or not at all.
//  4. A settled snapshot, meant for name servers, is replaced only by another settled snapshot.
//  5. Steps that a Set has already are skipped.
//  6. Config limits the memory for steps. A subscriber has at most one pending event for each zone.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
