// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone is the REST storage of zones.kubi.zone, with the subresources status, finalizers and dnssec, the
// permission establish, and the computed entries and changes.
//
// Guarantees: (1) spec is stored as written, and the server sets status and generation (S7.4); (2) a dry run has the
// commit's answer (S7.3); (3) the permission for a standalone zone is checked before the write begins, never under a
// lock (S3.3); (4) entries and changes have a single serial, not older than etcd's when the request came (S7.1), and
// stream in constant memory; (5) an impossible request fails before the first byte with a code to act on: 410 start
// over, 429 and 504 retry; (6) a watch of changes ends with the reason in the stream, and buffers a round of changes;
// (7) watches and reads have separate slots, of which a user has at most half.
//
// Out of scope: writes and views of a zone. The server implements kind.Decide, Views and Sources.
//
// Read storage.go first, then views.go and entries.go; watch.go is the stream of changes.
package zone
