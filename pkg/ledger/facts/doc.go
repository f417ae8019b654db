// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts caches zones and their facts in memory (memory.go), and collects the facts of a decision with the
// compares that prove them (session.go). A fact is a value in etcd that decisions of the law read, for example the data
// at a name.
//
// Guarantees:
//
//  1. Stale memory does no harm: every fact of a decision is compared in its transaction (I5), so a stale fact costs a
//     round trip.
//  2. The facts of a zone are cached at the revision of its Zone object. A write of this server moves them to the new
//     revision, and a write of another server drops them.
//  3. The cached zones, and the facts of each, are bounded in number. A zone's facts are dropped a minute after the
//     last was added.
//
// Memory.Mu also guards the queues of zones in package commit. No request to etcd holds Mu.
//
// Out of scope: the meaning of a decision, and writes to etcd.
//
// Read first: session.go, then memory.go.
package facts
