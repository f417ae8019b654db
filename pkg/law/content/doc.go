// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content defines the content of a zone (docs/semantics.md, §6):
//
//   - The definition is the content as users wrote it: a Header (name, SOA parameters and name servers of the Zone),
//     and RRsets with a TTL and values (a Row each).
//   - A Step is the change between the definitions at two serials.
//   - Entries are the resulting resource records, with absolute names.
//   - A cut has the NS, glue and DS records that a parent zone lists for a child zone.
//
// Guarantees:
//
//  1. A value of several Records is a single Row (S5.2). A value written with a relative and with an absolute name is
//     two Rows, but a single entry (S6.7).
//  2. Header.Hash differs exactly when the definition does (S6.7). The order of nameServers counts, since the first may
//     be in the SOA (S6.5). The order of their addresses does not.
//  3. Entries and Pack yield the SOA, then canonical order (RFC 4034 §6.1, §6.3), types by number, without repetition.
//
// Read definition.go first, then step.go, entries.go and packed.go.
package content
