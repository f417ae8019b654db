// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history keeps the steps of zones longer than the journal does. A write of a Record stores the Record's former
// state (state.go). In the background the steps of a zone move from the journal into compressed segments (segment.go,
// line.go), one for each namespace with writes (archive.go), within the namespace's share of etcd (share.go). Readers
// get the steps of a zone, or of a namespace's Records, newest first (read.go).
//
// Guarantees:
//
//  1. A step is in the journal, in a segment, or both, until its time or its namespace's share is over. A transaction
//     with a segment also advances the zone's Archived, and deletes the states contained in the segment.
//  2. The state before a step is the Record at its last write, or names the missing parts.
//  3. A namespace pays with its share for its own steps: above the share only its own oldest segments are condensed.
//  4. An answer gives the time after the last missing step.
//  5. No write waits for an archive, and no decision reads one.
//
// Out of scope: the journal itself, needed by providers, and the rights of readers.
//
// Read first: archive.go, share.go, read.go, segment.go, line.go, state.go
package history
