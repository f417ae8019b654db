// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package law is what the decisions of docs/semantics.md rest on and what they answer: the facts (zones, holdings,
// owners, claims), the request for facts that are not known, the Plan and the Refusal. The decisions stand in the rooms
// above it. Together they say which zone takes a record, which namespace may put which name where, what a zone contains
// and which serial it gets. They are pure: facts and a request go in; a Plan, a Refusal or a Need comes out.
//
// Promises. (1) Same facts, same request, same answer: there is no clock, no I/O and no state in here. (2) A Plan
// names every internal key it changes and nothing else. Its decision rests on the facts in Seen alone, so a
// transaction that compares the revisions of those facts commits a true decision (I5). (3) A Plan touches at most one
// record and at most one zone (I1). (4) A Refusal says which rule refused and what would be right, and names no
// foreign namespace or object (S1.8).
//
// It does not know etcd, Kubernetes, API types, watches or time. Facts that it cannot compute (the answer to the
// establish review, the day, the user) are a part of the request. A fact that it lacks it takes from Seen.Look, or
// asks for by returning a Need. Its words are those of docs/glossary.md.
//
// Read first: reading.go (how a decision asks) and plan.go, then keys.go (the facts that exist). The rooms, from the
// ground: sethash, pattern, content (what a zone contains), rules (what the rules of a zone allow), this one, claims
// (which namespace has a name), records and zones. A room imports those before it and none behind it.
package law
