// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 writes zones to a primary of another operator by DNS UPDATE messages (RFC 2136).
//
// Guarantees:
//  1. Nothing is overwritten unseen. Each update has the RRset's last known content as prerequisite. If the
//     prerequisite fails, the package transfers the zone and compares. Data that the zone never had is foreign, and
//     stays. If the zone has an RRset of the same name and type, this is a Conflict, unless the class replaces foreign
//     data.
//  2. Our records are removed individually, and none from an RRset not known to be ours.
//  3. Messages are signed, and answers verified. The changes of a serial are one update, a transaction of the server,
//     if they fit 64 KiB.
//  4. Refused records are named, and the others delivered.
//
// Read provider.go first, then update.go and compare.go.
package rfc2136
