// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer is a client for zone transfers. Fetch reads a zone, or the changes since a serial, from a name
// server by AXFR and IXFR (RFC 5936, RFC 1995). Exchange sends a single question.
//
// Guarantees:
//
//  1. A transfer is complete, at the serial with which it began, or returns an error.
//  2. With a key, every answer is verified, from the first message to the last. Between signed messages, at most 99 in
//     a row may be unsigned (RFC 8945 §5.3.1).
//  3. Every wait, message and transfer is bounded.
//
// Read receive.go first, then exchange.go; tsig.go verifies signatures.
package transfer
