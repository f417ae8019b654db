// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content defines a zone's content (semantics §6): the definition as users wrote it (Header, Row, RRset, TTL),
// steps between definitions (Step, Transaction), DNS entries, and the cuts (NS, glue and DS) of children.
//
// Guarantees:
//  1. A definition is a Header and a set of RRsets. A value of several Records is a single Row (S5.2); two spellings
//     that resolve alike are two Rows and a single entry (S6.7).
//  2. Header.Hash differs exactly when the definition does (S6.7). The order of nameServers counts (S6.5), but not
//     the order of their addresses.
//  3. Entries and Pack yield the SOA, then canonical order (RFC 4034 §6.1, §6.3), types by number, without repetition.
//  4. Equal cuts are equal slices.
//  5. No function fails on data that package law admits.
//
// Out of scope: Records, namespaces and time.
//
// Read definition.go first, then step.go, entries.go and packed.go.
package content
