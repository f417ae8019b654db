// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 writes zones to another operator's primary by dynamic update (RFC 2136).
//
// Guarantees: (1) Nothing is overwritten unseen. The prerequisite of each write is the RRset's last known content. If
// it fails, the zone is transferred and compared. Data that the zone never had is foreign: it stays and is a Conflict,
// unless the class replaces it. At other names or of other types foreign data always stays. (2) Our records are removed
// singly; from an RRset not known to be ours, none is removed. (3) Messages are signed, and answers verified. A
// serial's changes are one update, a transaction of the server, if they fit 64 KiB. (4) Refused records are named, and
// the others delivered.
//
// Out of scope: the server's own data (SOA, NS at the apex, signatures), and the creation of zones.
//
// Read provider.go first, then update.go and compare.go.
package rfc2136
