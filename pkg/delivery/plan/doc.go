// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan computes the RRsets that a provider (a client of DNS servers) has to write or remove. It compares the
// stored state of a delivery, a zone in a DNSClass, with the zone's content. The state has the last confirmed serial.
// The journal has the zone's changes since.
//
// Guarantees:
//  1. Plan.Changes has every RRset that differs from the confirmed serial.
//  2. Plan.Changes is nil, and the whole zone is written, if the zone was never delivered, the extent of an interrupted
//     write is unknown, or the journal no longer has the changes.
//  3. The plan names all RRsets to remove, also after an interrupted write. If the journal no longer names them all,
//     Plan.Forgotten is true.
//
// Read Source and MakePlans in plan.go.
package plan
