// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromcache starts deletions from the object in the watch cache. The generic store's first read of etcd takes a
// tenth of a deletion's time, and the transaction checks again.
//
// Guarantees: (1) etcd decides: if finalizers, uid or deletionTimestamp differ, the deletion starts again from etcd;
// (2) objects absent in the cache, and deletions with preconditions, start from etcd; (3) a deletion of the collection
// is a conflict if an object meanwhile gets a first finalizer.
//
// Out of scope: other validation.
//
// Read delete.go.
package fromcache
