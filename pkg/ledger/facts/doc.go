// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts is a server's memory of the store, and the proof of its facts. memory.go caches the names of zones,
// and the zones. session.go collects the facts of a decision, with the compares that prove them.
//
// Promises. (1) Stale memory does no harm: every fact of a decision is compared in its transaction (I5), so a stale
// fact costs a round trip. (2) A zone's facts are cached with the revision of the Zone object, and dropped when the
// zone moves. At -v=5, one of a hundred decisions reads its facts again and compares (covered.go). (3) The zones in
// memory and the facts of each are bounded, and facts are dropped a minute after the last was noted.
//
// Memory.Mu guards names and zones, and the queue of each zone in package commit. No request to etcd holds Mu.
//
// Out of scope: the subject of a decision, and writes nothing.
//
// Read first: session.go, then memory.go.
package facts
