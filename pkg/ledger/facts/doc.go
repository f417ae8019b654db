// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts caches zones and their facts in memory (memory.go), and collects the facts of a decision with the
// compares that prove them (session.go). A fact is a value in etcd read by decisions of the law, for example the data
// at a name.
//
// Promises. (1) Stale memory does no harm: every fact of a decision is compared in its transaction (I5), so a stale
// fact costs a round trip. (2) The facts of a zone are cached with the revision of its Zone object, and dropped when
// the revision changes. At -v=5, samples are compared with etcd (covered.go). (3) The number of cached zones, and of
// facts for each zone, is bounded. Facts are dropped a minute after the last was added to the zone.
//
// Memory.Mu guards names and zones, and the queue of each zone in package commit. No request to etcd holds Mu.
//
// Out of scope: the meaning of a decision, and writes to etcd.
//
// Read first: session.go, then memory.go.
package facts
