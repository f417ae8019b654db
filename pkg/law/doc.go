// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package law has the input and output of the decisions of docs/semantics.md: facts (zones, holdings, owners, claims),
// the Need for missing facts, Plan and Refusal. The packages below decide which zone takes a record, which namespace
// may write a name, and the content and serial of a zone.
//
// Promises. (1) Same facts, same request, same answer: no clock, no I/O, no state. (2) A Plan names every internal key
// that it changes, and rests on the used facts of Seen alone: a transaction that compares their revisions commits a
// true decision (I5). (3) A Plan touches at most one record and one zone (I1). (4) A Refusal names the rule and the
// remedy, and no foreign namespace or object (S1.8).
//
// Out of scope: etcd, Kubernetes, API types, watches or time. Facts beyond computation (the establish review, the
// day, the user) are part of the request.
//
// Read first: reading.go (how a decision reads facts) and plan.go, then keys.go (the kinds of facts). The packages,
// from the ground: sethash, pattern, content, rules, this package, claims, records and zones. Each imports only those
// before.
package law
