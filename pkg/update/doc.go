// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update turns a DNS UPDATE message (RFC 2136) into changes of a zone.
//
// Guarantees:
//
//  1. The records and RRsets of a message are bounded.
//  2. A message has the meaning of RFC 2136 §3.2 and §3.4, folded into changed RRsets. If the RFC silently ignores a
//     record, the message is refused: NOERROR means that all is in the zone.
//  3. An update changes only a namespace's dynamic share: the RRsets that updates made for it. A message that would
//     change the namespace's other data is refused with the reason. Other namespaces' data is ignored.
//
// Out of scope: users and storage.
//
// Read message.go first, then fold.go, prerequisite.go and scope.go; package wire has the wire format.
package update
