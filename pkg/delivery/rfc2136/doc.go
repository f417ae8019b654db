// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 writes zones into the primary of somebody else by dynamic update (RFC 2136).
//
// It promises: (1) Nothing is overwritten unseen: each RRset is written under the prerequisite that it is as we left
// it. Where it is not, the zone is transferred and looked at. What the zone never had there is somebody else's: it
// stays as it is and is a Conflict, on the first delivery and after every restart, unless the class lets it be
// replaced. What others have at other names, or of other types, stays always. (2) What is removed is what we put
// there, record by record; of an RRset that is not known to be ours nothing is. (3) Messages are signed, answers that
// decide something are verified, and one update is one transaction of the server: the changes of a serial go out as
// one wherever 64 KiB hold them. (4) A record that the server refuses is set aside and named; the others go out.
//
// It does not know the server's own: its SOA, with the serial, its NS at the apex, its signatures. It makes no zones.
//
// Read provider.go first, then update.go for the messages and compare.go for what is ours.
package rfc2136
