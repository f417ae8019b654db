// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer asks name servers: for a zone, which a server hands out by AXFR (RFC 5936), and for single signed
// answers.
//
// It promises:
//
//  1. It returns the whole of a transfer that ended as it began, or an error: never a part.
//  2. With a key, nothing is returned as an answer that the key does not vouch for, from the first message to the
//     last. Messages without a signature between signed ones are taken as RFC 8945 §5.3.1 has it, 99 in a row at
//     most.
//  3. Every wait, message and transfer is bounded.
//
// It does not know what becomes of the zone, nor which types may be Records: it returns a master file, which is read
// like any other.
//
// Read receive.go first, then exchange.go; tsig.go judges signatures.
package transfer
