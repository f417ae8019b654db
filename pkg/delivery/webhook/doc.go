// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers zones to a user's own HTTP service in front of another DNS system. It is the client of the
// webhook protocol (docs/webhook.md).
//
// Guarantees:
//  1. A request replaces a whole RRset, or deletes an RRset removed from the zone. The protocol has no list, so an
//     RRset that the zone never had stays.
//  2. If the class has a secret, every request is signed, with its own nonce.
//  3. No answer can redirect a request, fill the memory, or appear in a message, and only the protocol's JSON counts.
//  4. An RRset that the server refuses, or the protocol cannot represent, is named, and the rest delivered.
//
// Read provider.go, then call.go.
package webhook
