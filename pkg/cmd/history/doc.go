// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history has the sub-commands about the past of a zone: log, blame, diff, show and revert.
//
// Guarantees:
//
//	H1. A follower prints each change once and in order, across several watches.
//	H2. An error message has the command to continue.
//	H3. A revert prints its plan before it asks, and asks before it writes.
//
// Out of scope: the past itself, and the plan (pkg/history).
//
// Read first: revert.go, ask.go, log.go, room.go.
package history
