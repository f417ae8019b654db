// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan computes the RRsets that a provider (a client of DNS servers) has to write or remove. It compares the
// stored state of a delivery (one zone in one DNSClass) with the zone's content.
//
// Guarantees:
//  1. A plan whose Plan.Changes is nil writes the whole zone. Otherwise Changes has every difference, unless
//     Plan.Forgotten says that the history no longer names all removed RRsets.
//  2. After an interrupted write, the plan names all RRsets to remove, as far as the journal still has the changes.
//
// Out of scope: the writes themselves.
//
// Read Source and MakePlans in plan.go.
package plan
