// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content defines the content of a zone (docs/semantics.md, §6):
//
//   - The definition is the content as users wrote it: a Header (name, SOA parameters and name servers of the Zone),
//     and RRsets with a TTL and values (a Row each).
//   - A Step is the change between the definitions at two serials.
//   - Entries are the resulting resource records, with absolute names.
//   - A cut is the NS, glue and DS records that a parent zone lists for a child zone.
//
// Guarantees:
//
//  1. A value of several Records is a single Row. A value written both with a relative and with an absolute name is two
//     Rows, but a single entry.
//  2. Header.Hash differs exactly when the definition does. The order of nameServers counts, because the first may be
//     in the SOA. The order of their addresses does not.
//  3. Entries and Pack yield the SOA, and then all other records in canonical order (RFC 4034 §6.1, §6.3), sorted
//     by type number and without repetition.
//
// Read definition.go first, then step.go, entries.go and packed.go.
package content
