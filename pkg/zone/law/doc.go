// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package law defines the inputs and results of the decisions in docs/semantics.md: the zone that takes a record, the
// namespaces with a right to write a name, and the content and serial of a zone. A decision is a function of facts, the
// stored values of zones and names (Zone, Holding, Owner). It returns a Plan of writes, a Refusal, or a Need: the keys
// of missing facts. "Own" means the namespace of the zone, and a "tenant" is any other namespace.
//
// Guarantees:
//
//  1. The same facts and request give the same answer. A decision uses no clock, I/O or other state.
//  2. A Plan lists every internal key that it changes. It depends only on the facts that Facts marks as used, which the
//     transaction compares.
//  3. A Plan changes at most one record and one zone (I1).
//  4. A Refusal names the broken rule and the remedy, but no namespace or object of another tenant.
//
// Read first: reading.go and plan.go, then keys.go. The packages, bottom layer first: sethash, pattern, content, rules,
// this package, claims, records and zones.
package law
