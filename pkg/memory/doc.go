// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory sizes a server by its memory. SpareHeap makes Go's garbage collector run less often while memory is
// free.
//
// Guarantees: (1) Unknown memory is 0. (2) SpareHeap keeps GOGC and GOMEMLIMIT of the environment.
//
// Read memory.go first.
package memory
