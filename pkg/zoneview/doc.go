// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview has a process's zones for readers: a Snapshot is a zone's definition at a serial, a Set has all
// zones with their recent steps.
//
// Guarantees:
//  1. A Snapshot never changes. It shares everything untouched with its neighbours: a step costs its own size,
//     not the zone's.
//  2. A step is applied only if it fits: number and serial follow, the header, TTLs and rows to replace or remove
//     are present, the rows to add are absent, and the content state afterwards is the step's. Otherwise nothing
//     changes, and the error (ErrMisfit) names zone, step and difference; start over from a listing.
//  3. Apply and Undo are inverse.
//  4. A Set shows a transaction as a whole or not at all. Steps already applied are skipped, so a feed may
//     overlap. Only a settled snapshot replaces a settled snapshot (S7.2).
//  5. Everything is bounded: steps by Config, events by the number of zones, waiting by the caller's context.
//
// Out of scope: sources or readers of zones, has no clock, and starts a goroutine only for each subscription.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
