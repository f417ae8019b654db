// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone is the REST storage of zones.kubi.zone, with the subresources status, finalizers and dnssec, the
// permission establish, the computed entries and changes, and of records/changes, the history of a namespace.
//
// Guarantees: (1) spec is stored as written, and the server sets status and generation (S7.4); (2) a dry run has the
// commit's answer (S7.3); (3) the permission for a standalone zone is checked before the write begins, never under a
// lock (S3.3); (4) entries and changes have a single serial, at least the serial in etcd when the request came (S7.1),
// and stream in constant memory; (5) an impossible request fails before the first byte with 410 (start over), or 429 or
// 504 (retry); (6) a watch of changes ends with the reason in the stream; (7) watches and reads have separate slots, of
// which a user has at most half.
//
// Out of scope: writes and views of a zone (kind.Decide, Views and Sources).
//
// Read history.go, storage.go first, then views.go, entries.go and watch.go.
package zone
