// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromcache has a deletion begin with what the watch cache has of the object, as a generic store's updates
// do. The generic store reads etcd for it first, and etcd is asked again by the transaction that deletes: that read
// was a tenth of a deletion.
//
// It promises: (1) what is deleted is decided on the object that is deleted: where it has other finalizers, another
// uid or another deletion mark than what was read, the deletion begins anew with a read of etcd; (2) what the cache
// does not have is looked for in etcd, and a deletion with preconditions begins there; (3) an object that gets its
// first finalizer while its collection is deleted does not go: the answer is a conflict.
//
// It does not know what is deleted, nor what else is validated.
//
// Read delete.go.
package fromcache
