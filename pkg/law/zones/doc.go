// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones decides writes of Zones and Delegations (S3, S4.3), the end of zones and of withdrawal periods (S2.12,
// S3.5 to S3.8), and a zone's marks of unfinished cascades, stepwise decisions after a change (S7.2). "Own" is the
// zone's own namespace.
//
// Guarantees: (1) At most one zone of a view has a name (S1.5). (2) A write that moves records between zones has the
// outbox item of the move (I4), and locks their names until it ends (S2.10). (3) A zone keeps its name (S1.6).
//
// Out of scope: the choice of records that move, in package records.
//
// Read first: zone.go, then parent.go.
package zones
