// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update turns a message of DNS UPDATE (RFC 2136) into one change of a zone.
//
// It promises:
//
//  1. A message has a bounded number of records and RRsets.
//  2. A message means what RFC 2136 §3.2 and §3.4 say, record by record and in order, folded into the RRsets that
//     differ afterwards. Where the RFC has a server ignore a record and say NOERROR, the message is refused: NOERROR
//     means that all of it is in the zone.
//  3. An update changes the dynamic share of one namespace alone: the RRsets that updates made for it. What else that
//     namespace has at a name is neither changed nor removed, and a message that wants to is refused with the reason.
//     What other namespaces have there is neither seen nor a reason to refuse.
//
// It does not know which user may write what, nor where a zone is stored: the caller reads contents and carries
// changes out.
//
// Read message.go first, then fold.go; prerequisite.go judges what a message requires,
// scope.go says which names and types a key may write, package wire reads octets.
package update
