// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory reads the size of the machine's memory, and makes Go's garbage collector run less often while memory
// is free.
//
// Guarantees:
//
//  1. Total returns 0 for unknown memory.
//  2. SpareHeap keeps GOGC and GOMEMLIMIT of the environment.
package memory
