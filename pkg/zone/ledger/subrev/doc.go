// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subrev gives each object written by an etcd transaction a resourceVersion of its own: a client that resumes a
// watch after an object's version must not miss another object of the same transaction. The KV and Watcher of a wrapped
// client use versions instead of etcd's revisions.
//
// Guarantees:
//
//  1. A write's version is revision·128 + sub-revision. A transaction's last object of a resource has the sub-revision
//     127, the object before 126, and so on; a key that is no object has 127. So two objects of a resource never share
//     a version, and a lone write has the version in its response header.
//  2. A put with a sub-revision below 127 stores the octet 0x80|sub-revision before the value. A missing octet means
//     127.
//  3. A deletion stores nothing. Its sub-revision is one less than that of the resource's next write, so a watch asks
//     etcd for whole resources.
//  4. A response header has the version of the revision's last write. In a transaction, each write's response has the
//     write's version.
//  5. A read at a version returns all writes up to the version, and a watch delivers all writes from a version on, even
//     inside a revision. If needed revisions are compacted, the result is ErrCompacted.
//  6. A revision whose writes cannot be numbered ends the watch with ErrCompacted, so the caller lists again.
//  7. Requests that would make versions wrong are refused, for example more than 128 objects of a resource.
//  8. A watch delivers transactions in parts, with pauses, because the watch cache closes watchers that get more than
//     ten events at once.
//
// Read first: kv.go and watch.go, then number.go (a revision), within.go and version.go (one write).
package subrev
