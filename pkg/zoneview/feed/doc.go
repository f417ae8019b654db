// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed keeps a zoneview.Set at what another process serves: it watches Zones, reads each once whole
// (zones/entries) and from then on what changed (zones/changes).
//
// It promises:
//
//  1. The Set holds settled states alone (S7.2): each is the one that status.settledSerial named when it was put in.
//  2. A zone is put in proven: its rows make the content state that the server says, and every step leads to the state
//     that it claims. What does not fit is counted and read anew; what was there before is served meanwhile.
//  3. A serial that the server no longer holds (410) begins again from zones/entries; a Zone made anew is another
//     zone; a deleted one leaves the Set. A server that is away changes nothing in the Set.
//  4. The feed is in sync only when every zone of the first listing is in: who makes a list of zones out of the Set
//     must not take a slow zone for one that is gone. Nobody waits for a zone that is frozen: one that was read anew
//     several times and cannot be proven, or that the server cannot prove. It is read again until it can.
//  5. Bounded: Config.Parallel reads at once, one for a zone, however fast it changes; no stream but the watch.
//     Failures of a zone are retried with growing pauses that differ from zone to zone.
//
// It does not know who reads the Set. As a ServiceAccount it needs to list and watch zones, and to get zones/entries
// and zones/changes.
//
// Read feed.go first, then zone.go; definition.go reads the answers.
package feed
