// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 writes zones to a primary of another operator by dynamic update (RFC 2136).
//
// Guarantees: (1) Nothing is overwritten unseen. Each RRset is written with the prerequisite of its last known
// content. If the prerequisite fails, the zone is transferred and compared. Data that the zone never had is foreign:
// it stays and is a Conflict, on the first delivery and after every restart, unless the class replaces it. Foreign
// data at other names or of other types always stays. (2) Our records are removed one by one; of an RRset not known
// to be ours none are. (3) Messages are signed, deciding answers are verified, and an update is a transaction of the
// server: the changes of a serial are one update if they fit 64 KiB. (4) A refused record is set aside and named; the
// others are delivered.
//
// Out of scope: the server's own data: the SOA, the NS at the apex, and signatures. It creates no zones.
//
// Read provider.go first, then update.go for the messages and compare.go for the ownership of data.
package rfc2136
