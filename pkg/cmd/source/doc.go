// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source has the flags that select a store: a data directory, in use or not, or an etcd cluster.
//
// Guarantees:
//
//	S1. No data directory is created.
//	S2. A data directory in use is reached through the process using it.
//
// Out of scope: the use of the store.
//
// Read source.go.
package source
