// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits the octets that a namespace stores in etcd and writes in a second, and its Bind9Clusters
// (S9).
//
// Guarantees:
//
//	G1. Each server counts stored octets by a watch, and written octets by its own transactions. A write costs
//	    O(1); memory grows with the namespaces that have objects or wrote recently.
//	G2. A write or dry run is checked before the ledger decides: a refused write costs nothing.
//	G3. Deletions, updates that shrink an object by a quarter, cascades and releases always pass, but are charged,
//	    up to twice the burst: after any cascade a namespace can write again soon.
//	G4. Known errors: n servers allow n times the rate. Concurrent writes may exceed a budget together, since a
//	    commit is charged afterwards. The stock lags by the watch, and is unchecked before the first count. Each
//	    further server may admit a Bind9Cluster too many.
//
// Out of scope: etcd, Kubernetes' storage, or where overrides are written.
//
// Read budget.go first, then limits.go.
package budget
