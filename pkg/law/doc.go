// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package law defines the input and output of the decisions of docs/semantics.md: which zone takes a record, which
// namespace may write a name, and a zone's content and serial. A decision reads facts: stored values of a zone or name
// (Zone, Holding, Owner). It returns a Plan of writes, a Refusal, or a Need: the keys of missing facts. "Own" is the
// namespace of a zone, a "tenant" any other.
//
// Guarantees: (1) The same facts and request get the same answer, without clock, I/O or state. (2) A Plan names every
// internal key that it changes, and depends only on facts that Facts marks as used, which a transaction compares (I5).
// (3) A Plan changes at most one record and one zone (I1). (4) A Refusal names the rule and the remedy, and no foreign
// namespace or object (S1.8).
//
// Read first: reading.go and plan.go, then keys.go. The packages, bottom layer first: sethash, pattern, content, rules,
// this package, claims, records and zones.
package law
