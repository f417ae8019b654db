// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 writes zones into a primary that another party runs, by dynamic update (RFC 2136).
//
// It promises: (1) Nothing is overwritten unseen. Each RRset is written under the prerequisite that it is as we left
// it. Where it is not, the zone is transferred and compared. Data that the zone never had there is foreign: it stays
// and is a Conflict, on the first delivery and after every restart, unless the class says that it is replaced. Foreign
// data at other names, or of other types, always stays. (2) It removes the records that we put there, one by one; of
// an RRset that is not known to be ours nothing is. (3) Messages are signed, answers that decide something are
// verified, and one update is one transaction of the server: the changes of a serial go out as one wherever 64 KiB hold
// them. (4) A record that the server refuses is set aside and named; the others go out.
//
// It does not know the server's own data, which are its SOA with the serial, its NS at the apex and its signatures. It
// makes no zones.
//
// Read provider.go first, then update.go for the messages and compare.go for what is ours.
package rfc2136
