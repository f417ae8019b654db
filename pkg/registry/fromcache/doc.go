// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromcache starts deletions from the watch cache. The generic store first reads etcd, although the transaction
// checks again: this read takes a tenth of the time.
//
// Guarantees: (1) etcd decides: if finalizers, uid or deletion mark have changed, the deletion starts again from etcd;
// (2) objects absent in the cache, and deletions with preconditions, start from etcd; (3) if an object gets a first
// finalizer while the collection is deleted, the answer is a conflict.
//
// Out of scope: the objects and other validation.
//
// Read delete.go.
package fromcache
