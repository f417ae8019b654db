// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tsig signs DNS messages with shared keys, and verifies such signatures (TSIG, RFC 8945). ParseKeys parses
// keys in the syntax of BIND's named.conf.
//
// Guarantees:
//
//  1. No error or formatted Key reveals a secret.
//  2. A signature is valid only if its MAC has the full length, and if it was made at most 300 seconds (Fudge) before
//     or after now.
//  3. A key is found by its canonical name (lower case, with a trailing dot), and only with its algorithm.
//
// Read key.go, then sign.go, then verify.go.
package tsig
