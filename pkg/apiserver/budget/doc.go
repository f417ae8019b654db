// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits a namespace's octets stored in etcd, octets written in a second, and Bind9Clusters (S9).
//
// Guarantees:
//
//	G1. Each server counts stored octets from a watch, and written octets from its own transactions. A write costs
//	    O(1). Memory grows with the namespaces that have objects or wrote recently.
//	G2. Writes and dry runs are checked before the ledger (pkg/ledger) decides them.
//	G3. Deletions, updates that shrink an object by a quarter, and the ledger's follow-up writes always pass. They are
//	    charged up to twice the burst (a minute's rate), so a namespace can soon write again.
//	G4. Limits are approximate: n servers allow n times the rate, and n-1 Bind9Clusters more. Concurrent writes may
//	    exceed a budget, since commits are charged afterwards. Stored octets lag, and are unchecked before the first
//	    count.
//
// Out of scope: etcd, Kubernetes' storage, and the origin of overrides.
//
// Read budget.go first, then limits.go.
package budget
