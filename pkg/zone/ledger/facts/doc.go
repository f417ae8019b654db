// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts provides the input of decisions. A fact is a value in etcd that package law reads to decide a write,
// for example the data at a name. A ReadSet collects a decision's facts with compares: the transaction fails if a fact
// has changed meanwhile. A Memory caches zones and their facts, so most decisions need no read.
//
// Guarantees:
//
//  1. A stale cache costs a round trip, never a wrong decision.
//  2. A zone's facts are cached for a revision of its Zone object. A write of this server moves them to the new
//     revision; a write of another server drops them.
//  3. The number of cached zones, and of facts for each, is bounded.
//
// Read first: readset.go, then memory.go.
package facts
