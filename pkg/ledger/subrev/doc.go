// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subrev gives each object written by an etcd transaction a resourceVersion of its own. The KV and Watcher
// of a wrapped etcd client use versions instead of etcd's revisions. etcd3.Store and the watch cache need no change.
//
// Guarantees:
//
//  1. The version of a write is revision·128 + sub-revision. The last object of a resource in a transaction has
//     sub-revision 127, the object before 126, and so on; a key that is no object has 127. So no two objects of a
//     resource have the same version, and a lone write has the version of its response header.
//  2. A put below 127 stores its sub-revision as an octet, 0x80|sub-revision, before the value. No octet means 127, so
//     values written without this package stay readable.
//  3. A deletion stores nothing. Its sub-revision is that of the resource's next write minus one, so a watch asks etcd
//     for whole resources.
//  4. A response header has the version of the revision's last write. In a transaction, the response to each write has
//     the version of that write.
//  5. A read at a version returns all writes up to the version, and a watch from a version delivers all writes from it
//     on, also inside a revision. If etcd has compacted needed revisions, the result is ErrCompacted, never less.
//  6. A revision whose writes cannot be numbered ends the watch with ErrCompacted, so that its caller lists again.
//  7. Requests that would make versions wrong are refused unsent: more than 128 objects of a resource, a deletion of a
//     possibly absent key beside other writes, an order against a version inside a revision.
//  8. A watch delivers the writes of transactions in parts, with pauses, because the watch cache closes watchers that
//     get more than ten events at once.
//
// Out of scope: the content of objects, the transactions that write them, and the sub-revision in a read of keys alone,
// which gets no octets. Revisions that leave etcd otherwise (the status of a member, a snapshot) are not mapped.
//
// Read first: kv.go and watch.go, then number.go (a revision), within.go and version.go (one write).
package subrev
