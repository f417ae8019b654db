// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package law decides what docs/semantics.md says: which zone takes a record, which namespace may put which name
// where, what a zone contains and which serial it gets. It is pure: facts and a request go in, a Plan, a Refusal or a
// Need comes out.
//
// Promises. (1) Same facts, same request, same answer: there is no clock, no I/O and no state in here. (2) A Plan
// names every internal key it changes and nothing else. Its decision rests on the facts in Seen alone, so a
// transaction that compares the revisions of those facts commits a true decision (I5). (3) A Plan touches at most one
// record and at most one zone (I1). (4) A Refusal says which rule refused and what would be right, and names no
// foreign namespace or object (S1.8).
//
// It does not know etcd, Kubernetes, API types, watches or time. Facts that it cannot compute (the answer to the
// establish review, the day, the user) is a part of the request. A fact that it lacks it takes from Seen.Look, or
// asks for by returning a Need.
//
// Its words are those of docs/glossary.md.
//
// Read first: facts.go (what can be known), then record.go and delta.go, then zone.go.
package law
