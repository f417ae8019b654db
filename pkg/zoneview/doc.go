// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview keeps the content of zones in memory. A Snapshot is a zone's content at a serial. A Set contains all
// zones of a process, with their recent steps, the changes between two serials.
//
// Guarantees:
//
//  1. A Snapshot never changes. Snapshots share data, so a step costs its own size, not the zone's.
//  2. A step is applied only if it fits: its number and serial follow the zone's, the zone has the content that it
//     replaces, and the resulting content state (the hash of rows and TTLs) is the step's. Otherwise nothing changes,
//     and the error is ErrMisfit with the zone, the step and the difference.
//  3. Readers of a Set see a transaction entirely or not at all. A feed may repeat applied steps. A settled snapshot,
//     meant for name servers, is replaced only by another settled snapshot.
//  4. Config limits the memory for steps. A subscriber has at most one pending event for each zone.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
