// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory says how much memory this process has, for bounds that are a share of it, and lets a server's garbage
// take such a share.
//
// It promises: (1) A container's limit counts where that is less than the machine's memory. (2) What cannot be told
// is 0, never a guess. (3) GOGC and GOMEMLIMIT of the environment are kept.
//
// It does not know what the memory is for.
//
// Read memory.go first.
package memory
