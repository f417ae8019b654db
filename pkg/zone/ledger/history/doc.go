// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history keeps the steps (changes) of zones longer than the journal does. The write of a Record stores the
// former Record as a state. In the background, steps move from the journal into compressed segments of an account,
// within the account's share of etcd. A namespace has an account for its own steps, and one for the steps caused by
// each other namespace. Readers get the steps of a zone, or of a namespace's Records, newest first.
//
// Guarantees:
//
//  1. A step is in the journal or a segment until its retention ends, or its account exceeds the share.
//  2. The state before a step is the Record as last written, or names the parts left out.
//  3. A namespace's share pays for all steps caused by the namespace.
//  4. An answer tells since when no step is missing. For a namespace, this concerns its own account.
//  5. No write waits for an archive, and no decision reads one.
//
// Read first: archive.go, share.go, own.go, cursor.go, read.go, segment.go, state.go
package history
