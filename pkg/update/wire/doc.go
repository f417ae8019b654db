// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire parses DNS UPDATE messages (RFC 2136 §2).
//
// Guarantees:
//
//  1. No input panics. At most update.MaxRecords records are read, and each name and value is parsed once.
//  2. The result is checked (Message.Check), with values in the form of Records.
//
// Out of scope: zones and signatures.
//
// Read parse.go.
package wire
