// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tsig signs DNS messages with shared keys and verifies signatures (RFC 8945).
//
// Guarantees: (1) No error or formatted Key reveals a secret. (2) A signature is valid only with the whole MAC, within
// Fudge of its time. (3) A key is found by canonical name, and only with its algorithm.
//
// Out of scope: rights, and the parsing of messages and TSIG records.
//
// Read key.go, then sign.go, then verify.go.
package tsig
