// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 is a backend of the webhook server that writes by dynamic update (RFC 2136).
//
// Guarantees:
//
//  1. An RRset is replaced in one update.
//  2. A test after each update confirms success, as servers silently ignore records that cannot coexist with others.
//  3. Requests are signed, over TCP; answers need a valid signature.
//  4. The NS of a zone are replaced without a gap.
//  5. Only a record that the server rejects is refused.
package rfc2136
