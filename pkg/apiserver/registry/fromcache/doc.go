// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromcache makes deletions faster: the first read of the object comes from the watch cache instead of etcd.
// This saves a tenth of the time. The transaction checks the object again.
//
// Guarantees:
//
//  1. If finalizers, uid or deletionTimestamp differ in etcd, the deletion starts again from etcd.
//  2. Objects absent in the cache, and deletions with preconditions, start from etcd.
//  3. A deletion of the collection is a conflict if an object meanwhile gets a first finalizer.
package fromcache
