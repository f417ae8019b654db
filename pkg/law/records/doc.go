// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records checks and plans writes of Records (S1 to S5), and of a child's cut (NS, glue and DS) in the parent
// zone (S6.1). "Own" is the zone's own namespace. A decision finds the record's zone (place.go), removes the old
// contribution (delta.go), admits the new (admission.go, coexistence.go), and makes the zone's step (step.go).
//
// Guarantees: (1) A record is in at most one zone, and a decision changes one zone (I1). (2) If a cascade (the stepwise
// decisions after a change) refuses a record, it leaves its zone and waits (S2.5). (3) Serial, content state and
// journal step follow from the change (I3).
//
// Out of scope: creation and removal of zones, in package zones.
//
// Read first: record.go.
package records
