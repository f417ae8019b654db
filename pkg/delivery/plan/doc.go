// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan computes the writes that lead from the state of a delivery to the zone's content, or that remove a zone.
//
// Guarantees: (1) A plan without Plan.Changes covers the whole zone. A plan with Changes names all differences, or is
// marked Plan.Forgotten. (2) After a partial write, the plan names all RRsets to remove, as far as the history reaches.
//
// Out of scope: writes, and the memory and schedule of deliveries.
//
// Read Source and MakePlans in plan.go.
package plan
