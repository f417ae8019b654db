// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones decides the writes of Zones, and of Delegations (objects with a rule of a zone). It also decides later
// events, such as the end of a zone or of a grace period.
//
// Guarantees:
//
//  1. At most one zone of a view (split horizon) has a name, and a zone keeps its name.
//  2. If a write moves records between zones, the same transaction stores the move as pending work (I4). Until the move
//     ends, other writes there get 429.
//
// Read first: zone.go, then parent.go.
package zones
