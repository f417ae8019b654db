// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits how much of etcd a namespace uses: the octets of its stored objects, the octets that it writes
// in a second, and its Bind9Clusters. Beyond a limit the API server answers 403, or 429 for writes (S9.1, S9.2).
//
// A namespace may write the octets of a minute at once, its burst.
//
// Guarantees:
//
//	G1. Deletions, updates that shrink an object by a quarter, and follow-up writes of the ledger always pass.
//	    They count as written, up to two bursts, so a namespace can soon write again.
//
// The limits are approximate. With n servers, a namespace may write n times the rate, and have n-1 more Bind9Clusters.
// Concurrent writes may exceed a limit, since they are counted after the commit.
//
// Read budget.go first, then limits.go.
package budget
