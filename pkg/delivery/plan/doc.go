// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan computes the writes that bring a provider from the state of a delivery (a zone in a class) to the zone's
// content, or that remove a zone.
//
// Guarantees: (1) A plan whose Plan.Changes is nil writes the whole zone. Otherwise Changes has every difference,
// unless Plan.Forgotten. (2) After a partial write, the plan names all RRsets to remove, as far as the journal has the
// changes.
//
// Out of scope: the writes themselves, and when to deliver.
//
// Read Source and MakePlans in plan.go.
package plan
