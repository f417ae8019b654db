// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory returns the memory available to this process, and tunes a server's garbage collector by it.
//
// Guarantees: (1) A container's limit counts if lower. (2) Unknown memory is 0, never a guess. (3) GOGC and GOMEMLIMIT
// in the environment are respected.
//
// Out of scope: the use of the memory.
//
// Read memory.go first.
package memory
