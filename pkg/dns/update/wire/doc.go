// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire parses and checks DNS UPDATE messages (RFC 2136 §2) from clients.
//
// Guarantees:
//
//  1. No input panics. At most update.MaxRecords records are read, and equal names and values are parsed once.
//  2. Values are spelled as in the spec of a Record.
package wire
