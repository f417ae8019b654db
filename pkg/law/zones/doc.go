// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones decides writes of Zones and Delegations (S3, S4.3), the ends of zones and of what their rules allow no
// more (S2.12, S3.5 to S3.8), and the marks of cascades (S7.2).
//
// Promises. (1) A name is held by one zone of a view (S1.5). (2) What a zone takes from another one, or leaves to it,
// is a work that the same write owes (I4), and its names are locked until that is through (S2.10). (3) A zone keeps its
// name (S1.6).
//
// It does not know which records move: the cascade asks package records about each.
//
// Read first: zone.go, then parent.go.
package zones
