// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromapi feeds a zoneview.Set from the API: it watches Zones, reads each zone once (zones/entries), then its
// changes (zones/changes).
//
// Guarantees:
//
//  1. The Set has only settled states (S7.2), with the serial of status.settledSerial.
//  2. A zone whose steps do not fit is read again; its last state is served. After several failed proofs, or if the
//     server has none, the zone is frozen, and read again until a proof succeeds.
//  3. After a 410 for a serial, the zone is read again. A Zone with a new UID is another zone; a deleted Zone leaves
//     the Set. Without a server nothing changes.
//  4. At most eight zones are read at a time. The only stream is the watch. Failures are retried with growing, jittered
//     pauses.
//
// The ServiceAccount needs list and watch of zones, and get of zones/entries and zones/changes.
//
// Read source.go first, then zone.go.
package fromapi
