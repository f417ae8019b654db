// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone is the REST storage of zones.kubi.zone, with status, finalizers, dnssec, the permission establish,
// computed entries and changes, and of records/changes, a namespace's history.
//
// Guarantees, beside those of package kind: (1) the permission for a standalone zone is checked before the write, never
// under a lock (S3.3); (2) entries and changes have a single serial, at least etcd's at the request (S7.1), and stream
// in constant memory; (3) an impossible request fails before the first byte with 410 (start over), or 429 or 504
// (retry); (4) a watch of changes ends with the reason in the stream; (5) watches and reads have separate slots, at
// most half of them for a user.
//
// Out of scope: writes and views of a zone (kind.Decide, Views and Sources).
//
// Read history.go, storage.go first, then views.go, entries.go and watch.go.
package zone
