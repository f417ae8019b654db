// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory reports this process's memory, for bounds that are a share of it, and tunes a server's garbage
// collector.
//
// Guarantees: (1) A lower limit of the container counts. (2) Unknown is 0, never a guess. (3) GOGC and GOMEMLIMIT in
// the environment are respected.
//
// Out of scope: the use of the memory.
//
// Read memory.go first.
package memory
