// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts caches zones and their facts (memory.go), and collects a decision's facts with the compares that prove
// them (session.go). A fact is a value in etcd that the law reads, for example the data at a name.
//
// Guarantees:
//
//  1. Stale memory costs a round trip: every fact of a decision is compared in its transaction (I5).
//  2. A zone's facts are cached at the revision of its object. A write of this server moves them to the new revision; a
//     write of another drops them.
//  3. The number of zones, and of facts of each, is bounded. A zone's facts are dropped a minute after the last was
//     added.
//
// Memory.Mu also guards the queues of zones in package commit. No request to etcd holds Mu.
//
// Out of scope: the meaning of a decision, and writes to etcd.
//
// Read first: session.go, then memory.go.
package facts
