// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update computes the RRsets that a DNS UPDATE message (RFC 2136) changes (Fold).
//
// Guarantees:
//
//  1. The number of records and RRsets in a message is limited.
//  2. A message has the meaning of RFC 2136 §3.2 and §3.4. Records that the RFC silently ignores are refused, so that
//     NOERROR means that the whole update is in the zone.
//  3. An update changes only RRsets made by earlier updates for the namespace (the dynamic share). A change of the
//     namespace's other data is refused, but a deletion of all RRsets at a name (ANY, ANY) keeps this data, and the
//     answer is NOERROR. Other namespaces' data is ignored.
//
// Read message.go first, then fold.go and prerequisite.go. Package wire has the wire format.
package update
