// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records decides writes of Records (S1 to S5), and what a parent has of the cut of a child (S6.1). A decision
// finds the zone of the record (place.go), takes what goes out of what stands there (delta.go), admits what comes
// (admission.go, coexistence.go), and makes the step of the zone (diff.go, step.go).
//
// Promises. (1) A record is in one zone at most, and a decision changes one (I1). (2) What a refusal of a cascade
// takes out of a zone waits, and is found again (S2.5). (3) The serial, the content state and the journal's step are
// those of the change, and of nothing else (I3).
//
// It does not know how a zone comes or goes: package zones owes the work, whose steps are decided here.
//
// Read first: record.go.
package records
