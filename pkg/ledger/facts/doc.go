// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts gives each decision its input. A fact is a value in etcd that the law reads to decide a write, for
// example the data at a name. A Session collects the facts of a decision, with compares: the transaction fails if a
// fact has changed meanwhile. A Memory caches zones and their facts, so most decisions need no read.
//
// Guarantees:
//
//  1. A stale cache costs a round trip, never a wrong decision (I5).
//  2. A zone's facts are cached for a revision of its Zone object. A write of this server moves them to the new
//     revision. A write of another server drops them.
//  3. The number of cached zones, and of facts of each, is bounded.
//
// Read first: session.go, then memory.go.
package facts
