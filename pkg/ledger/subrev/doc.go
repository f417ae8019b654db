// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subrev gives each object written by an etcd transaction a resourceVersion of its own. The KV and Watcher of a
// wrapped client use versions instead of etcd's revisions.
//
// Guarantees:
//
//  1. A write's version is revision·128 + sub-revision. The last object of a resource in a transaction has the
//     sub-revision 127, the object before it 126, and so on. A key that is no object has 127. So two objects of a
//     resource never share a version, and a lone write has the version in its response header.
//  2. A put with a sub-revision below 127 stores the octet 0x80|sub-revision before the value. A missing octet means
//     127.
//  3. A deletion stores nothing. Its sub-revision is that of the resource's next write minus one, so a watch asks etcd
//     for whole resources.
//  4. A response header has the version of the revision's last write. In a transaction, the response to each write has
//     the version of that write.
//  5. A read at a version returns all writes up to it, and a watch from a version delivers all from it on, also inside
//     a revision. If the revisions for this are compacted, the result is ErrCompacted.
//  6. A revision whose writes cannot be numbered ends the watch with ErrCompacted, so that its caller lists again.
//  7. Requests that would make versions wrong are refused: more than 128 objects of a resource, the deletion of a
//     possibly absent key beside other writes, an ordered compare with a version inside a revision.
//  8. A watch delivers transactions in parts, with pauses, because the watch cache closes watchers that get more than
//     ten events at once.
//
// Read first: kv.go and watch.go, then number.go (a revision), within.go and version.go (one write).
package subrev
