// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content says what a zone contains (semantics §6): the words of a
// definition (Header, Row, RRset, TTL), the steps by which one becomes the
// next (Step, Transaction), and how a definition becomes entries: the SOA, the
// name servers of the header, the RRsets, what a delegated child contributes.
//
// It promises:
//  1. A definition is a Header and a set of RRsets. A value that several
//     Records give is one Row, there until the last goes (S5.2); two spellings
//     that resolve alike are two Rows and one entry (S6.7).
//  2. Header.Hash differs exactly when the definition does (S6.7). The order of
//     nameServers is part of the definition, because the first one is the
//     SOA's mname (S6.5); the order of their addresses is not, nor is the case
//     in which a name was written (S1.2).
//  3. Entries comes SOA first, then in canonical order (RFC 4034 §6.1), types
//     by number, rdata in canonical order (RFC 4034 §6.3), no entry twice; Pack
//     is the same in octets.
//  4. Equal cuts are equal slices: a parent has to change exactly when Cut
//     returns something else.
//
// It does not know where Records are, which namespace may write them, what a serial is
// worth or what the time is, and it never fails on what the law let in. What
// the law should not have let in (an owner beyond 255 octets, rdata that no
// longer parses) is an error of Resolve and left out of Entries; Check names it.
//
// Read definition.go first, then step.go, entries.go and packed.go.
package content
