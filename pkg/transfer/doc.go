// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer queries name servers: for zones by AXFR and IXFR (RFC 5936, RFC 1995), and for single signed
// answers.
//
// Guarantees:
//
//  1. A transfer is complete, at the serial with which it began, or returns an error.
//  2. With a key, every answer is verified, from the first message to the last. Between signed messages, at most 99 in
//     a row may be unsigned (RFC 8945 §5.3.1).
//  3. Every wait, message and transfer is bounded.
//
// Out of scope: the use of the zone, and the types allowed in Records.
//
// Read receive.go first, then exchange.go; tsig.go verifies signatures.
package transfer
