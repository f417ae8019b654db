// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromapi feeds a zoneview.Set from what another process serves: it watches Zones, reads each once whole
// (zones/entries) and from then on what changed (zones/changes).
//
// It promises:
//
//  1. The Set holds settled states alone (S7.2): each is one that status.settledSerial named.
//  2. A zone that does not fit is counted and read anew; its state before is served meanwhile. A zone that was read
//     anew several times and cannot be proven, or that the server cannot prove, is frozen, and read again until it
//     can.
//  3. A serial that the server no longer holds (410) begins again from zones/entries; a Zone made anew is another
//     zone; a deleted one leaves the Set. A server that is away changes nothing in the Set.
//  4. Bounded: eight reads at once, one for a zone, however fast it changes; no stream but the watch.
//     Failures of a zone are retried with growing pauses that differ from zone to zone.
//
// It does not know what reads the Set. As a ServiceAccount it needs to list and watch zones, and to get zones/entries
// and zones/changes.
//
// Read source.go first, then zone.go; definition.go reads the answers.
package fromapi
