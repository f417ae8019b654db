// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone serves Zones (REST storage of zones.kubi.zone), with the subresources status, finalizers, dnssec, and:
//
//   - zones/entries: the resource records of a zone, also as a zone file
//   - zones/changes: the changes between serials, as a list, watch or history
//   - records/changes: the history of a namespace's Records
//   - zones/establish: only a right in RBAC, to create a zone without a parent zone
//
// Guarantees, beside those of package kind:
//
//  1. The right to establish is checked before the write, never under a lock (S3.3).
//  2. An answer has a single serial, at least the zone's serial in etcd at the request (S7.1), and streams in constant
//     memory.
//  3. A request that cannot be answered fails before the first byte: 410 means start over, 429 and 504 mean retry. A
//     watch of changes ends with the reason in the stream.
//  4. Watches and reads have separate slots, at most half of them for a user.
//
// Read history.go, storage.go first, then views.go, entries.go and watch.go.
package zone
