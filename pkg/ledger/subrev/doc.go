// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subrev gives each object that a transaction writes a resourceVersion of its own: a client of etcd
// whose KV and Watcher speak of versions where etcd speaks of revisions. etcd3.Store and the watch cache need no
// change.
//
// Promises. (1) The version of a write is revision·128 + sub-revision. The last object of a resource in a transaction
// has sub-revision 127, the one before it 126, and so on; each resource counts for itself, and a key that is no
// object has 127. So no two objects of one resource have one version, and a lone write has the version of its header.
// (2) A put below 127 stores its sub-revision as one octet, 0x80|sub-revision, before the value. No octet means 127:
// what was written without this package stays readable. (3) A deletion stores nothing. Its sub-revision is one less
// than that of the next write of its resource, which is why a watch always asks etcd for whole resources. (4) A
// header has the version of the last write of its revision; the answer to each write in a transaction has that
// write's own. (5) A read at a version shows what is not above it, a watch from a version shows what is not below it,
// inside a revision too; where etcd has compacted what that needs, the answer is ErrCompacted and never less. (6) A
// revision whose writes cannot be numbered ends the watch with ErrCompacted, so that its caller lists anew. (7) What
// would make versions wrong is refused before it is sent: more than 128 objects of a resource, a deletion of what may
// be absent beside other writes, an order against a version inside a revision. (8) A watch hands over what
// transactions wrote in parts, with a pause between them, since the watch cache closes watchers that more than ten
// events meet at once.
//
// It does not know what objects are, nor which transactions write them. A read of keys alone sees no octets, so its
// versions say the revision and not the sub-revision. Revisions that leave etcd by another way (the status of a
// member, the compactor's key, a snapshot) are not mapped: Compactor maps one of them.
//
// Read first: kv.go and watch.go, then number.go (a revision), within.go and version.go (one write).
package subrev
