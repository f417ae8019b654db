// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone is the door of Zones: the REST storage of zones.kubi.zone, its subresources status, finalizers and
// establish (a right alone), and the computed ones entries and changes.
//
// It promises: (1) spec is stored as it was written, status and generation are the server's (S7.4); (2) a dry run
// answers what the commit would (S7.3); (3) whether somebody may establish a standalone zone is asked before the
// write begins and never under a lock (S3.2); (4) an answer of entries or changes is of one serial, at or after the
// one etcd had when the request came (S7.1), streamed at a memory that does not grow with the zone; (5) what it
// cannot answer it refuses before the first byte, with the status the client can act on: 410 start over, 429 and 504
// come back later; (6) a watch of changes is told in the stream why it ends, keeps no more of them than one round,
// and no reader stands in another's way: who stays and who only reads have places apart, of which one user has at
// most half.
//
// It does not know how a zone is written or viewed: it declares what it needs of both (preview.Decide, Views,
// Sources), and the server plugs it.
//
// Read storage.go first, then views.go and entries.go; watch.go is the stream of changes.
package zone
