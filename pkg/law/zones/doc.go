// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones decides the writes of Zones and Delegations (objects with a rule of a zone; S3, S4.3). It also decides
// later events: a zone loses its name (S3.5 to S3.8), a grace period is over (S2.12), or a cascade (stepwise decisions
// after a change) has finished (S7.2).
//
// Guarantees:
//
//  1. At most one zone of a view has a name (S1.5), and a zone keeps its name (S1.6).
//  2. If a write moves records between zones, the same transaction stores the move as pending work (I4). Until the move
//     ends, the names are locked (S2.10).
//
// Out of scope: the choice of records that move (package records).
//
// Read first: zone.go, then parent.go.
package zones
