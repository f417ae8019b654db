// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan computes the RRsets that a provider (a client of DNS servers) has to write or remove. It compares the
// stored state of a delivery, one zone in one DNSClass, with the zone's content. The state has the last confirmed
// serial, and the journal (recent changes of each zone) the RRsets changed since.
//
// Guarantees:
//  1. Plan.Changes has every RRset that differs from the confirmed serial. Changes is nil if the zone was never
//     delivered, if the extent of an interrupted write is unknown, or if the journal no longer has the changes. The
//     whole zone is then written.
//  2. Plan.Forgotten is true if the journal no longer names all removed RRsets. The provider may then keep some.
//  3. After an interrupted write, the plan names all RRsets to remove, as far as the journal still has the changes.
//
// Out of scope: the writes themselves.
//
// Read Source and MakePlans in plan.go.
package plan
