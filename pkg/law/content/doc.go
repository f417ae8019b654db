// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content defines the content of a zone (semantics §6): definitions (Header, Row, RRset, TTL), steps from a
// definition to the next (Step, Transaction), and the entries of a definition, with the cuts of children.
//
// Guarantees:
//  1. A definition is a Header and a set of RRsets. A value of several Records is one Row until the last goes
//     (S5.2); two spellings that resolve alike are two Rows and one entry (S6.7).
//  2. Header.Hash differs exactly when the definition does (S6.7). The order of nameServers counts (S6.5); the order
//     of their addresses and the case of names (S1.2) do not.
//  3. Entries is in canonical order after the SOA (RFC 4034 §6.1, §6.3), types by number, without repetition. Pack
//     is the same in octets.
//  4. Equal cuts are equal slices: a parent changes exactly when Cut returns another value.
//
// Out of scope: Records, namespaces or time, and never fails on data that the law admits. Other data is an error of
// Resolve and Check, and left out of Entries.
//
// Read definition.go first, then step.go, entries.go and packed.go.
package content
