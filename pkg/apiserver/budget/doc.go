// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds in octets what the Records and Zones of a namespace take in etcd, and what its writes put
// there, and by number its Bind9Clusters (S9).
//
// It promises:
//
//	G1. Each server that follows the store counts what a namespace has, and what its writes put into etcd by the
//	    transactions of this server. Neither is a stored fact; both are O(1) for a write, and memory grows with the
//	    number of namespaces that have objects or have written lately.
//	G2. A write is judged before it is decided, so that a refused one costs nothing; a dry run is judged as the write.
//	G3. Deletions, updates that shrink by a quarter, and what no client writes (cascades, releases) always pass.
//	    They are charged all the same: what shrinking and growing in turns writes is bounded by the rate. A charge is
//	    at most twice the burst, so that a namespace that sets off a cascade of any size writes again when a burst's
//	    time is over.
//	G4. Errors: each server counts for itself what its writes put into etcd, so of n servers a namespace has up to n
//	    times the rate. A write is charged when it was committed, so those under way at once may exceed a budget
//	    together, and the stock is behind by what the watch has not told yet. While a server counts the store at its
//	    start, the stock is not judged. Bind9Clusters are counted in the store at each creation, and those under way
//	    beside them: a namespace has at most one more than it may for each further server.
//
// It does not know etcd, Kubernetes' storage or where limits of single namespaces stand.
//
// Read budget.go first, then limits.go.
package budget
