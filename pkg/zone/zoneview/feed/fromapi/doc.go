// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromapi keeps a zoneview.Set up to date with the API. It watches Zones, reads the content of each zone once
// (zones/entries), and then its changes (zones/changes).
//
// Guarantees:
//
//  1. The Set has only settled states, those that name servers may get (status.settledSerial).
//  2. A zone whose changes do not fit is read again, and its last state is served until then. After several failed
//     proofs, or if the server has no proof, the zone is frozen, and read again until a proof succeeds.
//  3. A zone is also read again after a 410 for a serial. A Zone with a new UID is another zone, and a deleted Zone
//     leaves the Set. While the server is unreachable, nothing changes.
//  4. At most eight zones are read at a time.
//
// The ServiceAccount needs list and watch of zones, and get of zones/entries and zones/changes.
//
// Read source.go first, then zone.go.
package fromapi
