// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records decides writes of Records (S1 to S5), and the cut of a child in its parent (S6.1). A decision finds
// the zone of the record (place.go), removes the old contribution (delta.go), admits the new (admission.go,
// coexistence.go), and makes the step of the zone (diff.go, step.go).
//
// Promises. (1) A record is in at most one zone, and a decision changes one zone (I1). (2) A record refused by a
// cascade leaves its zone and waits (S2.5). (3) Serial, content state and journal step are those of the change alone
// (I3).
//
// Out of scope: how zones come and go: package zones decides that, by cascades that bring their Records here.
//
// Read first: record.go.
package records
