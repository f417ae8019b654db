// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts is a server's memory of the store, and the proof of its facts. memory.go caches the names of zones,
// and the zones. session.go collects the facts of a decision, with the compares that prove them.
//
// Promises. (1) Stale memory does no harm: every fact of a decision is compared in its transaction (I5), so a stale
// fact costs a round trip. (2) A fact of a zone is cached with the revision of the Zone object, without which it
// never changes. When the zone moves, its facts are dropped. At -v=5, one of a hundred decisions has these facts read
// again and compared (covered.go). (3) The zones in memory and the facts of each are bounded, and facts are dropped a
// minute after the last was noted.
//
// Memory.Mu guards names and zones, and the queue of each zone in package commit. It is not held during requests to
// etcd.
//
// Package facts does not know the subject of a decision, and writes nothing.
//
// Read first: session.go, then memory.go.
package facts
