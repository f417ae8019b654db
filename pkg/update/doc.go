// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update turns a DNS UPDATE message (RFC 2136) into changed RRsets (Fold). Package registry/updatekey calls it
// with the present RRsets of a namespace, and writes the changes as a change set.
//
// Guarantees:
//
//  1. The records and RRsets of a message are bounded.
//  2. A message has the meaning of RFC 2136 §3.2 and §3.4. Records that the RFC silently ignores are refused, so that
//     NOERROR means all is in the zone.
//  3. An update changes only RRsets made by earlier updates for the namespace (the dynamic share). A change of the
//     namespace's other data is refused. But a deletion of all RRsets at a name (ANY, ANY) leaves other data, with
//     NOERROR. Other namespaces' data is ignored.
//
// Read message.go first, then fold.go, prerequisite.go and scope.go; package wire has the wire format.
package update
