// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts is what one server knows of the store, and what proves it: the names of zones (memory.go) and, for
// each decision, the facts that it asked for with the compares that show that they still hold (session.go).
//
// Promises. (1) Memory may be stale, never wrong in effect: every fact that a decision rests on is compared when it
// commits (I5), so a stale one costs a round trip. (2) A fact of a zone is remembered with the revision of the Zone
// object, since it changes only together with that; when the zone has moved it is forgotten. At -v=5 one of a hundred
// decisions has these facts read again and compared (covered.go). (3) Memory is bounded:
// so many zones, so many facts of each, and none a minute after the last of them was noted.
//
// Memory.Mu guards the names and zones, and what package commit keeps beside a zone, which is its queue. It is not
// held while etcd is asked.
//
// It does not know what a decision is about, and writes nothing.
//
// Read first: session.go, then memory.go.
package facts
