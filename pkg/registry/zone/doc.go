// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone is the REST storage of zones.kubi.zone, with the subresources status, finalizers and establish, which is
// a permission alone, and the computed ones entries and changes.
//
// It promises: (1) spec is stored as it was written, status and generation are the server's (S7.4); (2) a dry run
// answers what the commit would (S7.3); (3) the permission to establish a standalone zone is checked before the write
// begins and never under a lock (S3.3); (4) an answer of entries or changes is of one serial, at or after the one etcd
// had when the request came (S7.1), streamed in memory that does not grow with the zone; (5) a request that cannot be
// answered is refused before the first byte, with a status that the client can act on: 410 start over, 429 and 504 try
// again later; (6) a watch of changes ends with the reason in the stream and buffers the changes of one round at most;
// (7) watches and reads have slots of their own, of which one user has at most half.
//
// It does not know how a zone is written or viewed: it declares the interfaces that it needs (kind.Decide, Views,
// Sources), and the server provides them.
//
// Read storage.go first, then views.go and entries.go; watch.go is the stream of changes.
package zone
