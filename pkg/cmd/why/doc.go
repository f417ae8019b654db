// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why is the sub-command that prints why a name does or does not resolve.
//
// Guarantees:
//
//	Y1. The first link that fails precedes all others, with the role that can mend it and the next step.
//	Y2. The exit code is 0 if no link fails or waits, 1 if one does, 2 if the question could not be answered.
//
// Out of scope: the links (pkg/why).
//
// Read why.go.
package why
