// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire reads a message of DNS UPDATE from its octets (RFC 2136 §2).
//
// It promises:
//
//  1. No octets make it panic. It reads at most update.MaxRecords records, which it counts in the header first, and
//     each name and value once.
//  2. What it returns is checked (Message.Check), and its values are in the form in which Records have them.
//
// It does not know what stands in a zone, nor a signature: a primary does.
//
// Read parse.go.
package wire
